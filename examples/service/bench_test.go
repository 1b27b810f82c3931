package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serve has another process serve the model of a file until the benchmark ends.
func serve(b *testing.B, path string) (url string, pid int) {
	b.Helper()
	l := must(net.Listen("tcp", "localhost:0"))
	listen := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SERVICE_TEST_SERVE="+path, "SERVICE_TEST_LISTEN="+listen)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for url = "http://" + listen; ; time.Sleep(20 * time.Millisecond) {
		if r, err := http.Get(url + "/metrics"); err == nil {
			_ = r.Body.Close()
			return url, cmd.Process.Pid
		}
	}
}

// processor is the processor time of a process in seconds, where the system tells it as Linux does; else 0.
func processor(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	const utime, stime, ticks = 11, 12, 100 // fields after the name in brackets, and their unit in 1/s
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	return float64(must(strconv.Atoi(f[utime]))+must(strconv.Atoi(f[stime]))) / ticks
}

// BenchmarkPredict has clients ask another process for single rows of a model of 2000, while one of them updates it
// four times a second. It tells the processor time of the server and of the clients in seconds for 10,000 predictions.
func BenchmarkPredict(b *testing.B) {
	path := saved(b, 2000, 10)
	for _, clients := range []int{2, 64} {
		for _, updates := range []bool{false, true} {
			b.Run(fmt.Sprintf("clients=%d/updates=%t", clients, updates), func(b *testing.B) {
				url, pid := serve(b, path)
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients + 1}}
				X, Y := rows(rand.New(rand.NewPCG(9, 10)), 1, 10)
				body := must(json.Marshal(map[string]any{"rows": lists(X)}))
				learn := must(json.Marshal(map[string]any{"rows": lists(X), "targets": lists(Y)}))
				ask := func(path string, body []byte) {
					r, err := client.Post(url+path, "application/json", bytes.NewReader(body))
					if err != nil || r.StatusCode != 200 {
						b.Error(r, err)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
				}
				var done atomic.Bool
				var updating, asking sync.WaitGroup
				count := 0
				server, own := processor(pid), processor(os.Getpid())
				b.ResetTimer()
				if updates {
					updating.Go(func() {
						for tick := time.Tick(250 * time.Millisecond); !done.Load(); count++ {
							ask("/update", learn)
							<-tick
						}
					})
				}
				times := make([][]float64, clients)
				for k := range clients {
					asking.Go(func() {
						for range (b.N + clients - 1) / clients {
							start := time.Now()
							ask("/predict", body)
							times[k] = append(times[k], time.Since(start).Seconds())
						}
					})
				}
				asking.Wait()
				b.StopTimer()
				done.Store(true)
				updating.Wait()
				all := slices.Sorted(slices.Values(slices.Concat(times...)))
				count10k := 1e4 / float64(len(all))
				b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(1e3*all[len(all)*99/100], "p99-ms")
				b.ReportMetric(float64(count)/b.Elapsed().Seconds(), "updates/s")
				b.ReportMetric((processor(pid)-server)*count10k, "server-s/10k")
				b.ReportMetric((processor(os.Getpid())-own)*count10k, "client-s/10k")
			})
		}
	}
}

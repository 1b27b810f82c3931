package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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
func serve(b *testing.B, path string) (address string, pid int) {
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
	for ; ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", listen); err == nil {
			_ = c.Close()
			return listen, cmd.Process.Pid
		}
	}
}

// client sends one request again and again over a connection of its own, without the goroutines and the bookkeeping of
// http.Client, which take more processor time than the server does.
type client struct {
	net.Conn
	request []byte
	answer  *bufio.Reader
}

func newClient(address, path string, body any) *client {
	text := must(json.Marshal(body))
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, address, len(text), text)
	c := must(net.Dial("tcp", address))
	return &client{c, request, bufio.NewReader(c)}
}

// ask sends the request and reads the answer.
func (c *client) ask() error {
	if _, err := c.Write(c.request); err != nil {
		return err
	}
	status, err := c.answer.ReadString('\n')
	for length, line := 0, []byte(nil); err == nil; {
		if line, err = c.answer.ReadSlice('\n'); len(line) == len("\r\n") {
			_, err = c.answer.Discard(length)
			break
		}
		if n, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			length = must(strconv.Atoi(string(bytes.TrimSpace(n))))
		}
	}
	if err == nil && status != "HTTP/1.1 200 OK\r\n" {
		return errors.New(strings.TrimSpace(status))
	}
	return err
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
	for _, clients := range []int{2, 6, 16, 64} {
		for _, updates := range []bool{false, true} {
			b.Run(fmt.Sprintf("clients=%d/updates=%t", clients, updates), func(b *testing.B) {
				address, pid := serve(b, path)
				X, Y := rows(rand.New(rand.NewPCG(9, 10)), 1, 10)
				row := map[string]any{"rows": lists(X)}
				learn := newClient(address, "/update", map[string]any{"rows": lists(X), "targets": lists(Y)})
				var done atomic.Bool
				var updating, asking sync.WaitGroup
				count := 0
				server, own := processor(pid), processor(os.Getpid())
				b.ResetTimer()
				if updates {
					updating.Go(func() {
						for tick := time.Tick(250 * time.Millisecond); !done.Load(); count++ {
							if err := learn.ask(); err != nil {
								b.Error(err)
							}
							<-tick
						}
					})
				}
				times := make([][]float64, clients)
				for k := range clients {
					asking.Go(func() {
						c := newClient(address, "/predict", row)
						for range (b.N + clients - 1) / clients {
							start := time.Now()
							if err := c.ask(); err != nil {
								b.Error(err)
								return
							}
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// rows draws inputs and two targets of them.
func rows(rng *rand.Rand, l, d int) (X, Y *mat.Dense) {
	X, Y = mat.NewDense(l, d, nil), mat.NewDense(l, 2, nil)
	for i := range l {
		x := X.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		Y.SetRow(i, []float64{math.Sin(x[0]) + x[1], x[2] * x[2]})
	}
	return X, Y
}

// saved fits a model to rows and returns its file.
func saved(tb testing.TB, l, d int) string {
	tb.Helper()
	X, Y := rows(rand.New(rand.NewPCG(1, 2)), l, d)
	m, err := iokl.Fit(tb.Context(), X, Y, iokl.Options{Kernels: []string{"gaussian:all"}, Lambda: 1e-4, Learn: "none"})
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "model.iokl")
	if err := m.Save(path); err != nil {
		tb.Fatal(err)
	}
	return path
}

func start(tb testing.TB, path string, window int, prepare bool) (*service, *httptest.Server) {
	tb.Helper()
	s, err := newService(tb.Context(), path, window, prepare)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(s.handler())
	tb.Cleanup(server.Close)
	return s, server
}

// post sends a value as JSON, or a text as it is, and reads the answer into v.
func post(tb testing.TB, url string, body, v any) int {
	tb.Helper()
	text, isText := body.(string)
	if !isText {
		b, err := json.Marshal(body)
		if err != nil {
			tb.Fatal(err)
		}
		text = string(b)
	}
	r, err := http.Post(url, "application/json", strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		tb.Fatalf("status %d: %v", r.StatusCode, err)
	}
	return r.StatusCode
}

func lists(X *mat.Dense) (list [][]float64) {
	for i := range X.RawMatrix().Rows {
		list = append(list, X.RawRowView(i))
	}
	return list
}

type predicted struct {
	Outputs     []string    `json:"outputs"`
	Predictions [][]float64 `json:"predictions"`
	Error       string      `json:"error"`
}

// While updates run, predictions are those of the model before one or after it; the file is that of the last.
func TestServes(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		t.Run(fmt.Sprintf("prepare=%t", prepare), func(t *testing.T) { serves(t, prepare) })
	}
}

func serves(t *testing.T, prepare bool) {
	path := saved(t, 60, 3)
	s, server := start(t, path, 64, prepare)
	rng := rand.New(rand.NewPCG(3, 4))
	X, Y := rows(rng, 12, 3)
	probe, _ := rows(rng, 2, 3)
	first := s.model.Load()
	want := map[string]bool{}
	predict := func(m *iokl.Model) string {
		F, err := m.Predict(probe)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(lists(F))
	}
	want[predict(first)] = true
	for i := range 12 {
		next, err := first.Update(t.Context(), X.Slice(i, i+1, 0, 3), Y.Slice(i, i+1, 0, 2),
			iokl.UpdateOptions{Window: 64})
		if err != nil {
			t.Fatal(err)
		}
		want[predict(next)], first = true, next
	}
	var serving sync.WaitGroup
	var done atomic.Bool
	var seen sync.Map
	for range 4 {
		serving.Go(func() {
			for !done.Load() {
				var p predicted
				if status := post(t, server.URL+"/predict", map[string]any{"rows": lists(probe)}, &p); status != 200 {
					t.Errorf("status %d: %s", status, p.Error)
					return
				}
				seen.Store(fmt.Sprint(p.Predictions), nil)
			}
		})
	}
	var c iokl.Certificate
	for i := range 12 {
		body := map[string]any{"rows": lists(X)[i : i+1], "targets": lists(Y)[i : i+1]}
		if status := post(t, server.URL+"/update", body, &c); status != 200 {
			t.Fatal(status)
		}
	}
	done.Store(true)
	serving.Wait()
	seen.Range(func(p, _ any) bool {
		if !want[p.(string)] {
			t.Errorf("predictions of no model: %s", p)
		}
		return true
	})
	m, err := iokl.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Samples != 64 || predict(m) != predict(s.model.Load()) || predict(m) != predict(first) {
		t.Errorf("%d samples; the file predicts %s", c.Samples, predict(m))
	}
}

func TestRefuses(t *testing.T) {
	path := saved(t, 20, 3)
	_, server := start(t, path, 0, false)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/predict", ``, 400, "EOF"},
		{"/predict", `{"rows": [[1,2,3]`, 400, "EOF"},
		{"/predict", `{"rows": []}`, 400, "no rows"},
		{"/predict", `{"rows": [[1,2]]}`, 400, "2 numbers, not 3"},
		{"/predict", `{"rows": [[1,2,3],[1,2,3,4]]}`, 400, "row 2"},
		{"/predict", `{"rows": [[1,2,"x"]]}`, 400, "string"},
		{"/predict", `{"rows": [[1,2,1e999]]}`, 400, "1e999"},
		{"/predict", `{"row": [[1,2,3]]}`, 400, "unknown field"},
		{"/predict", `{"rows": [[1,2,3]]} garbage`, 400, "invalid character"},
		{"/predict", `{"rows": [[1,2,3]]}{"rows": [[1,2,3]]}`, 400, "more follows"},
		{"/predict", `{"rows": [[1,2,3]]}` + "\n \t", 200, ""},
		{"/predict", `{"rows": [[1,2,3]], "targets": [[1,2]]}`, 400, "/update"},
		{"/predict", `{"rows": [[` + strings.Repeat("1,", 33<<20) + `1]]}`, 413, "large"},
		{"/update", `{"rows": [[1,2,3]]}`, 400, "no targets"},
		{"/update", `{"rows": [[1,2,3]], "targets": [[1,2],[3,4]]}`, 400, ""},
		{"/predict", `{"rows": [[1,null,3]]}`, 200, ""},
	} {
		var p predicted
		status := post(t, server.URL+c.path, c.body, &p)
		if status != c.status || !strings.Contains(p.Error, c.want) || (status != 200) != (p.Error != "") {
			t.Errorf("%s %.40s: status %d, %s", c.path, c.body, status, p.Error)
		}
	}
	if r, err := http.Get(server.URL + "/predict"); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Error(r, err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Error("the file changed", err)
	}
	r, err := http.Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	for _, line := range []string{
		`iokl_samples 20`, `iokl_failed_total{path="/predict"} 12`, `iokl_seconds_count{path="/predict"} 14`,
		`iokl_seconds_bucket{path="/update",le="+Inf"} 2`,
	} {
		if err != nil || !strings.Contains(string(text), line+"\n") {
			t.Errorf("no line %s in\n%s%v", line, text, err)
		}
	}
}

// A damaged file leaves the model in place, a good one replaces it.
func TestReload(t *testing.T) {
	path := saved(t, 20, 3)
	s, server := start(t, path, 0, false)
	old := s.model.Load()
	for _, c := range []struct {
		text   []byte
		status int
	}{
		{[]byte("damaged"), 500},
		{must(os.ReadFile(saved(t, 30, 3))), 200},
	} {
		if err := os.WriteFile(path, c.text, 0o666); err != nil {
			t.Fatal(err)
		}
		status := post(t, server.URL+"/reload", "", new(predicted))
		if status != c.status || (s.model.Load() != old) != (status == 200) {
			t.Errorf("status %d, want %d", status, c.status)
		}
	}
	if l := s.model.Load().Certificate().Samples; l != 30 {
		t.Error(l, "samples")
	}
}

// ask sends a request with headers, and returns the status and the error in the answer.
func ask(t *testing.T, method, url, body string, headers ...string) (int, string) {
	t.Helper()
	r := must(http.NewRequest(method, url, strings.NewReader(body)))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	a := must(http.DefaultClient.Do(r))
	defer a.Body.Close()
	var p predicted
	_ = json.NewDecoder(a.Body).Decode(&p) // /metrics is no JSON
	return a.StatusCode, p.Error
}

// Requests of foreign pages, of other types or without the token are refused, whatever they ask for.
func TestPermits(t *testing.T) {
	s, server := start(t, saved(t, 20, 3), 0, false)
	s.origin = "https://app.example"
	own := server.URL // an address, no name
	named := "http://rebound.example:" + own[strings.LastIndexByte(own, ':')+1:]
	const body, kind, json = `{"rows": [[1,2,3]]}`, "Content-Type", "application/json"
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"JSON", []string{kind, json}, 200},
		{"JSON of a character set", []string{kind, json + "; charset=utf-8"}, 200},
		{"no type", nil, 415},
		{"a form", []string{kind, "application/x-www-form-urlencoded"}, 415},
		{"text", []string{kind, "text/plain"}, 415},
		{"no type at all", []string{kind, ";"}, 415},
		{"foreign", []string{kind, json, "Origin", "https://evil.example"}, 403},
		{"opaque", []string{kind, json, "Origin", "null"}, 403},
		{"longer", []string{kind, json, "Origin", own + ".evil.example"}, 403},
		{"another port", []string{kind, json, "Origin", "http://127.0.0.1:1"}, 403},
		{"a name that stands for it", []string{kind, json, "Origin", named, "Host", named[len("http://"):]}, 403},
		{"its own", []string{kind, json, "Origin", own}, 200},
		{"an allowed one", []string{kind, json, "Origin", "https://app.example"}, 200},
	} {
		if status, says := ask(t, "POST", own+"/predict", body, c.headers...); status != c.status {
			t.Errorf("%s: status %d, %s", c.name, status, says)
		}
	}
	s.token = "secret"
	for _, c := range []struct {
		auth   string
		status int
	}{
		{"", 401},
		{"Bearer", 401},
		{"Bearer ", 401},
		{"Bearer secre", 401},
		{"Bearer secrets", 401},
		{"Basic secret", 401},
		{"Bearer secret", 200},
	} {
		for _, path := range []string{"POST /predict", "POST /update", "POST /reload", "GET /metrics"} {
			method, path, _ := strings.Cut(path, " ")
			text := map[string]string{
				"/predict": body, "/update": `{"rows": [[1,2,3]], "targets": [[1,2]]}`,
			}[path]
			if status, says := ask(t, method, own+path, text, kind, json, "Authorization", c.auth); status != c.status {
				t.Errorf("%s with %q: status %d, %s", path, c.auth, status, says)
			}
		}
	}
	if l := s.model.Load().Certificate().Samples; l != 21 { // of the one update that was let in
		t.Error(l, "samples")
	}
}

// Bodies that are being read together have a bound, of which nothing is left taken when they end.
func TestBodies(t *testing.T) {
	s, server := start(t, saved(t, 20, 3), 0, false)
	var open []*io.PipeWriter
	var reading sync.WaitGroup
	statuses := make(chan int, 100)
	const most = maxBodies / (maxBody + overhead)
	for range most { // of unknown length, and still to come
		r, w := io.Pipe()
		open = append(open, w)
		reading.Go(func() {
			a, err := http.Post(server.URL+"/predict", "application/json", r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = a.Body.Close()
			statuses <- a.StatusCode
		})
	}
	for s.bodies.Load() < most*(maxBody+overhead) {
		time.Sleep(time.Millisecond)
	}
	large := `{"rows": [[` + strings.Repeat("1,", maxBody/2-20) + `1]]}`
	if status, says := ask(t, "POST", server.URL+"/predict", large, "Content-Type", "application/json"); status != 503 {
		t.Errorf("one more: status %d, %s", status, says)
	}
	for _, w := range open {
		_, _ = io.WriteString(w, `{"rows": [[1,2,3]]}`)
		_ = w.Close()
	}
	reading.Wait()
	for range most {
		if status := <-statuses; status != 200 {
			t.Errorf("status %d of a slow request", status)
		}
	}
	if status, says := ask(t, "POST", server.URL+"/predict", large, "Content-Type", "application/json"); status != 400 {
		t.Errorf("when they have ended: status %d, %s", status, says)
	}
	if n := s.bodies.Load(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// Services that keep one file do not undo each other's updates: the second is told, and goes on after it has read the
// file again.
func TestSharedFile(t *testing.T) {
	path := saved(t, 20, 3)
	a, first := start(t, path, 0, false)
	b, second := start(t, path, 0, false)
	body := `{"rows": [[1,2,3]], "targets": [[1,2]]}`
	for _, c := range []struct {
		url    string
		status int
	}{
		{first.URL + "/update", 200},
		{first.URL + "/update", 200},
		{second.URL + "/update", 409},
		{second.URL + "/reload", 200},
		{second.URL + "/update", 200},
		{first.URL + "/update", 409},
	} {
		if status, says := ask(t, "POST", c.url, body, "Content-Type", "application/json"); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.url, status, c.status, says)
		}
	}
	l := must(iokl.Load(path)).Certificate().Samples
	i, j := a.model.Load().Certificate().Samples, b.model.Load().Certificate().Samples
	if l != 23 || i != 22 || j != 23 {
		t.Errorf("%d samples in the file, %d and %d in the services", l, i, j)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestMain serves where a test has started this process for it.
func TestMain(m *testing.M) {
	if path := os.Getenv("SERVICE_TEST_SERVE"); path != "" {
		if err := run(context.Background(), path, os.Getenv("SERVICE_TEST_LISTEN"), "", 2000, true); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A process that is killed at random moments while it updates leaves a whole model, with all updates that it answered.
func TestKilled(t *testing.T) {
	if path := os.Getenv("SERVICE_TEST_UPDATES"); path != "" {
		s, server := start(t, path, 0, false)
		rng := rand.New(rand.NewPCG(5, 6))
		for {
			X, Y := rows(rng, 1, 3)
			post(t, server.URL+"/update", map[string]any{"rows": lists(X), "targets": lists(Y)}, new(iokl.Certificate))
			fmt.Println(s.model.Load().Certificate().Samples)
		}
	}
	path := saved(t, 40, 3)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 12 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "SERVICE_TEST_UPDATES="+path)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(50+rng.IntN(250)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		m, err := iokl.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		var last int
		if words := strings.Fields(out.String()); len(words) > 0 {
			_, _ = fmt.Sscan(words[len(words)-1], &last)
		}
		if l := m.Certificate().Samples; l < last || l > max(last, 40)+1 && last > 0 {
			t.Errorf("%d samples in the file, %d answered", l, last)
		}
	}
	if l := must(iokl.Load(path)).Certificate().Samples; l <= 40 {
		t.Errorf("no update was saved in 12 runs: %d samples", l)
	}
}

// Rows of requests that wait for a processor are predicted in one block, as each is alone; one that is refused leaves
// the others.
func TestJoins(t *testing.T) {
	const clients = 9
	s, server := start(t, saved(t, 60, 3), 0, false)
	X, _ := rows(rand.New(rand.NewPCG(3, 4)), clients, 3)
	want := must(s.model.Load().Predict(X))
	for range cap(s.blocks) {
		s.blocks <- struct{}{}
	}
	var asking sync.WaitGroup
	for i := range clients {
		asking.Go(func() {
			var p predicted
			if i == 4 {
				status := post(t, server.URL+"/predict", `{"rows": [[1,2]]}`, &p)
				if status != 400 || !strings.Contains(p.Error, "2 numbers") {
					t.Errorf("status %d, %s", status, p.Error)
				}
				return
			}
			status := post(t, server.URL+"/predict", map[string]any{"rows": lists(X)[i : i+1]}, &p)
			if status != 200 || len(p.Predictions) != 1 || !slices.Equal(p.Predictions[0], want.RawRowView(i)) {
				t.Errorf("row %d: status %d, %v, want %v", i, status, p.Predictions, want.RawRowView(i))
			}
		})
	}
	for joined := 0; joined < clients; time.Sleep(time.Millisecond) {
		s.joining.Lock()
		joined = len(s.waiting)
		s.joining.Unlock()
	}
	<-s.blocks // one processor is free, and predicts all
	asking.Wait()
}

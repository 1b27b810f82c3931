// Command service predicts with a model over HTTP, and learns from rows that arrive while it serves.
//
//	service -model model.iokl -listen localhost:8080 -window 5000 -prepare
//
//	POST /predict   {"rows": [[1.5, null, 3]]}                          predictions for rows of inputs
//	POST /update    {"rows": [[1.5, null, 3]], "targets": [[7, null]]}  learns from rows, and saves the model
//	POST /reload                                                        reads the model's file again
//	GET  /metrics                                                       counts and times, as Prometheus reads them
//
// Single rows that wait for a processor are predicted together, at a fraction of the time. A number that is null is
// missing. Requests that make no sense are answered by status 400 and {"error": "..."}.
//
// Where the environment has SERVICE_TOKEN, requests need the header "Authorization: Bearer" with its value. Bodies are
// of the type application/json. Requests that pages of other origins have a browser send are refused, but for those of
// -origin. Bodies have at most 8 MB, and all that are being answered together 32 MB: memory of some 20 times as much
// holds their numbers; more are answered by status 503. An update of a file that another program has replaced is
// answered by status 409: reload it first.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

func main() {
	path := flag.String("model", "model.iokl", "model file, which updates replace")
	listen := flag.String("listen", "localhost:8080", "address to serve at")
	window := flag.Int("window", 0, "rows that the model keeps at most: the oldest leave (0: all)")
	prepare := flag.Bool("prepare", false, "make updates of few rows fast, by O(l³) operations first and now and then")
	origin := flag.String("origin", "", "origin, as https://example.org, whose pages may send requests too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *path, *listen, *origin, *window, *prepare); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is cancelled; requests that are being answered have ten seconds to end.
func run(ctx context.Context, path, listen, origin string, window int, prepare bool) error {
	s, err := newService(ctx, path, window, prepare)
	if err != nil {
		return err
	}
	s.token, s.origin = os.Getenv("SERVICE_TOKEN"), origin
	server := &http.Server{Addr: listen, Handler: s.handler(), ReadTimeout: time.Minute}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		done <- server.Shutdown(ctx)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}

// service holds a model. Predictions read it without a lock; one change at a time makes another and puts it in place.
type service struct {
	path     string
	window   int
	prepare  bool
	model    atomic.Pointer[iokl.Model]
	changing sync.Mutex
	stats    map[string]*metrics // by path of the request
	token    string              // that requests need; "" for none
	origin   string              // of pages that may send requests; "" for none
	bodies   atomic.Int64        // bytes of the requests that are being answered

	blocks  chan struct{} // holds one for each block of rows that is being predicted, as many as there are processors
	joining sync.Mutex
	waiting []*single
}

func newService(ctx context.Context, path string, window int, prepare bool) (*service, error) {
	s := &service{
		path: path, window: window, prepare: prepare, stats: map[string]*metrics{},
		blocks: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	return s, s.load(ctx)
}

// load puts the model of the file in place.
func (s *service) load(ctx context.Context) error {
	m, err := iokl.Load(s.path)
	if err != nil {
		return err
	}
	if m.InputNames() == nil {
		return fmt.Errorf("%s: %w: it predicts from Gram matrices", s.path, iokl.ErrModel)
	}
	if s.prepare {
		if err := m.Prepare(ctx); err != nil {
			return err
		}
	}
	s.model.Store(m)
	return nil
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, f func(*http.Request) (any, error)) {
		m := new(metrics)
		s.stats[path] = m
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			v, err := s.admitted(w, r, f)
			status := answer(w, v, err)
			m.note(time.Since(start), status)
		})
	}
	handle("/predict", s.predict)
	handle("/update", s.update)
	handle("/reload", s.reload)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if err := s.permitted(r); err != nil {
			answer(w, nil, err)
			return
		}
		s.metrics(w, r)
	})
	return mux
}

const (
	maxBody   = 8 << 20
	maxBodies = 32 << 20
	overhead  = 8 << 10 // bytes that a request without a body counts for
)

// refusal is an error with the status that answers it.
type refusal struct {
	status int
	error
}

func refuse(status int, format string, args ...any) error {
	return refusal{status, fmt.Errorf(format, args...)}
}

// permitted refuses requests without the token, and those of pages of other origins, which a browser sends for whoever
// looks at them. Names of hosts do not make an origin that of the service: a page's own name may come to stand for this
// computer.
func (s *service) permitted(r *http.Request) error {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.token)) // of one length
	if s.token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 0 {
		return refuse(http.StatusUnauthorized, "the header Authorization: Bearer has not the token of this service")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || origin == s.origin {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host != r.Host || u.Hostname() != "localhost" && net.ParseIP(u.Hostname()) == nil {
		return refuse(http.StatusForbidden, "pages of %q may not send requests: start the service with -origin", origin)
	}
	return nil
}

// admitted answers a request that is permitted, of a type and a length that are read, by f.
func (s *service) admitted(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) (any, error) {
	if err := s.permitted(r); err != nil {
		return nil, err
	}
	length := r.ContentLength
	if length != 0 {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, refuse(http.StatusUnsupportedMediaType, "the Content-Type is %q, not application/json",
				r.Header.Get("Content-Type"))
		}
	}
	if length < 0 || length > maxBody { // the length is unknown, or the reader below ends with an error
		length = maxBody
	}
	length += overhead
	defer s.bodies.Add(-length)
	if s.bodies.Add(length) > maxBodies {
		w.Header().Set("Retry-After", "1")
		return nil, refuse(http.StatusServiceUnavailable, "too many requests at once: try again")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	return f(r)
}

// answer writes v or the error as JSON.
func answer(w http.ResponseWriter, v any, err error) (status int) {
	status = http.StatusOK
	if err != nil {
		status = http.StatusInternalServerError
		var refused refusal
		switch {
		case errors.As(err, &refused):
			status = refused.status
		case errors.As(err, new(*http.MaxBytesError)):
			status = http.StatusRequestEntityTooLarge
		case errors.Is(err, iokl.ErrChanged):
			status = http.StatusConflict
		case errors.Is(err, iokl.ErrInput):
			status = http.StatusBadRequest
		default:
			log.Print(err)
		}
		v = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked may be gone
	return status
}

// request is the body of /predict and /update. A number that is null is nil.
type request struct {
	Rows    [][]*float64 `json:"rows"`
	Targets [][]*float64 `json:"targets"`
}

func read(r *http.Request) (*request, error) {
	q := new(request)
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(q)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("more follows the JSON object")
		} else if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", iokl.ErrInput, err)
	}
	return q, nil
}

var missing = math.NaN()

// table is rows of as many numbers as there are names.
func table(what string, rows [][]*float64, names []string) (*mat.Dense, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: no %s", iokl.ErrInput, what)
	}
	X := mat.NewDense(len(rows), len(names), nil)
	for i, row := range rows {
		if len(row) != len(names) {
			return nil, fmt.Errorf("%w: row %d of %s has %d numbers, not %d: %q", iokl.ErrInput, i+1, what, len(row),
				len(names), names)
		}
		for j, v := range row {
			if v == nil {
				v = &missing
			}
			X.Set(i, j, *v)
		}
	}
	return X, nil
}

func (s *service) predict(r *http.Request) (any, error) {
	q, err := read(r)
	if err != nil {
		return nil, err
	}
	if q.Targets != nil {
		return nil, fmt.Errorf("%w: targets are for /update", iokl.ErrInput)
	}
	if len(q.Rows) == 1 {
		return s.join(q.Rows)
	}
	return predict(r.Context(), s.model.Load(), q.Rows)
}

// predictions are those of some rows.
type predictions struct {
	Outputs     []string    `json:"outputs"`
	Predictions [][]float64 `json:"predictions"`
}

func predict(ctx context.Context, m *iokl.Model, rows [][]*float64) (*predictions, error) {
	X, err := table("rows", rows, m.InputNames())
	if err != nil {
		return nil, err
	}
	p := &predictions{m.OutputNames(), make([][]float64, len(rows))}
	F := mat.NewDense(len(rows), len(p.Outputs), nil)
	if err := m.PredictContext(ctx, F, X); err != nil {
		return nil, err
	}
	for i := range p.Predictions {
		p.Predictions[i] = F.RawRowView(i)
	}
	return p, nil
}

// single is a request for the predictions of one row.
type single struct {
	rows [][]*float64
	done chan struct{} // closed when the rest is there
	*predictions
	err error
}

// join predicts a row together with those that wait for a processor as it does: whoever gets one takes all.
func (s *service) join(rows [][]*float64) (*predictions, error) {
	one := &single{rows: rows, done: make(chan struct{})}
	s.joining.Lock()
	s.waiting = append(s.waiting, one)
	s.joining.Unlock()
	select {
	case <-one.done: // by another
	case s.blocks <- struct{}{}:
		s.joining.Lock()
		block := s.waiting
		s.waiting = nil
		s.joining.Unlock()
		s.block(block)
		<-s.blocks
		<-one.done
	}
	return one.predictions, one.err
}

// block predicts the rows of a block, each alone where one of them is refused.
func (s *service) block(block []*single) {
	m, rows := s.model.Load(), make([][]*float64, 0, len(block))
	for _, one := range block {
		rows = append(rows, one.rows[0])
	}
	all, err := predict(context.Background(), m, rows)
	for i, one := range block {
		switch {
		case err == nil:
			one.predictions = &predictions{all.Outputs, all.Predictions[i : i+1]}
		case len(block) == 1:
			one.err = err
		default:
			one.predictions, one.err = predict(context.Background(), m, one.rows)
		}
		close(one.done)
	}
}

// update makes the model with the rows of the request, saves it whole or not at all, and puts it in place. Predictions
// go on with the one before meanwhile.
func (s *service) update(r *http.Request) (any, error) {
	q, err := read(r)
	if err != nil {
		return nil, err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	m := s.model.Load()
	X, err := table("rows", q.Rows, m.InputNames())
	if err != nil {
		return nil, err
	}
	Y, err := table("targets", q.Targets, m.OutputNames())
	if err != nil {
		return nil, err
	}
	next, err := m.Update(r.Context(), X, Y, iokl.UpdateOptions{Window: s.window})
	if err != nil {
		return nil, err
	}
	if err := next.Save(s.path); err != nil {
		return nil, err
	}
	s.model.Store(next)
	return next.Certificate(), nil
}

func (s *service) reload(r *http.Request) (any, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	return struct{}{}, s.load(r.Context())
}

// bounds are the upper ends of the buckets of a metrics' times; there is one more without an end.
var bounds = []time.Duration{
	200 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// metrics counts the requests of a path.
type metrics struct {
	times  [10]atomic.Int64 // one for each of bounds, and the rest
	sum    atomic.Int64     // ns
	failed atomic.Int64
}

func (m *metrics) note(d time.Duration, status int) {
	k, _ := slices.BinarySearch(bounds, d)
	m.times[k].Add(1)
	m.sum.Add(int64(d))
	if status != http.StatusOK {
		m.failed.Add(1)
	}
}

func (s *service) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "# TYPE iokl_samples gauge\niokl_samples %d\n", s.model.Load().Certificate().Samples)
	fmt.Fprint(w, "# TYPE iokl_failed_total counter\n# TYPE iokl_seconds histogram\n")
	for path, m := range s.stats {
		fmt.Fprintf(w, "iokl_failed_total{path=%q} %d\n", path, m.failed.Load())
		var count int64
		for k := range m.times {
			end := "+Inf"
			if count += m.times[k].Load(); k < len(bounds) {
				end = fmt.Sprint(bounds[k].Seconds())
			}
			fmt.Fprintf(w, "iokl_seconds_bucket{path=%q,le=%q} %d\n", path, end, count)
		}
		fmt.Fprintf(w, "iokl_seconds_count{path=%q} %d\niokl_seconds_sum{path=%q} %g\n", path, count, path,
			time.Duration(m.sum.Load()).Seconds())
	}
}

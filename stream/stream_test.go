package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/deadline"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

// data is l rows of 3 inputs and 2 targets, and features of them.
func data(t testing.TB, l int) (X, Y blas.General, maps rff.Maps) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	X, Y = blas.NewGeneral(l, 3), blas.NewGeneral(l, 2)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	for i := range Y.Data {
		Y.Data[i] = 3 + rng.NormFloat64()
	}
	d, err := kernel.Build([]string{"rff:gaussian:all:1:30", "linear:1"}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if maps, err = rff.NewMaps(t.Context(), d, X, 1, nil); err != nil {
		t.Fatal(err)
	}
	return X, Y, maps
}

// direct computes the sums of some rows from their definition.
func direct(t testing.TB, maps rff.Maps, X, Y blas.General, want func(i int) bool) Sums {
	t.Helper()
	Z := blas.NewGeneral(X.Rows, maps.Dim())
	if err := maps.Transform(Z, X); err != nil {
		t.Fatal(err)
	}
	s := newSums(maps.Dim(), Y.Cols, false)
	for r := range X.Rows {
		if !want(r) {
			continue
		}
		s.Rows++
		s.Weight++
		z, y := blas.Row(Z, r), blas.Row(Y, r)
		for i := range z {
			for j := range i + 1 {
				s.Gamma.Data[i*s.Gamma.Stride+j] += z[i] * z[j]
			}
			for j := range y {
				s.H.Data[i*s.H.Stride+j] += z[i] * y[j]
			}
			s.ZSum[i] += z[i]
		}
		for j, v := range y {
			s.YSum[j] += v
			s.YY[j] += v * v
		}
	}
	return s
}

// same compares two sums, about the center of the first, to within tol of their largest number.
func same(a, b Sums, tol float64) error {
	b = b.about(a.Center)
	x, y := a.pack(), b.pack()
	var scale, worst float64
	for i := range x {
		scale = max(scale, math.Abs(y[i]))
		if d := math.Abs(x[i] - y[i]); !(d <= worst) {
			worst = d
		}
	}
	if !(worst <= tol*scale) {
		return fmt.Errorf("sums differ by %g of %g", worst, scale)
	}
	return nil
}

// chopped hands out matrices in blocks of changing size, after them an error.
type chopped struct {
	x, y  blas.General
	at    int
	sizes []int
	end   error
	calls int
}

func (c *chopped) Next() (Block, error) {
	rows := min(c.sizes[c.calls%len(c.sizes)], c.x.Rows-c.at)
	c.calls++
	b := Block{
		X: blas.View(c.x, c.at, 0, rows, c.x.Cols), Y: blas.View(c.y, c.at, 0, rows, c.y.Cols), Row: int64(c.at),
		Source: "test.csv",
	}
	c.at += rows
	if c.at == c.x.Rows {
		return b, c.end // with the last rows
	}
	return b, nil
}

func TestSumsAgainstDefinition(t *testing.T) {
	X, Y, maps := data(t, 501)
	for _, rows := range []int{1, 64, 500, 501, 0} {
		a := New(maps, 3, 2, Options{BlockRows: rows})
		if err := a.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
			t.Fatal(err)
		}
		sums, err := a.Sums()
		if err != nil {
			t.Fatal(err)
		}
		if err := same(sums[0], direct(t, maps, X, Y, func(int) bool {
			return true
		}), 1e-13); err != nil || a.Rows() != 501 {
			t.Errorf("blocks of %d rows: %v, %d rows", rows, err, a.Rows())
		}
	}
}

func TestFolds(t *testing.T) {
	X, Y, maps := data(t, 300)
	for name, opt := range map[string]Options{
		"by row":       {Folds: 3, BlockRows: 40, Fold: func(_ string, row int64) int { return int(row) % 3 }},
		"by hash":      {Folds: 3, BlockRows: 40, Seed: 5},
		"of one group": {Folds: 3, BlockRows: 40, Fold: func(string, int64) int { return 1 }},
	} {
		a := New(maps, 3, 2, opt)
		if err := a.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
			t.Fatal(err)
		}
		sums, err := a.Sums()
		if err != nil {
			t.Fatal(err)
		}
		foldOf := func(i int) int { return a.opt.FoldOf("memory", int64(i)) }
		for k, s := range sums {
			if err := same(s, direct(t, maps, X, Y, func(i int) bool { return foldOf(i) == k }), 1e-13); err != nil {
				t.Errorf("%s, fold %d: %v", name, k, err)
			}
			rest := Total(sums, func(j int) bool { return j == k })
			if err := same(rest, direct(t, maps, X, Y, func(i int) bool { return foldOf(i) != k }), 1e-13); err != nil {
				t.Errorf("%s, all but fold %d: %v", name, k, err)
			}
		}
		if name == "by hash" && (sums[0].Rows < 70 || sums[1].Rows < 70 || sums[2].Rows < 70) {
			t.Errorf("folds of %d, %d, %d rows", sums[0].Rows, sums[1].Rows, sums[2].Rows)
		}
	}
	a := New(maps, 3, 2, Options{Folds: 2, Fold: func(_ string, row int64) int { return int(row) + 1 }})
	err := a.Add(Block{X: blas.View(X, 0, 0, 2, 3), Y: blas.View(Y, 0, 0, 2, 2)})
	if !errors.Is(err, ErrRow) || a.Rows() != 1 {
		t.Errorf("fold out of range: %v after %d rows", err, a.Rows())
	}
}

// The same bits whatever the threads and the cutting of the source into blocks.
func TestReproducible(t *testing.T) {
	t.Cleanup(func() { par.SetThreads(0) })
	X, Y, maps := data(t, 700)
	var first []float64
	for _, threads := range []int{1, 2, 5} {
		par.SetThreads(threads)
		for _, sizes := range [][]int{{700}, {1}, {13, 200, 1}} {
			a := New(maps, 3, 2, Options{BlockRows: 128, Folds: 2})
			if err := a.Run(context.Background(), &chopped{x: X, y: Y, sizes: sizes, end: io.EOF}); err != nil {
				t.Fatal(err)
			}
			sums, err := a.Sums()
			if err != nil {
				t.Fatal(err)
			}
			x := append(sums[0].pack(), sums[1].pack()...)
			if first == nil {
				first = x
			}
			if !slices.Equal(x, first) {
				t.Errorf("%d threads, blocks of %v: other sums", threads, sizes)
			}
		}
	}
}

// A bad row is named, and the checkpoint holds the rows before it; the pass then goes on from there
// bitwise as if nothing had been.
func TestBadRowAndResume(t *testing.T) {
	X, Y, maps := data(t, 400)
	bad := blas.Clone(X)
	bad.Data[277*3+2] = math.NaN()
	var saved bytes.Buffer
	opt := Options{BlockRows: 64, Folds: 3, Identity: "test", Checkpoint: func(a *Accumulator) error {
		saved.Reset()
		return a.Encode(&saved)
	}}
	a := New(maps, 3, 2, opt)
	err := a.Run(context.Background(), &chopped{x: bad, y: Y, sizes: []int{50}, end: io.EOF})
	if !errors.Is(err, ErrRow) || !strings.Contains(err.Error(), "test.csv, row 277") ||
		!strings.Contains(err.Error(), "input 2") {
		t.Fatalf("bad row: %v", err)
	}
	b := New(maps, 3, 2, opt)
	if err := b.Decode(bytes.NewReader(saved.Bytes())); err != nil || b.Rows() != 277 {
		t.Fatalf("%d rows from the checkpoint, %v", b.Rows(), err)
	}
	if err := b.Run(context.Background(), &chopped{x: X, y: Y, sizes: []int{31}, end: io.EOF}); err != nil {
		t.Fatal(err)
	}
	whole := New(maps, 3, 2, opt)
	if err := whole.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Sums()
	want, err2 := whole.Sums()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for k := range got {
		if !slices.Equal(got[k].pack(), want[k].pack()) {
			t.Errorf("fold %d of a resumed pass differs", k)
		}
	}
	c := New(maps, 3, 2, opt)
	if err := c.Decode(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(context.Background(), FromMatrices("short", blas.View(X, 0, 0, 100, 3),
		blas.View(Y, 0, 0, 100, 2))); err == nil {
		t.Error("a source shorter than the checkpoint is accepted")
	}
}

func TestRunEndsEarly(t *testing.T) {
	X, Y, maps := data(t, 200)
	boom := errors.New("boom")
	checkpoints := 0
	opt := Options{BlockRows: 16, CheckpointRows: 40, Checkpoint: func(*Accumulator) error {
		checkpoints++
		return nil
	}}
	a := New(maps, 3, 2, opt)
	if err := a.Run(context.Background(), &chopped{x: X, y: Y, sizes: []int{20}, end: boom}); !errors.Is(err, boom) ||
		a.Rows() != 200 {
		t.Errorf("error of the source: %v after %d rows", err, a.Rows())
	}
	if checkpoints != 5 { // after 40, 80, 120, 160 rows, and at the error
		t.Errorf("%d checkpoints", checkpoints)
	}
	opt.Progress = func(p Progress) error {
		if p.Rows >= 60 {
			return boom
		}
		return nil
	}
	a = New(maps, 3, 2, opt)
	if err := a.Run(context.Background(), &chopped{x: X, y: Y, sizes: []int{20}, end: io.EOF}); !errors.Is(err, boom) ||
		a.Rows() != 60 {
		t.Errorf("error of the watcher: %v after %d rows", err, a.Rows())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	opt.Progress = nil
	a = New(maps, 3, 2, opt)
	if err := a.Run(ctx, FromMatrices("memory", X, Y)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := a.Add(Block{X: Y, Y: X}); !errors.Is(err, ErrRow) {
		t.Errorf("wrong shapes: %v", err)
	}
}

// meeting adds up over goroutines, in the order of their ranks.
type meeting struct {
	mu     sync.Mutex
	all    *sync.Cond
	parts  [][]float64
	absent int
	rounds int
	sum    []float64 // of the last round; it ends when all have read it
}

func newMeeting(ranks int) *meeting {
	m := &meeting{parts: make([][]float64, ranks), absent: ranks}
	m.all = sync.NewCond(&m.mu)
	return m
}

// member is a rank of a meeting.
type member struct {
	*meeting
	rank int
}

func (r member) Rank() int { return r.rank }
func (r member) Size() int { return len(r.parts) }

func (r member) Allreduce(x []float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts[r.rank] = slices.Clone(x)
	if r.absent--; r.absent == 0 {
		r.absent = len(r.parts)
		r.rounds++
		r.sum = make([]float64, len(x))
		for _, part := range r.parts {
			blas.Axpy(1, part, r.sum)
		}
		r.all.Broadcast()
	} else {
		for round := r.rounds; r.rounds == round; {
			r.all.Wait()
		}
	}
	copy(x, r.sum)
	return nil
}

// reduceAll adds up over accumulators in one process.
func reduceAll(ranks []*Accumulator) error {
	m, errs := newMeeting(len(ranks)), make([]error, len(ranks))
	var wg sync.WaitGroup
	for rank, a := range ranks {
		wg.Go(func() { errs[rank] = a.Reduce(member{m, rank}) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func TestReduce(t *testing.T) {
	X, Y, maps := data(t, 500)
	opt := Options{BlockRows: 50, Folds: 2}
	want := New(maps, 3, 2, opt)
	if err := want.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
		t.Fatal(err)
	}
	ranks := make([]*Accumulator, 3)
	for rank := range ranks {
		ranks[rank] = New(maps, 3, 2, opt)
		if err := ranks[rank].Run(context.Background(), Share(&chopped{x: X, y: Y, sizes: []int{37}, end: io.EOF}, rank,
			3)); err != nil {
			t.Fatal(err)
		}
		if rows := ranks[rank].Rows(); rows < 130 || rows > 190 {
			t.Errorf("rank %d takes %d rows of 500", rank, rows)
		}
	}
	if err := reduceAll(ranks); err != nil {
		t.Fatal(err)
	}
	got, _ := ranks[0].Sums()
	all, _ := want.Sums()
	for k := range got {
		if err := same(got[k], all[k], 1e-13); err != nil || got[k].Rows != all[k].Rows {
			t.Errorf("fold %d: %v, %d rows of %d", k, err, got[k].Rows, all[k].Rows)
		}
	}
	if ranks[0].Rows() != 500 {
		t.Errorf("%d rows in all", ranks[0].Rows())
	}
}

func TestStandardizedAndResidual(t *testing.T) {
	X, Y, maps := data(t, 200)
	for i := range Y.Rows {
		Y.Data[2*i+1] = 7
	}
	s := direct(t, maps, X, Y, func(int) bool { return true })
	mean, dev := s.OutputMoments()
	if dev[1] != 0 || mean[1] != 7 || math.Abs(dev[0]-1) > 0.2 {
		t.Errorf("means %v, deviations %v", mean, dev)
	}
	scaled := blas.Clone(Y)
	scale := []float64{dev[0], 2}
	for i := range Y.Rows {
		for j := range 2 {
			scaled.Data[2*i+j] = (Y.Data[2*i+j] - mean[j]) / scale[j]
		}
	}
	want := direct(t, maps, X, scaled, func(int) bool { return true })
	H, yy := s.Standardized(mean, scale)
	blas.AddScaled(H, -1, want.H)
	if total := want.YY[0] + want.YY[1]; !(blas.Frob(H) <= 1e-11*blas.Frob(s.H) &&
		math.Abs(yy[0]+yy[1]-total) <= 1e-11*s.YY[1]) {
		t.Errorf("H off by %g, ‖Y‖² %g, want %g", blas.Frob(H), yy, total)
	}
}

func TestBytes(t *testing.T) {
	// 5 folds of 2000² + 2000·20 numbers, and a block of 1024 rows of 2000 + 5·41.
	if got, want := Bytes(2000, 20, 20, Options{Folds: 5}), 8.*(5*2000*2020+1024*(2000+5*41)); got != want {
		t.Errorf("%g bytes, want %g", got, want)
	}
	// 10,000 features take 800 MB.
	if opt, why := Plan(10000, 20, 20, 1e6, 1e9, Options{}); opt.NoGamma || why != "" {
		t.Errorf("sums that fit: %q", why)
	}
	if opt, why := Plan(100000, 20, 20, 1e6, 1e9, Options{}); !opt.NoGamma || !strings.Contains(why, "4e+11 flops") {
		t.Errorf("sums that do not fit: %q", why)
	}
}

// idle is a source that hands out nothing, for ever.
type idle struct{}

func (idle) Next() (Block, error) { return Block{}, nil }

func TestIdleSourceEnds(t *testing.T) {
	_, _, f := data(t, 10)
	for name, pass := range map[string]func() error{
		"Run":     func() error { return New(f, 3, 1, Options{}).Run(t.Context(), idle{}) },
		"Inspect": func() error { _, err := Inspect(t.Context(), idle{}, 3, 1, 10, 1); return err },
		"Gram": func() error {
			g := NewGram(f, func() (Source, error) { return idle{}, nil }, Options{}, nil)
			g.Apply(blas.NewGeneral(f.Dim(), 1), blas.NewGeneral(f.Dim(), 1))
			return g.Err()
		},
	} {
		deadline.Run(t, time.Minute, func() {
			if err := pass(); !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

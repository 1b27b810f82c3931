package granger_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// crew is goroutines that each play a rank.
type crew struct {
	size     int
	mu       sync.Mutex
	full     *sync.Cond
	sum      []float64
	arrived  int
	exchange int
}

func newCrew(size int) *crew {
	c := &crew{size: size}
	c.full = sync.NewCond(&c.mu)
	return c
}

type member struct {
	*crew
	rank int
}

func (m member) Rank() int { return m.rank }
func (m member) Size() int { return m.size }

// Allreduce waits for all; the last to arrive starts the next exchange with a new sum.
func (m member) Allreduce(x []float64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.arrived == 0 {
		m.sum = make([]float64, len(x))
	}
	sum, now := m.sum, m.exchange
	if len(sum) != len(x) {
		return fmt.Errorf("%d numbers meet %d", len(x), len(sum))
	}
	blas.Axpy(1, x, sum)
	if m.arrived++; m.arrived == m.size {
		m.arrived = 0
		m.exchange++
		m.full.Broadcast()
	}
	for m.exchange == now {
		m.full.Wait()
	}
	copy(x, sum)
	return nil
}

// found is all that a study says.
type found struct {
	*granger.Result
	stability, null granger.Counts
	gains           []granger.Gain
	err             error
}

func studied(d *granger.Data, opt granger.Options) (f found) {
	s, err := granger.NewStudy(bg, d, opt)
	if err != nil {
		f.err = err
		return f
	}
	if f.Result, f.err = s.Infer(bg); f.err != nil {
		return f
	}
	if f.stability, f.err = s.Stability(bg, 0, granger.Rounds{To: 5}); f.err != nil {
		return f
	}
	if f.null, f.err = s.Null(bg, granger.Rounds{To: 7}); f.err != nil {
		return f
	}
	f.gains, f.err = s.Improvement(bg)
	return f
}

// Every rank has what one process finds, in every bit.
func TestRanks(t *testing.T) {
	single, grouped := granger.LinearVAR(5, 90, 1, 1, 1, 3), granger.LinearVAR(6, 60, 1, 1, 1, 5)
	var pairs [][2]string
	for k, name := range grouped.Data.Names {
		pairs = append(pairs, [2]string{name, []string{"a", "b", "c"}[k/2]})
	}
	var err error
	if grouped.Data.Nodes, err = granger.Group(grouped.Data.Names, pairs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		d    *granger.Data
		opt  granger.Options
	}{
		{"scalar", &single.Data, granger.Options{Lambdas: []float64{0.03, 0.3}, PerNode: true, Folds: 2}},
		{"one by one", &single.Data, granger.Options{Norm: "lp:1.5"}},
		{"groups", &grouped.Data, granger.Options{MaxIter: 5}},
		{"features", &grouped.Data, granger.Options{Kernels: []string{"rff:gaussian:groups:median:10"}, MaxIter: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Backend = blas.NewNative()
			want := studied(c.d, c.opt)
			if want.err != nil {
				t.Fatal(want.err)
			}
			for _, size := range []int{2, 4} { // 4 ranks of 3 nodes leave one without
				for rank, got := range onRanks(size, c.d, c.opt) {
					compare(t, fmt.Sprintf("rank %d of %d", rank, size), got, want)
				}
			}
		})
	}
}

// With a backend that rounds a row of a product differently with others beside it, the objectives on every
// rank are within the gaps of those that one process finds.
func TestRanksOtherBackends(t *testing.T) {
	made := granger.LinearVAR(5, 90, 1, 1, 1, 3)
	for _, be := range blas.Backends() {
		if be.Name() == "native" {
			continue
		}
		opt := granger.Options{Lambdas: []float64{0.03, 0.3}, PerNode: true, Folds: 2, Backend: be}
		want := studied(&made.Data, opt)
		for rank, got := range onRanks(2, &made.Data, opt) {
			if err := errors.Join(want.err, got.err); err != nil {
				t.Fatal(err)
			}
			for i, w := range want.Fits {
				g := got.Fits[i]
				gap := g.RelativeGap*g.Objective + w.RelativeGap*w.Objective
				if g.Lambda != w.Lambda || !(math.Abs(g.Objective-w.Objective) <= gap) {
					t.Errorf("%s, rank %d: objective of %s %g at λ = %g, wanted %g at %g",
						be.Name(), rank, g.Node, g.Objective, g.Lambda, w.Objective, w.Lambda)
				}
			}
		}
	}
}

// onRanks is what each of so many ranks finds.
func onRanks(size int, d *granger.Data, opt granger.Options) []found {
	crew, got := newCrew(size), make([]found, size)
	var wait sync.WaitGroup
	for rank := range got {
		wait.Go(func() {
			opt := opt
			opt.Ranks = member{crew, rank}
			got[rank] = studied(d, opt)
		})
	}
	wait.Wait()
	return got
}

func compare(t *testing.T, who string, got, want found) {
	t.Helper()
	if got.err != nil {
		t.Fatalf("%s: %v", who, got.err)
	}
	if !slices.Equal(got.Graph.Data, want.Graph.Data) || !slices.Equal(got.Norms.Data, want.Norms.Data) {
		t.Errorf("%s: graph %v, norms %v, wanted %v, %v", who, got.Graph, got.Norms, want.Graph, want.Norms)
	}
	for i, w := range want.Fits {
		g := got.Fits[i]
		if g.Node != w.Node || g.Lambda != w.Lambda || g.Iter != w.Iter || !slices.Equal(g.Eta, w.Eta) ||
			g.Objective != w.Objective || g.RelativeGap != w.RelativeGap || g.RMSE != w.RMSE || g.RMSEOwn != w.RMSEOwn {
			t.Errorf("%s: fit %+v, wanted %+v", who, g, w)
		}
		if (g.L == nil) != (w.L == nil) || w.L != nil && (!slices.Equal(g.L.S, w.L.S) ||
			!slices.Equal(dense(g), dense(w))) {
			t.Errorf("%s: output kernel %+v, wanted %+v", who, g.L, w.L)
		}
		if a, b := got.gains[i], want.gains[i]; a != b {
			t.Errorf("%s: gain %+v, wanted %+v", who, a, b)
		}
	}
	for k, pair := range [][2]granger.Counts{{got.stability, want.stability}, {got.null, want.null}} {
		g, w := pair[0], pair[1]
		if g.Of != w.Of || g.Rounds != w.Rounds || !slices.Equal(g.Count.Data, w.Count.Data) {
			t.Errorf("%s: counts %d %+v, wanted %+v", who, k, g, w)
		}
	}
}

// dense is the output kernel of a fit.
func dense(f granger.Fit) []float64 {
	L := blas.NewGeneral(f.L.Dim(), f.L.Dim())
	f.L.Dense(blas.Active(), L)
	return L.Data
}

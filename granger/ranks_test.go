package granger_test

import (
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

// same reports whether a and b agree to tol, relative to the larger of |a| and 1.
func same(a, b []float64, tol float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= tol*math.Max(1, math.Abs(x)) })
}

// Every rank has what one process finds. Nodes fitted one by one agree in every
// bit; those fitted together, of which a rank has fewer, to single precision.
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
		tol  float64
	}{
		{"scalar", &single.Data, granger.Options{Lambdas: []float64{0.03, 0.3}, PerNode: true, Folds: 2}, 1e-6},
		{"one by one", &single.Data, granger.Options{Norm: "lp:1.5"}, 0},
		{"groups", &grouped.Data, granger.Options{MaxIter: 5}, 0},
		{"features", &grouped.Data, granger.Options{Kernels: []string{"rff:gaussian:groups:median:10"}, MaxIter: 5}, 1e-9},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := studied(c.d, c.opt)
			if want.err != nil {
				t.Fatal(want.err)
			}
			for _, size := range []int{2, 4} { // 4 ranks of 3 nodes leave one without
				crew, got := newCrew(size), make([]found, size)
				var wait sync.WaitGroup
				for rank := range got {
					wait.Go(func() {
						opt := c.opt
						opt.Ranks = member{crew, rank}
						got[rank] = studied(c.d, opt)
					})
				}
				wait.Wait()
				for rank, g := range got {
					compare(t, fmt.Sprintf("rank %d of %d", rank, size), g, want, c.tol)
				}
			}
		})
	}
}

func compare(t *testing.T, who string, got, want found, tol float64) {
	t.Helper()
	if got.err != nil {
		t.Fatalf("%s: %v", who, got.err)
	}
	if !same(got.Graph.Data, want.Graph.Data, tol) || !same(got.Norms.Data, want.Norms.Data, tol) {
		t.Errorf("%s: graph %v, norms %v, wanted %v, %v", who, got.Graph, got.Norms, want.Graph, want.Norms)
	}
	for i, w := range want.Fits {
		g := got.Fits[i]
		if g.Node != w.Node || g.Lambda != w.Lambda || g.Iter != w.Iter || !same(g.Eta, w.Eta, tol) ||
			!same([]float64{g.Objective, g.RelativeGap, g.RMSE, g.RMSEOwn}, []float64{w.Objective, w.RelativeGap, w.RMSE, w.RMSEOwn}, tol) {
			t.Errorf("%s: fit %+v, wanted %+v", who, g, w)
		}
		if (g.L == nil) != (w.L == nil) || w.L != nil && (!same(g.L.S, w.L.S, tol) || g.L.Rank() != w.L.Rank()) {
			t.Errorf("%s: output kernel %+v, wanted %+v", who, g.L, w.L)
		} else if w.L != nil && !same(dense(g), dense(w), tol) {
			t.Errorf("%s: output kernel of %s", who, w.Node)
		}
		if a, b := got.gains[i], want.gains[i]; a.Node != b.Node || !same([]float64{a.RMSE, a.Own}, []float64{b.RMSE, b.Own}, tol) {
			t.Errorf("%s: gain %+v, wanted %+v", who, a, b)
		}
	}
	for k, pair := range [][2]granger.Counts{{got.stability, want.stability}, {got.null, want.null}} {
		if pair[0].Of != pair[1].Of || pair[0].Rounds != pair[1].Rounds || !slices.Equal(pair[0].Count.Data, pair[1].Count.Data) {
			t.Errorf("%s: counts %d %+v, wanted %+v", who, k, pair[0], pair[1])
		}
	}
}

// dense is the output kernel of a fit.
func dense(f granger.Fit) []float64 {
	L := blas.NewGeneral(f.L.Dim(), f.L.Dim())
	f.L.Dense(blas.Active(), L)
	return L.Data
}

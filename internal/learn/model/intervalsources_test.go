package model_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// Gram matrices of the rows give the intervals that the rows give.
func TestIntervalsOfGrams(t *testing.T) {
	const l, fresh = 80, 7
	rng := rand.New(rand.NewPCG(5, 6))
	X, Y := mat.NewDense(l+fresh, 3, nil), mat.NewDense(l, 2, nil)
	for i := range l + fresh {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
	}
	for i := range l {
		Y.SetRow(i, []float64{math.Sin(X.At(i, 0)) + 0.1*rng.NormFloat64(), X.At(i, 1) + 0.1*rng.NormFloat64()})
	}
	gauss := func(from, to int) *mat.Dense {
		K := mat.NewDense(to-from, l, nil)
		K.Apply(func(i, j int, _ float64) float64 {
			var s float64
			for c := range 3 {
				d := X.At(from+i, c) - X.At(j, c)
				s += d * d
			}
			return math.Exp(-s / 8)
		}, K)
		return K
	}
	opt := iokl.Options{Lambda: 1e-3, Standardize: "none", Tol: 1e-6, IntervalFolds: 4}
	g, err := iokl.FitGram(context.Background(), []mat.Matrix{gauss(0, l)}, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.Kernels = []string{"gaussian:all:2"}
	m, err := iokl.Fit(context.Background(), X.Slice(0, l, 0, 3), Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.PredictIntervalGram(context.Background(), []mat.Matrix{gauss(l, l+fresh)}, iokl.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.PredictInterval(context.Background(), X.Slice(l, l+fresh, 0, 3), iokl.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(a.Low, b.Low, 1e-6) || !mat.EqualApprox(a.High, b.High, 1e-6) {
		t.Errorf("intervals differ:\n%v\n%v", mat.Formatted(a.Low), mat.Formatted(b.Low))
	}
}

// Targets with missing cells, and sums of kernels with an L each, have intervals by folds, which a
// file keeps, and no refits without single rows in closed form.
func TestIntervalsByFoldsAlone(t *testing.T) {
	X, Y := learntest.Wave(400, 38)
	holes := mat.DenseCopyOf(Y.Slice(0, 200, 0, 3))
	for i := range 200 {
		if i%3 == 0 {
			holes.Set(i, i%2, math.NaN())
		}
	}
	for _, c := range []struct {
		name string
		Y    mat.Matrix
		opt  iokl.Options
	}{
		{"missing cells", holes, iokl.Options{}},
		{"sum", Y.Slice(0, 200, 0, 3), iokl.Options{Model: "sum", Tol: 1e-2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Kernels, c.opt.Lambda, c.opt.IntervalFolds = []string{"gaussian:all:median*0.5,1"}, 1e-2, 4
			m, err := iokl.Fit(context.Background(), X.Slice(0, 200, 0, 4), c.Y, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			m = fittest.Loaded(t, m)
			r, err := m.PredictInterval(context.Background(), X.Slice(200, 400, 0, 4), iokl.IntervalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if each, _ := coverage(r, Y.Slice(200, 400, 0, 3)); slices.Min(each) < 0.8 || slices.Max(each) > 0.99 {
				t.Errorf("coverage %.3f", each)
			}
		})
	}
}

// Streams: folds of the choice of λ, the same from a checkpoint, and what is refused.
func TestIntervalsOfStreams(t *testing.T) {
	X, Y := learntest.Wave(1600, 35)
	opt := iokl.Options{
		Kernels: []string{"rff:gaussian:all:median*0.5,1:40"}, IntervalFolds: 4,
		CV: iokl.CVOptions{Lambdas: []float64{1e-2, 1e-4}}, Checkpoint: filepath.Join(t.TempDir(), "pass"),
	}
	fresh, seen := fittest.Rows(X, 600, 1600), fittest.Rows(Y, 600, 1600)
	var first *iokl.Intervals
	for _, what := range []string{"a pass", "its checkpoint"} {
		m, err := iokl.FitStream(t.Context(), fittest.Stream(fittest.Rows(X, 0, 600), fittest.Rows(Y, 0, 600)), opt)
		if err != nil {
			t.Fatal(err)
		}
		if m.IntervalFolds() != 4 {
			t.Errorf("%s: models without %d folds", what, m.IntervalFolds())
		}
		r, err := m.PredictInterval(t.Context(), fresh, iokl.IntervalOptions{Level: 0.9})
		if err != nil {
			t.Fatal(err)
		}
		each, _ := coverage(r, seen)
		for j, share := range each {
			if !(share > 0.86 && share < 0.95) {
				t.Errorf("%s: intervals hold %.3f of target %d", what, share, j)
			}
		}
		if first == nil {
			first = r
		} else if !mat.Equal(first.Low, r.Low) || !mat.Equal(first.High, r.High) {
			t.Error("a checkpoint gives other intervals")
		}
	}
	opt.Checkpoint = ""
	links := fittest.NewLinks()
	var work sync.WaitGroup
	for k := range 2 {
		own := fittest.Stream(fittest.Rows(X, 0, 600), fittest.Rows(Y, 0, 600))
		own.Ranks = fittest.Crew{Number: k, Links: links}
		work.Go(func() {
			m, err := iokl.FitStream(t.Context(), own, opt)
			if err != nil {
				t.Error(err)
				return
			}
			if r, err := m.PredictInterval(t.Context(), fresh, iokl.IntervalOptions{}); err != nil ||
				!mat.EqualApprox(r.Low, first.Low, 1e-6) || !mat.EqualApprox(r.High, first.High, 1e-6) {
				t.Errorf("rank %d has other intervals: %v", k, err)
			}
		})
	}
	work.Wait()
	opt.CV.Folds = 5
	if _, err := iokl.FitStream(t.Context(), fittest.Stream(X, Y), opt); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("4 interval folds of 5: %v", err)
	}
	opt.Lambda, opt.MaxBytes = 1e-3, 1<<20
	if _, err := iokl.FitStream(t.Context(), fittest.Stream(X, Y), opt); !errors.Is(err, iokl.ErrMemory) {
		t.Errorf("the sums of the folds in 1 MiB: %v", err)
	}
}

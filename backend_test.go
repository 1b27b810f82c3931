package iokl_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// poisoned is a backend of which every method panics.
type poisoned struct{ blas.Backend }

// A backend of the options does all that a fit and its model do: the active one is not asked.
func TestBackendOfOptions(t *testing.T) {
	saved := blas.Active()
	t.Cleanup(func() { blas.Use(saved) })
	be := blas.NewNative()
	X, Y := learntest.Wave(90, 3)
	holes := mat.DenseCopyOf(Y)
	for i := range 20 {
		holes.Set(4*i, i%3, math.NaN())
	}
	labels := make([]string, 90)
	for i := range labels {
		labels[i] = fmt.Sprint("class ", Y.At(i, 1) > -6)
	}
	zeros := mat.NewDense(90, 1, nil)
	for i := range 90 {
		if Y.At(i, 1) > -6 {
			zeros.Set(i, 0, 1)
		}
	}
	var grams []mat.Matrix
	for _, c := range []int{0, 1} {
		x := mat.DenseCopyOf(X.Slice(0, 90, c, c+1))
		var K mat.Dense
		K.Mul(x, x.T())
		grams = append(grams, &K)
	}
	weights := mat.NewDense(90, 1, nil)
	for i := range 90 {
		weights.Set(i, 0, 1+float64(i%3))
	}
	axis := mat.NewDense(3, 1, []float64{0, 1, 3})
	one, two := []string{"gaussian:all:median"}, []string{"gaussian:all:median", "linear:all"}
	for _, c := range []struct {
		name string
		Y    *mat.Dense
		opt  iokl.Options
		fit  func(iokl.Options) (*iokl.Model, error) // nil means Fit
	}{
		{name: "zero options"},
		{name: "exact kernels", opt: iokl.Options{
			Kernels: []string{"gaussian:each:median", "linear:all"},
			Lambda:  1e-3,
		}},
		{name: "float32", opt: iokl.Options{Kernels: one, Lambda: 1e-3, Precision: blas.Float32}},
		{name: "lengths", opt: iokl.Options{Kernels: []string{"gaussian:ard:median"}, Lambda: 1e-3}},
		{name: "directions", opt: iokl.Options{Kernels: []string{"gaussian:directions:median"}, Lambda: 1e-3}},
		{name: "relevance", opt: iokl.Options{Kernels: []string{"gaussian:relevant:median"}, Lambda: 1e-3}},
		{name: "missing targets", Y: holes, opt: iokl.Options{Kernels: one, Lambda: 1e-3}},
		{name: "weights", opt: iokl.Options{Lambda: 1e-3, Weights: weights}},
		{name: "orthogonal features", opt: iokl.Options{Kernels: []string{"rff:gaussian:all:median:60"}, Lambda: 1e-3}},
		{
			name: "hadamard features",
			opt:  iokl.Options{Kernels: []string{"rff:gaussian:all:median:60:hadamard"}, Lambda: 1e-3},
		},
		{name: "phases", opt: iokl.Options{Kernels: []string{"rff:gaussian:all:median:60:mc:phases"}, Lambda: 1e-3}},
		{name: "landmarks", opt: iokl.Options{
			Kernels: []string{"nystrom:gaussian:all:median:30:kmeans"},
			Lambda:  1e-3,
		}},
		{
			name: "singular landmarks",
			opt:  iokl.Options{Kernels: []string{"nystrom:linear:all:30:uniform"}, Lambda: 1e-3},
		},
		{name: "exact features", opt: iokl.Options{Kernels: []string{"linear:all", "poly:2:all:1"}, Lambda: 1e-3}},
		{name: "sum", opt: iokl.Options{Kernels: two, Lambda: 1e-2, Model: "sum"}},
		{name: "global", opt: iokl.Options{Kernels: two, Lambda: 1e-2, Global: true}},
		{name: "likelihood", opt: iokl.Options{Kernels: one, Learn: "likelihood"}},
		{name: "axis", opt: iokl.Options{OutputAxis: axis, Lambda: 1e-3}},
		{name: "axis, chosen", opt: iokl.Options{OutputAxis: axis, CV: iokl.CVOptions{Folds: 2}}},
		{name: "huber", opt: iokl.Options{Lambda: 1e-3, Loss: "huber"}},
		{name: "quantiles", opt: iokl.Options{Lambda: 1e-2, Loss: "quantile:0.2,0.8"}},
		{name: "logistic", Y: zeros, opt: iokl.Options{Lambda: 1e-2, Loss: "logistic"}},
		{name: "interval folds", opt: iokl.Options{Lambda: 1e-3, IntervalFolds: 3}},
		{name: "noise", opt: iokl.Options{LearnNoise: true, Kernels: one, Lambda: 1e-3, IntervalFolds: 2}},
		{name: "solver paper", opt: iokl.Options{Kernels: one, Lambda: 1e-2, Solver: "paper", Tol: 1e-2}},
		{name: "solver okl", opt: iokl.Options{Kernels: one, Lambda: 1e-2, Solver: "okl", Tol: 1e-2}},
		{name: "nystrom systems", opt: iokl.Options{Kernels: one, Lambda: 1e-2, Sylvester: "nystrom"}},
		{name: "cg systems", opt: iokl.Options{Kernels: one, Lambda: 1e-2, Sylvester: "cg"}},
		{name: "rotated systems", opt: iokl.Options{Kernels: one, Lambda: 1e-2, Sylvester: "rotated"}},
		{name: "classes", fit: func(opt iokl.Options) (*iokl.Model, error) {
			return iokl.FitClasses(bg, X, labels,
				opt)
		}},
		{
			name: "Gram matrices", opt: iokl.Options{Lambda: 1e-2, IntervalFolds: 2},
			fit: func(opt iokl.Options) (*iokl.Model, error) { return iokl.FitGram(bg, grams, Y, opt) },
		},
		{
			name: "stream", fit: func(opt iokl.Options) (*iokl.Model, error) {
				data := fittest.Stream(X, Y)
				return iokl.FitStream(bg, data, opt)
			},
		},
		{
			name: "stream with landmarks and folds",
			opt:  iokl.Options{Kernels: []string{"nystrom:gaussian:all:median:20:kmeans"}, IntervalFolds: 3},
			fit: func(opt iokl.Options) (*iokl.Model, error) {
				data := fittest.Stream(X, holes)
				return iokl.FitStream(bg, data, opt)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			blas.Use(poisoned{})
			defer blas.Use(saved)
			c.opt.Backend, c.opt.Tol = be, max(c.opt.Tol, 1e-3)
			if c.Y == nil {
				c.Y = Y
			}
			if c.fit == nil {
				c.fit = func(opt iokl.Options) (*iokl.Model, error) { return iokl.Fit(bg, X, c.Y, opt) }
			}
			m, err := c.fit(c.opt)
			if m == nil {
				t.Fatal(err)
			}
			useAll(t, m, X, c.Y, grams, axis, iokl.UpdateOptions{Backend: be})
		})
	}
}

// useAll calls what models do; that some refuse is their own matter.
func useAll(t *testing.T, m *iokl.Model, X, Y *mat.Dense, grams []mat.Matrix, axis mat.Matrix, up iokl.UpdateOptions) {
	t.Helper()
	if m.InputNames() == nil {
		_, err := m.PredictGram(grams)
		_, again := m.PredictIntervalGram(bg, grams, iokl.IntervalOptions{})
		if err != nil || again != nil {
			t.Error(err, again)
		}
		return
	}
	if _, err := m.Predict(X); err != nil {
		t.Error(err)
	}
	ctx := context.Background()
	rows := mat.DenseCopyOf(X.Slice(0, 5, 0, 4))
	_, n := Y.Dims()
	targets := mat.DenseCopyOf(Y.Slice(0, 5, 0, n))
	for _, method := range []iokl.IntervalMethod{"", "cv+", "jackknife+", "conformal"} {
		_, _ = m.PredictInterval(ctx, rows, iokl.IntervalOptions{Method: method})
	}
	_, _ = m.PredictDeviation(ctx, rows)
	_, _ = m.Noise(ctx)
	_, _ = m.PredictNoise(ctx, rows)
	_, _ = m.Distances(ctx, rows)
	_, _ = m.Influence(ctx, rows.Slice(0, 1, 0, 4))
	_, _ = m.LeaveOneOut(ctx)
	_, _ = m.HeldOut(ctx)
	_, _ = m.PredictSets(ctx, rows, 0)
	_, _ = m.PredictProba(rows)
	_, _ = m.Formula()
	_ = m.OutputCorrelation()
	if at, err := m.At(axis); err == nil {
		if _, err := at.Predict(rows); err != nil {
			t.Error(err)
		}
	}
	_ = m.Prepare(ctx)
	for _, relearn := range []bool{false, true} {
		up.Relearn = relearn
		if more, err := m.Update(ctx, rows, targets, up); err == nil {
			_, _ = more.Predict(rows)
			_, _ = more.Forget(ctx, []int{0, 2}, up)
			_, _ = more.ForgetRows(ctx, rows, targets, up)
		}
	}
}

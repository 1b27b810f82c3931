package reml_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// A fit by likelihood fills the cells of coupled outputs from each other, and its model file predicts the same.
func TestLikelihoodFills(t *testing.T) {
	X, Y := learntest.Coupled(80, 4)
	Z, _ := learntest.Hide(Y, 0.4, 4)
	opt := iokl.Options{Kernels: []string{"gaussian:all:median*0.5", "gaussian:all:median*0.05"}, Learn: "likelihood"}
	m, err := iokl.Fit(context.Background(), X, Z, opt)
	if err != nil {
		t.Fatal(err)
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	opt.Standardize = "x" // an affine map of the targets changes intercepts and scales alone
	raw, err := iokl.Fit(context.Background(), X, Z, opt)
	if err != nil {
		t.Fatal(err)
	}
	R, err := raw.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(F, R, 1e-3) {
		t.Error("predictions depend on whether targets are standardised")
	}
	for j := range 3 {
		var all, size float64
		for i := range 80 {
			d := Y.At(i, j) - float64(j)
			all += d * d / 80
		}
		if size = learntest.HiddenError(F, Y, Z, j); !(size < 0.3*all) {
			t.Errorf("output %d: mean squared error %.3g of hidden cells, variance %.3g", j, size, all)
		}
	}
	c := m.Certificate()
	if c.Components == nil || !c.Converged || c.GlobalBound != nil || c.Lambda != 0 || m.Chosen().Model != "sum" ||
		len(c.Components.Noise) != 3 {
		t.Errorf("%+v", c)
	}
	again := fittest.Loaded(t, m)
	if P, err := again.Predict(X); err != nil || !mat.Equal(P, F) ||
		again.Certificate().Components.LogLikelihood != c.Components.LogLikelihood {
		t.Errorf("%v: the model file predicts something else", err)
	}
}

// What a fit by likelihood has no use for is refused, and named.
func TestLikelihoodOptions(t *testing.T) {
	X, Y := learntest.Coupled(20, 1)
	for want, opt := range map[string]iokl.Options{
		"not with product":    {Model: "product"},
		"leave these out":     {Lambda: 1e-3},
		"no interval folds":   {IntervalFolds: 3},
		"global certificate":  {Global: true},
		"explicit features":   {Kernels: []string{"rff:gaussian:all:median:64"}},
		"observed cells":      {Standardize: "x", Kernels: []string{"gaussian:all:median"}, MaxOuter: -1},
		"no checkpoint":       {Checkpoint: "state"},
		"an output kernel fo": {Model: "product", Norm: "lp:2"},
	} {
		opt.Learn = "likelihood"
		Z := Y
		if opt.MaxOuter < 0 {
			opt.MaxOuter, Z = 0, mat.DenseCopyOf(Y)
			for i := 1; i < 20; i++ {
				Z.Set(i, 2, math.NaN())
			}
		}
		if _, err := iokl.Fit(context.Background(), X, Z, opt); !errors.Is(err, iokl.ErrInput) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want …%s…", opt, err, want)
		}
	}
	if _, err := iokl.CrossValidate(context.Background(), X, Y, iokl.Options{Learn: "likelihood"}); !errors.Is(err,
		iokl.ErrInput) {
		t.Errorf("cross-validation: %v", err)
	}
	// Kernels of 80 rows take less than the covariance of 240 cells.
	X, Y = learntest.Coupled(80, 1)
	opt := iokl.Options{Kernels: []string{"gaussian:all:median"}, Learn: "likelihood", MaxBytes: 16*240*240 - 1}
	if _, err := iokl.Fit(context.Background(), X, Y, opt); !errors.Is(err, iokl.ErrMemory) ||
		!strings.Contains(err.Error(), "observed cells") {
		t.Errorf("%d bytes: %v", opt.MaxBytes, err)
	}
}

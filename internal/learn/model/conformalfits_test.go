package model_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// uneven is a target with noise that grows with the first of two inputs.
func uneven(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 21))
	X, Y = mat.NewDense(l, 2, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		X.SetRow(i, []float64{a, b})
		Y.Set(i, 0, math.Sin(2*a)+0.3*b+0.4*math.Exp(0.6*a)*rng.NormFloat64())
	}
	return X, Y
}

// Conformal intervals of quantiles hold the level of new targets, which the quantiles alone do not, and their width
// follows the noise.
func TestConformal(t *testing.T) {
	const tables, level = 8, 0.9
	held := map[string]float64{}
	var narrow, wide float64 // mean width where the noise is small and where it is large
	for s := range uint64(tables) {
		X, Y := uneven(200, 2*s+1)
		m := fittest.Fit(t, X, Y, iokl.Options{
			Kernels: []string{"gaussian:all:median*0.5"}, Lambda: 1e-3, Loss: "quantile:0.05,0.95",
			IntervalFolds: 5,
		})
		Z, test := uneven(1000, 2*s+2)
		r, err := m.PredictInterval(t.Context(), Z, iokl.IntervalOptions{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			y, lo, hi := test.At(i, 0), r.Low.At(i, 0), r.High.At(i, 0)
			if lo <= y && y <= hi {
				held["conformal"] += 1.0 / (1000 * tables)
			}
			if r.Predictions.At(i, 0) <= y && y <= r.Predictions.At(i, 1) {
				held["quantiles"] += 1.0 / (1000 * tables)
			}
			if Z.At(i, 0) < -1 {
				narrow += hi - lo
			} else if Z.At(i, 0) > 1 {
				wide += hi - lo
			}
		}
		again, err := m.PredictInterval(t.Context(), Z, iokl.IntervalOptions{Level: level, Method: "conformal"})
		if err != nil || !mat.Equal(again.Low, r.Low) {
			t.Errorf("by name: %v", err)
		}
	}
	t.Logf("held %v, widths %.3g and %.3g", held, narrow, wide)
	if !(math.Abs(held["conformal"]-level) <= 0.02) || !(held["quantiles"] < level-0.03) {
		t.Errorf("intervals hold %v, want %g", held, level)
	}
	if !(wide > 2*narrow) {
		t.Errorf("widths %.3g and %.3g in sum", narrow, wide)
	}
}

func TestBadConformal(t *testing.T) {
	X, Y := uneven(40, 3)
	fit := func(loss iokl.Loss, folds int) *iokl.Model {
		return fittest.Fit(t, X, Y, iokl.Options{
			Kernels: []string{"gaussian:all:1"}, Lambda: 1e-2, Loss: loss, IntervalFolds: folds,
		})
	}
	two, one, none, squares := fit("quantile:.1,.9", 4), fit("quantile:.1", 4), fit("quantile:.1,.9", 0), fit("", 4)
	for _, c := range []struct {
		m    *iokl.Model
		opt  iokl.IntervalOptions
		says string
	}{
		{one, iokl.IntervalOptions{}, "between two quantiles"},
		{none, iokl.IntervalOptions{Level: 0.99}, "too few"},
		{two, iokl.IntervalOptions{Method: "cv+"}, "have conformal"},
		{two, iokl.IntervalOptions{Level: 0.99}, "too few"},
		{squares, iokl.IntervalOptions{Method: "conformal"}, "have held-out | cv+ | jackknife+"},
	} {
		_, err := c.m.PredictInterval(t.Context(), X, c.opt)
		if !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.opt, err, c.says)
		}
	}
}

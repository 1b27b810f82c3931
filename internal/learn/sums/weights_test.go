package sums_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/stream"
)

// weightedRows is X and Y as streamed data with weights of the rows.
func weightedRows(X, Y *mat.Dense, weights []float64) stream.Rows {
	return stream.Rows{
		Inputs: X.RawMatrix().Cols, Outputs: Y.RawMatrix().Cols, Name: "weighted",
		Open: func() (stream.Source, error) {
			return stream.FromMatrices("weighted", blas.Raw(X), blas.Raw(Y), weights...), nil
		},
	}
}

// Rows of a stream with weights 0, 1, 2 and 3 are as many copies: in predictions, objectives, held-out errors and where
// Γ is not kept, also where targets are missing. λ·l is the same.
func TestStreamWeights(t *testing.T) {
	const l = 400
	X, Y := learntest.Wave(l, 71)
	Xt, _ := learntest.Wave(40, 72)
	weights, groups := make([]float64, l), make([]int, l)
	var rows, copied []int
	present := 0
	for i := range l {
		w := i * 7 % 4
		weights[i], groups[i] = float64(w), i/4%3 // folds of one mean weight
		if w == 0 {
			Y.Set(i, 1, 1e200) // no number of the row is to be seen
		}
		present += min(w, 1)
		for range w {
			rows, copied = append(rows, i), append(copied, groups[i])
		}
	}
	for _, holes := range []bool{false, true} {
		if holes {
			for i := 0; i < l; i += 5 {
				Y.Set(i, 0, math.NaN())
			}
		}
		weighted := weightedRows(X, Y, weights)
		copies := weightedRows(blas.Dense(blas.TakeRows(blas.Raw(X), rows)), blas.Dense(blas.TakeRows(blas.Raw(Y),
			rows)), nil)
		fit := func(data stream.Rows, opt iokl.Options, samples int) *iokl.Model {
			t.Helper()
			opt.Lambda = 0.4 / float64(samples)
			m, err := iokl.FitStream(bg, data, opt)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		opt := iokl.Options{
			Kernels: []string{"rff:gaussian:all:0.7:60", "linear:all"}, Tol: 1e-9, Seed: 4, Learn: "none",
		}
		a, b := fit(weighted, opt, present), fit(copies, opt, len(rows))
		if e := maxDifference(t, a, b, Xt); !(e <= 1e-9) {
			t.Errorf("missing %v: predictions differ by %.2g", holes, e)
		}
		if !holes {
			opt.MaxBytes, opt.Tol = 1, 1e-8
			if e := maxDifference(t, fit(weighted, opt, present), b, Xt); !(e <= 1e-3) {
				t.Errorf("without Γ predictions differ by %.2g", e)
			}
			opt.MaxBytes, opt.Tol = 0, 1e-9
		}
		opt.Learn = ""
		x, y := fit(weighted, opt, present).Certificate().Objective, fit(copies, opt, len(rows)).Certificate().Objective
		if x, y = x*float64(present), y*float64(len(rows)); !(math.Abs(x-y) <= 1e-9*y) {
			t.Errorf("missing %v: objectives %.12g and %.12g", holes, x, y)
		}
		held := func(data stream.Rows, groups []int, samples int) []float64 {
			o := opt
			o.Lambda = 0
			o.CV = iokl.CVOptions{Folds: 3, Groups: groups, Metric: "mse", Tol: 1e-9}
			o.CV.Lambdas = []float64{0.4 / float64(samples)}
			r, err := iokl.Compare(bg, iokl.Data{Rows: &data}, o).Result()
			if err != nil {
				t.Fatal(err)
			}
			return slices.Sorted(slices.Values(r.Points[0].Folds))
		}
		got := held(weighted, groups, present)
		for k, want := range held(copies, copied, len(copied)) {
			if !(math.Abs(got[k]-want) <= 1e-6*want) {
				t.Errorf("missing %v: held-out errors %v, the %d-th is %g with copies", holes, got, k+1, want)
			}
		}
	}
}

// Of the rows that kernels are chosen on, those of weight 0 are not learned from.
func TestStreamWeightsChoose(t *testing.T) {
	X, Y := learntest.Hidden(300, 4)
	weights := slices.Repeat([]float64{1}, 300)
	for i := 0; i < 300; i += 3 {
		weights[i] = 0
		Y.Set(i, 0, 50*math.Cos(float64(i)))
	}
	m, err := iokl.FitStream(bg, weightedRows(X, Y, weights), iokl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	Xt, Yt := learntest.Hidden(200, 5)
	if s, err := m.Score(Xt, Yt); err != nil || !(s.RRMSE[0] < 0.9) {
		t.Errorf("relative errors %.3v, %v", s.RRMSE, err)
	}
}

func TestStreamBadWeights(t *testing.T) {
	X, Y := learntest.Wave(100, 40)
	with := func(w float64) []float64 {
		weights := slices.Repeat([]float64{1}, 100)
		weights[17] = w
		return weights
	}
	for want, c := range map[string]struct {
		weights []float64
		opt     iokl.Options
	}{
		"row 17: bad row: its weight is -1": {with(-1), streamed},
		"its weight is NaN":                 {with(math.NaN()), streamed},
		"all weights are 0":                 {make([]float64, 100), streamed},
		"weights of all rows or of cells": {nil, iokl.Options{
			Kernels: streamed.Kernels, Lambda: 1, Weights: mat.NewDense(100, 1, nil),
		}},
		"noise and losses": {nil, iokl.Options{Kernels: streamed.Kernels, Lambda: 1, Loss: "huber"}},
	} {
		m, err := iokl.FitStream(bg, weightedRows(X, Y, c.weights), c.opt)
		if m != nil || !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

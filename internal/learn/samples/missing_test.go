package samples_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// With half of the cells hidden, coupled outputs are learned with errors at least 40 %
// below those of ridge regression of each output on the rows in which it is observed.
func TestMissingBeatsRidge(t *testing.T) {
	X, Y := learntest.Coupled(160, 1)
	Z, _ := learntest.Hide(Y, 0.5, 1)
	opt := iokl.Options{Kernels: []string{"gaussian:all:median*0.3,1"}, Norm: "lp:1", CV: iokl.CVOptions{Folds: 4}}
	m, err := iokl.Fit(t.Context(), X, Z, opt)
	if err != nil {
		t.Fatal(err)
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	for j := range 3 {
		var rows []int
		for i := range 160 {
			if !math.IsNaN(Z.At(i, j)) {
				rows = append(rows, i)
			}
		}
		x, y := mat.NewDense(len(rows), 3, nil), mat.NewDense(len(rows), 1, nil)
		for k, i := range rows {
			x.SetRow(k, X.RawRowView(i))
			y.Set(k, 0, Z.At(i, j))
		}
		ridge := opt
		ridge.Learn = "eta"
		one, err := iokl.Fit(t.Context(), x, y, ridge)
		if err != nil {
			t.Fatal(err)
		}
		f, err := one.Predict(X)
		if err != nil {
			t.Fatal(err)
		}
		alone := mat.NewDense(160, 3, nil)
		alone.SetCol(j, mat.Col(nil, 0, f))
		together, apart := learntest.HiddenError(F, Y, Z, j), learntest.HiddenError(alone, Y, Z, j)
		t.Logf("output %d: mean squared error %.4f together, %.4f apart", j, together, apart)
		if !(together <= 0.6*apart) {
			t.Errorf("output %d: mean squared error %.4f on hidden cells, %.4f by ridge regression", j, together, apart)
		}
	}
}

// What is missing is counted and said: rows and targets without an observed cell, constant targets.
func TestMissingTargets(t *testing.T) {
	const l = 60
	X, Y3 := learntest.Coupled(l, 2)
	Y := mat.NewDense(l, 5, nil)
	Y.Augment(Y3, mat.NewDense(l, 2, nil))
	missing := 0
	for i := range l {
		for j := range 5 {
			switch {
			case i%10 == 3, j == 1 && i%2 == 0, j == 3 && i != 7, j == 4:
				Y.Set(i, j, math.NaN())
				missing++
			}
		}
	}
	Y.Set(7, 3, 2.5)
	m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{
		Lambda: 1e-3, Kernels: []string{"gaussian:all:median"},
		OutputNames: []string{"a", "b", "c", "single", "empty"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Certificate(); c.ObservedCells != 5*l-missing || c.Samples != l-6 {
		t.Errorf("%d observed cells, want %d; %d samples, want %d", c.ObservedCells, 5*l-missing, c.Samples, l-6)
	}
	told := strings.Join(m.Warnings(), "\n")
	for _, want := range []string{
		"target cells are missing", "target column empty without any observed cell",
		"left out 6 of 60 rows", "constant",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	if F.At(5, 3) != 2.5 || F.At(5, 4) != 0 || !slices.Equal(m.LearnedOutputs(), []string{"a", "b", "c"}) {
		t.Errorf("a target observed once is predicted as %g, one never observed as %g; learned are %v", F.At(5, 3),
			F.At(5, 4), m.LearnedOutputs())
	}
	var file bytes.Buffer
	if err := m.Encode(&file); err != nil {
		t.Fatal(err)
	}
	for name, Y := range map[string]*mat.Dense{
		"nothing": mat.NewDense(l, 1, slices.Repeat([]float64{math.NaN()}, l)),
		"one row": mat.NewDense(l, 2, append([]float64{1, 2}, slices.Repeat([]float64{math.NaN()}, 2*l-2)...)),
	} {
		if _, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Lambda: 1}); !errors.Is(err, iokl.ErrInput) {
			t.Errorf("%s observed: %v", name, err)
		}
	}
}

// Explicit features, Gram matrices of the library and Gram matrices of the caller give the same fit.
func TestMissingSpaces(t *testing.T) {
	const l = 50
	X, Y := learntest.Wave(l, 3)
	Z, _ := learntest.Hide(mat.DenseCopyOf(Y), 0.3, 3)
	opt := iokl.Options{Lambda: 1e-2, Standardize: "none", Tol: 1e-9}
	opt.Kernels = []string{"linear:0-1", "linear:2-3"}
	features, err := iokl.Fit(t.Context(), X, Z, opt)
	if err != nil {
		t.Fatal(err)
	}
	var grams []mat.Matrix
	for k := range 2 {
		var K mat.Dense
		part := X.Slice(0, l, 2*k, 2*k+2)
		K.Mul(part, part.T())
		grams = append(grams, &K)
	}
	given, err := iokl.FitGram(t.Context(), grams, Z, opt)
	if err != nil {
		t.Fatal(err)
	}
	a, b := features.Certificate().Objective, given.Certificate().Objective
	if !(math.Abs(a-b) <= 1e-7*a) {
		t.Errorf("objective %.10g with features, %.10g with Gram matrices", a, b)
	}
	F, err := features.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	G, err := given.PredictGram(grams)
	if err != nil {
		t.Fatal(err)
	}
	var diff mat.Dense
	if diff.Sub(F, G); !(mat.Norm(&diff, 2) <= 1e-3*mat.Norm(G, 2)) {
		t.Errorf("predictions differ by %g of %g", mat.Norm(&diff, 2), mat.Norm(G, 2))
	}
}

// Nothing given, everything is chosen on hidden cells.
func TestMissingChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("a choice of everything")
	}
	X, Y := learntest.Coupled(120, 4)
	Z, _ := learntest.Hide(Y, 0.3, 4)
	m, err := iokl.Fit(t.Context(), X, Z, iokl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	for j := range 3 {
		if mse := learntest.HiddenError(F, Y, Z, j); !(mse <= 0.25*mat.Dot(Y.ColView(j), Y.ColView(j))/120) {
			t.Errorf("output %d: mean squared error %.3f on hidden cells", j, mse)
		}
	}
	t.Log(m, m.Warnings())
}

func TestMissingLabels(t *testing.T) {
	X, Y := learntest.Coupled(90, 5)
	labels := make([]string, 90)
	for i := range labels {
		labels[i] = map[bool]string{true: "up", false: "down"}[Y.At(i, 0) > 0]
		if i%5 == 0 {
			labels[i] = ""
		}
	}
	m, err := iokl.FitClasses(t.Context(), X, labels, iokl.Options{
		Kernels: []string{"gaussian:all:median*0.3"},
		CV:      iokl.CVOptions{Metric: "accuracy", Folds: 3, Lambdas: []float64{1e-2, 1e-3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Classes(), []string{"down", "up"}) || m.Certificate().Samples != 72 {
		t.Errorf("classes %v of %d samples", m.Classes(), m.Certificate().Samples)
	}
	opt := iokl.Options{CV: iokl.CVOptions{Metric: "accuracy", Hide: "cells"}}
	if _, err := iokl.FitClasses(t.Context(), X, labels, opt); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("hidden cells of classes: %v", err)
	}
}

// Missing cells do not count in scores.
func TestMissingScores(t *testing.T) {
	nan := math.NaN()
	F := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	s := iokl.NewScores(F, mat.NewDense(3, 2, []float64{2, nan, 3, nan, nan, nan}), nil)
	if s.MSE[0] != 0.5 || !math.IsNaN(s.MSE[1]) || s.MeanMSE != 0.5 || s.ARRMSE != s.RRMSE[0] ||
		!(math.Abs(s.RRMSE[0]-math.Sqrt2) < 1e-12) {
		t.Errorf("%+v", s)
	}
}

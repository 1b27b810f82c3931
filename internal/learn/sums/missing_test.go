package sums_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"

	"github.com/iokl/iokl/internal/learn/learntest"
)

// lacking is a copy of Y whose rows lack the first or the second target, or none, or, where empty says so, all.
func lacking(Y *mat.Dense, empty bool) *mat.Dense {
	Z := mat.DenseCopyOf(Y)
	l, n := Z.Dims()
	for i := range l {
		switch i % 7 {
		case 1, 4:
			Z.Set(i, 0, math.NaN())
		case 2:
			Z.Set(i, 1, math.NaN())
		case 6:
			for j := 0; empty && j < n; j++ {
				Z.Set(i, j, math.NaN())
			}
		}
	}
	return Z
}

// Sums apart for each pattern of missing targets give the model of the rows in memory.
func TestStreamMissing(t *testing.T) {
	X, Y := learntest.Wave(400, 40)
	Z := lacking(Y, false) // rows without targets have a say in scales and widths of streams alone
	for _, standardize := range []iokl.Scaling{iokl.ScaleBoth, iokl.ScaleNone} {
		opt := streamed
		opt.Tol = 1e-7
		opt.Standardize = standardize
		want, err := iokl.Fit(bg, X, Z, opt)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := blocksOf(X, Z, 0)
		got, err := iokl.FitStream(bg, data, opt)
		if err != nil {
			t.Fatal(err)
		}
		a, b := got.Certificate(), want.Certificate()
		if !(math.Abs(a.Objective-b.Objective) <= 2*opt.Tol*b.Objective) || !(a.RelativeGap <= opt.Tol) ||
			a.ObservedCells != b.ObservedCells {
			t.Errorf("%s: objective %.12g, gap %g, %d cells; in memory %.12g, %d", standardize, a.Objective,
				a.RelativeGap, a.ObservedCells, b.Objective, b.ObservedCells)
		}
		if d := maxDifference(t, got, want, X); !(d <= 1e-2) {
			t.Errorf("%s: predictions differ by %g", standardize, d)
		}
		if text := strings.Join(got.Warnings(), "; "); !strings.Contains(text, "target cells are missing") {
			t.Errorf("warnings: %s", text)
		}
	}
}

// The error on a fold is that of a model of the other rows on the targets that are observed.
func TestStreamMissingFolds(t *testing.T) {
	X, Y := learntest.Wave(300, 41)
	Z := lacking(Y, true)
	opt := iokl.Options{Kernels: []string{"linear:all"}, Standardize: "none", Tol: 1e-9, Norm: "lp:1", Learn: "eta,l"}
	opt.CV = iokl.CVOptions{Folds: 2, Lambdas: []float64{1e-2}, Metric: "mse", Groups: make([]int, 300), Tol: 1e-9}
	var part [2][]int
	for i := range opt.CV.Groups {
		opt.CV.Groups[i] = i / 10 % 2
		part[i/10%2] = append(part[i/10%2], i)
	}
	data, _ := blocksOf(X, Z, 0)
	cv, err := iokl.Compare(bg, iokl.Data{Rows: &data}, opt).Result()
	if err != nil {
		t.Fatal(err)
	}
	rows := func(A *mat.Dense, idx []int) *mat.Dense {
		return mat.DenseCopyOf(blas.Dense(blas.TakeRows(blas.Raw(A), idx)))
	}
	mean := 0.0
	for f := range part {
		own := opt
		own.Lambda, own.CV = 1e-2, iokl.CVOptions{}
		m, err := iokl.Fit(bg, rows(X, part[1-f]), rows(Z, part[1-f]), own)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Score(rows(X, part[f]), rows(Z, part[f]))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.MSE {
			mean += v / float64(2*len(s.MSE))
		}
	}
	if got := cv.Chosen().Mean; !(math.Abs(got-mean) <= 1e-5*mean) {
		t.Errorf("error %.9g on the folds, by models of the rows %.9g", got, mean)
	}
	if m, err := cv.Fit(bg); err != nil || m.Certificate().ObservedCells == 0 {
		t.Errorf("%v", err)
	}
}

func TestStreamMissingChoice(t *testing.T) {
	X, Y := learntest.Wave(70, 42)
	data, _ := blocksOf(X, lacking(Y, true), 0)
	m, err := iokl.FitStream(bg, data, iokl.Options{Norm: "lp:1", Learn: "eta", CV: iokl.CVOptions{Folds: 3}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(X, Y)
	if err != nil {
		t.Fatal(err)
	}
	if !(s.ARRMSE < 0.6) {
		t.Errorf("relative error %g", s.ARRMSE)
	}
}

func TestStreamMissingRefused(t *testing.T) {
	X, Y := learntest.Wave(300, 43)
	data, _ := blocksOf(X, lacking(Y, true), 0)
	strict := streamed
	strict.MissingTargets = "error"
	if _, err := iokl.FitStream(bg, data, strict); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("missing targets that are not allowed: %v", err)
	}
	late := mat.DenseCopyOf(Y)
	late.Set(200, 0, math.NaN())
	data, _ = blocksOf(X, late, 0)
	data.SurveyRows = 100
	if _, err := iokl.FitStream(bg, data, streamed); !errors.Is(err, iokl.ErrInput) ||
		!strings.Contains(err.Error(), "file.csv, row 200") {
		t.Errorf("a pattern after the survey: %v", err)
	}
	wide := mat.NewDense(300, 8, nil)
	wide.Apply(func(i, j int, _ float64) float64 {
		if i>>j&1 == 1 {
			return math.NaN()
		}
		return X.At(i, 0)
	}, wide)
	data, _ = blocksOf(X, wide, 0)
	if _, err := iokl.FitStream(bg, data, streamed); !errors.Is(err, iokl.ErrInput) ||
		!strings.Contains(err.Error(), "without --stream") {
		t.Errorf("256 patterns: %v", err)
	}
}

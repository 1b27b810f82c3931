package iokl

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/model"
)

// Linear kernels on few columns are fitted in feature space, and must give what
// their Gram matrices give.
func TestFeaturesAgreeWithGrams(t *testing.T) {
	X, Y := learntest.Wave(80, 21)
	Xt, _ := learntest.Wave(20, 22)
	opt := Options{Lambda: 1e-3, Norm: "lp:1.5", Tol: 1e-9, Standardize: "none", Kernels: []string{"linear:0-1", "linear:2-3"}}
	m, err := Fit(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.learned.Basis.(*model.Features); !ok {
		t.Fatalf("fitted as %T", m.learned.Basis)
	}
	var grams, cross []mat.Matrix
	for _, at := range []int{0, 2} {
		A, B := X.Slice(0, 80, at, at+2), Xt.Slice(0, 20, at, at+2)
		G, C := new(mat.Dense), new(mat.Dense)
		G.Mul(A, A.T())
		C.Mul(B, A.T())
		grams, cross = append(grams, G), append(cross, C)
	}
	g, err := FitGram(bg, grams, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Certificate().Objective, g.Certificate().Objective; !(math.Abs(a-b) <= 1e-7*b) {
		t.Errorf("objectives %.12g and %.12g", a, b)
	}
	P, err := m.Predict(Xt)
	if err != nil {
		t.Fatal(err)
	}
	Q, err := g.PredictGram(cross)
	if err != nil {
		t.Fatal(err)
	}
	var d mat.Dense
	d.Sub(P, Q)
	if e := mat.Norm(&d, 2) / mat.Norm(Q, 2); !(e <= 1e-4) {
		t.Errorf("predictions differ by %.2g", e)
	}
}

func TestRandomFeaturesLearn(t *testing.T) {
	X, Y := learntest.Wave(300, 23)
	Xt, Yt := learntest.Wave(100, 24)
	m, err := Fit(bg, X, Y, Options{Kernels: []string{"rff:gaussian:all:median*0.5,1:100", "linear:all"}, CV: CVOptions{Folds: 3, Norms: []string{"lp:1"}, Lambdas: []float64{1e-2, 1e-3, 1e-4}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(Xt, Yt)
	if err != nil {
		t.Fatal(err)
	}
	if !(s.RRMSE[0] < 0.3 && s.RRMSE[1] < 0.3) {
		t.Errorf("relative errors %.3v", s.RRMSE)
	}
	exact := Options{Lambda: 1, Kernels: []string{"rff:gaussian:all:median:10", "gaussian:all"}}
	if _, err := Fit(bg, X, Y, exact); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "explicit features") {
		t.Errorf("exact beside random features: %v", err)
	}
}

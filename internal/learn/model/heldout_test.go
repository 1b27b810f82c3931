package model_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// Without folds, what is held out is a row by itself: it is predicted as by a fit to the others with the same μ = λl.
func TestHeldOutRows(t *testing.T) {
	const l, n, lambda = 14, 2, 1e-2
	rng := rand.New(rand.NewPCG(36, 3))
	X, Y := mat.NewDense(l, 3, nil), mat.NewDense(l, n, nil)
	for i := range l {
		for j := range 3 {
			X.Set(i, j, rng.NormFloat64())
		}
		Y.Set(i, 0, X.At(i, 0)+.1*rng.NormFloat64())
		Y.Set(i, 1, X.At(i, 1)*X.At(i, 2))
	}
	opt := iokl.Options{
		Kernels: []string{"gaussian:all:1.5"}, Lambda: lambda, Learn: "none", Standardize: "none",
		Tol: 1e-10,
	}
	m, err := iokl.Fit(context.Background(), X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.HeldOut(context.Background())
	if err != nil || h.Folds != 0 || !mat.Equal(h.Targets, Y) {
		t.Fatalf("%v, %d folds, targets %v", err, h.Folds, mat.Formatted(h.Targets))
	}
	opt.Lambda = lambda * l / (l - 1)
	for i := range l {
		rest := func(a *mat.Dense) *mat.Dense {
			var b mat.Dense
			_, c := a.Dims()
			if i == 0 {
				b.CloneFrom(a.Slice(1, l, 0, c))
			} else if i == l-1 {
				b.CloneFrom(a.Slice(0, i, 0, c))
			} else {
				b.Stack(a.Slice(0, i, 0, c), a.Slice(i+1, l, 0, c))
			}
			return &b
		}
		one, err := iokl.Fit(context.Background(), rest(X), rest(Y), opt)
		if err != nil {
			t.Fatal(err)
		}
		F, err := one.Predict(X.Slice(i, i+1, 0, 3))
		if err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if got := h.Predictions.At(i, j); !(math.Abs(got-F.At(0, j)) <= 1e-6*(1+math.Abs(got))) {
				t.Errorf("row %d, target %d: %g, a fit to the others predicts %g", i, j, got, F.At(0, j))
			}
		}
	}
}

// With folds, every row is held out once, and predicted worse than by the model of all.
func TestHeldOutFolds(t *testing.T) {
	const l = 30
	rng := rand.New(rand.NewPCG(36, 4))
	X, Y := mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil)
	sum := 0.0
	for i := range l {
		X.Set(i, 0, rng.NormFloat64())
		Y.Set(i, 0, math.Sin(X.At(i, 0))+.3*rng.NormFloat64())
		sum += Y.At(i, 0)
	}
	m, err := iokl.Fit(context.Background(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3,
		IntervalFolds: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.HeldOut(context.Background())
	if err != nil || h.Folds != 5 || h.Targets.RawMatrix().Rows != l || math.Abs(mat.Sum(h.Targets)-sum) > 1e-12*l {
		t.Fatalf("%v %+v", err, h)
	}
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	if own, out := iokl.NewScores(F, Y, nil).RMSE[0], iokl.NewScores(h.Predictions, h.Targets,
		nil).RMSE[0]; !(own < out && out < 2) {
		t.Errorf("error %g on its own rows, %g on those held out", own, out)
	}
}

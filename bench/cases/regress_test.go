package cases

import (
	"math"
	"testing"

	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

// linearData has Y = X·w exactly, with the second of three inputs unused.
func linearData(rows int) (X, Y blas.General) {
	rng := quickEnv().Rand(4)
	X, Y = blas.NewGeneral(rows, 3), blas.NewGeneral(rows, 1)
	for i := range rows {
		x := blas.Row(X, i)
		for k := range x {
			x[k] = rng.NormFloat64()
		}
		Y.Data[i] = 5 + 2*x[0] - 3*x[2]
	}
	return X, Y
}

func TestLeastSquares(t *testing.T) {
	X, Y := linearData(30)
	P, err := leastSquares(X, Y, X)
	if err != nil || !(r2(P, Y) > 1-1e-12) {
		t.Errorf("R² %g, %v", r2(P, Y), err)
	}
}

func TestCrossValidate(t *testing.T) {
	X, Y := linearData(40)
	env := quickEnv()
	mean, err := crossValidate(env, X, Y, meanOf)
	if err != nil || math.Abs(mean-1) > 1e-9 {
		t.Errorf("the training mean scores %g, %v", mean, err)
	}
	exact, err := crossValidate(env, X, Y, leastSquares)
	if err != nil || !(exact < 1e-3) {
		t.Errorf("least squares of a linear function scores %g, %v", exact, err)
	}
}

// r2 is 1 − ‖Y − P‖²/‖Y − Ȳ‖².
func r2(P, Y blas.General) float64 {
	mean := data.Means(Y)
	var miss, total float64
	for i := range Y.Rows {
		p := blas.Row(P, i)
		for j, y := range blas.Row(Y, i) {
			miss += (y - p[j]) * (y - p[j])
			total += (y - mean[j]) * (y - mean[j])
		}
	}
	return 1 - miss/total
}

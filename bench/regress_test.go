package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// linearData has Y = X·w exactly, with the second of three inputs unused.
func linearData(rows int) (X, Y blas.General) {
	rng := quickEnv().rng(4)
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

func TestAffine(t *testing.T) {
	X, Y := linearData(30)
	P, err := affine(quickEnv(), X, Y, X, 0)
	if err != nil || !(r2(P, Y) > 1-1e-12) {
		t.Errorf("R² %g, %v", r2(P, Y), err)
	}
}

// TestLasso checks the optimality conditions through predictions: at c = 1 all
// coefficients vanish, and at a small c the fit is nearly exact.
func TestLasso(t *testing.T) {
	X, Y := linearData(60)
	y := columnOf(Y, 0, nil)
	mean := stat.Mean(y, nil)
	for _, v := range lasso(X, y, X, 1) {
		if math.Abs(v-mean) > 1e-9 {
			t.Fatalf("predicts %g at the largest λ, the mean is %g", v, mean)
		}
	}
	P := blas.Vector(lasso(X, y, X, 1e-4))
	if !(r2(P, Y) > 0.9999) {
		t.Errorf("R² %g at a small λ", r2(P, Y))
	}
}

func TestFillMissing(t *testing.T) {
	X := blas.General{Rows: 3, Cols: 2, Stride: 2, Data: []float64{1, math.NaN(), math.NaN(), math.NaN(), 3, math.NaN()}}
	fillMissing(X)
	if want := []float64{1, 0, 2, 0, 3, 0}; !slices.Equal(X.Data, want) {
		t.Errorf("%v, want %v", X.Data, want)
	}
}

func TestCrossValidate(t *testing.T) {
	X, Y := linearData(40)
	env := quickEnv()
	mean, err := crossValidate(context.Background(), env, X, Y, meanOf)
	if err != nil || math.Abs(mean.Metrics["arrmse"]-1) > 1e-9 {
		t.Errorf("the training mean scores %g, %v", mean.Metrics["arrmse"], err)
	}
	exact, err := crossValidate(context.Background(), env, X, Y, func(_ context.Context, X, Y, Xt blas.General) (blas.General, error) {
		return tuned(X, Y, Xt, func(X, Y, Xt blas.General, lambda float64) (blas.General, error) {
			return affine(env, X, Y, Xt, lambda)
		})
	})
	if err != nil || !(exact.Metrics["arrmse"] < 1e-3) {
		t.Errorf("ridge regression of a linear function scores %g, %v", exact.Metrics["arrmse"], err)
	}
}

// TestRidgeVAR finds the drivers of a linear system.
func TestRidgeVAR(t *testing.T) {
	g := granger.LinearVAR(6, 400, 1, 1, 1, 3)
	graph, err := ridgeVAR(quickEnv(), &g.Data, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s := granger.Score(graph, g.Truth); !(s.AUROC > 0.95) {
		t.Errorf("AUROC %g", s.AUROC)
	}
}

// TestReplicates checks that no window crosses from one replicate to the next.
func TestReplicates(t *testing.T) {
	d := granger.Data{X: blas.General{Rows: 5, Cols: 1, Stride: 1, Data: []float64{1, 2, 3, 10, 11}}, Replicate: []int{0, 0, 0, 1, 1}}
	X, Y := pastAndPresent(&d, 1)
	if !slices.Equal(X.Data, []float64{1, 2, 10}) || !slices.Equal(Y.Data, []float64{2, 3, 11}) {
		t.Errorf("past %v, present %v", X.Data, Y.Data)
	}
}

// TestGenerator checks that what a pass sees depends on the seed alone.
func TestGenerator(t *testing.T) {
	env := quickEnv()
	X1, Y1, err := drain(newGenerator(env, 5000, 1))
	if err != nil || X1.Rows != 5000 {
		t.Fatal(X1.Rows, err)
	}
	X2, Y2, err := drain(newGenerator(env, 5000, 1))
	if err != nil || !slices.Equal(X1.Data, X2.Data) || !slices.Equal(Y1.Data, Y2.Data) {
		t.Errorf("two generators of one seed differ: %v", err)
	}
}

func TestAbsentDataIsSkipped(t *testing.T) {
	env := quickEnv()
	env.Data = t.TempDir()
	for _, name := range []string{"leaves", "mfeat", "stock04", "dream3", "drosophila"} {
		c, err := Select([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c[0].Run(context.Background(), env); !errors.Is(err, ErrSkipped) {
			t.Errorf("%s without its data: %v", name, err)
		}
	}
}

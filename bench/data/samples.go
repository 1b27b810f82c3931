// This file makes samples from a seed, and takes, scales and scores samples.

package data

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

// Standardise gives the columns of train mean 0 and variance 1, constant ones
// 0, and changes those of test, which may be empty, alike.
func Standardise(train, test blas.General) {
	for j := range train.Cols {
		mean, variance := stat.PopMeanVariance(mat.Col(nil, j, blas.Dense(train)), nil)
		scale := 0.0
		if variance > 0 {
			scale = 1 / math.Sqrt(variance)
		}
		for _, a := range []blas.General{train, test} {
			for i := range a.Rows {
				p := &blas.Row(a, i)[j]
				*p = (*p - mean) * scale
			}
		}
	}
}

// Means are the means of the columns.
func Means(a blas.General) []float64 {
	mean := make([]float64, a.Cols)
	for j := range mean {
		mean[j] = stat.Mean(mat.Col(nil, j, blas.Dense(a)), nil)
	}
	return mean
}

// Take are the elements of x with the numbers of idx.
func Take[T any](x []T, idx []int) []T {
	out := make([]T, len(idx))
	for k, i := range idx {
		out[k] = x[i]
	}
	return out
}

// OneHot are the indicators of the classes, which count from 0.
func OneHot(labels []int) blas.General {
	Y := blas.NewGeneral(len(labels), slices.Max(labels)+1)
	for i, k := range labels {
		blas.Row(Y, i)[k] = 1
	}
	return Y
}

// Normal has standard normal elements.
func Normal(rng *rand.Rand, rows, cols int) blas.General {
	a := blas.NewGeneral(rows, cols)
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}

// RandomSymmetric is a symmetric matrix of standard normal elements.
func RandomSymmetric(env *bench.Env, n int) blas.General {
	rng := env.Rand(uint64(n))
	A := blas.NewGeneral(n, n)
	for i := range n {
		for j := range i + 1 {
			v := rng.NormFloat64()
			A.Data[i*n+j], A.Data[j*n+i] = v, v
		}
	}
	return A
}

// FitPredict is the estimator of the module's root package.
func FitPredict(ctx context.Context, X, Y, Xt blas.General, opt iokl.Options) (blas.General, error) {
	m, err := iokl.Fit(ctx, blas.Dense(X), blas.Dense(Y), opt)
	if err != nil && !(m != nil && errors.Is(err, bcd.ErrNotConverged)) {
		return blas.General{}, err
	}
	var P *mat.Dense
	if P, err = m.Predict(blas.Dense(Xt)); err != nil {
		return blas.General{}, err
	}
	return P.RawMatrix(), nil
}

package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
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

// Ints are the numbers of x, which are whole.
func Ints(x []float64) []int {
	out := make([]int, len(x))
	for i, v := range x {
		out[i] = int(v)
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

// Score is the root of the mean squared error of the predictions F of Y in some of the cells, and, unless D is empty,
// the mean negative logarithm of the density of normal distributions of the deviations D there.
func Score(F, D, Y blas.General, of func(i, k int) bool) (rmse, density float64) {
	count := 0.0
	for i := range Y.Rows {
		for k, y := range blas.Row(Y, i) {
			if !of(i, k) {
				continue
			}
			e := blas.Row(F, i)[k] - y
			count, rmse = count+1, rmse+e*e
			if D.Data != nil {
				d := blas.Row(D, i)[k]
				density += e*e/(2*d*d) + math.Log(d*math.Sqrt(2*math.Pi))
			}
		}
	}
	return math.Sqrt(rmse / count), density / count
}

// Fit is iokl.Fit with this run's backend and seed. A model that stopped before its test held is one too.
func Fit(ctx context.Context, env *bench.Env, X, Y blas.General, opt iokl.Options) (*iokl.Model, error) {
	opt.Seed, opt.Backend = env.Seed, env.Backend
	m, err := iokl.Fit(ctx, blas.Dense(X), blas.Dense(Y), opt)
	if m != nil && errors.Is(err, bcd.ErrNotConverged) {
		err = nil
	}
	return m, err
}

// FitPredict is what such a fit predicts at the rows of Xt.
func FitPredict(ctx context.Context, env *bench.Env, X, Y, Xt blas.General, opt iokl.Options) (blas.General, error) {
	m, err := Fit(ctx, env, X, Y, opt)
	if err != nil {
		return blas.General{}, err
	}
	P, err := m.Predict(blas.Dense(Xt))
	if err != nil {
		return blas.General{}, err
	}
	return P.RawMatrix(), nil
}

// OutputKernel is an n×n L of trace n with the named spectrum and random eigenvectors.
func OutputKernel(env *bench.Env, n int, spectrum string) *linop.Spectral {
	rank := n
	value := func(j int) float64 { return math.Pow(0.9, float64(j)) } // decaying
	switch spectrum {
	case "identity":
		value = func(int) float64 { return 1 }
	case "full":
		value = func(j int) float64 { return 1 + float64(rank-j)/float64(rank) }
	case "rank 5":
		rank = min(5, n)
	}
	L := &linop.Spectral{V: Normal(env.Rand(uint64(n)), n, rank), S: make([]float64, rank)}
	env.Backend.QR(L.V, blas.General{})
	var trace float64
	for j := range L.S {
		L.S[j] = value(j)
		trace += L.S[j]
	}
	blas.Scal(float64(n)/trace, L.S)
	return L
}

// GaussianGram multiplies by the Gram matrix exp(−γ‖x−z‖²), γ = 0.05, of l samples of
// ten standard normal inputs.
func GaussianGram(ctx context.Context, env *bench.Env, l int) (*linop.GramSum, error) {
	X := Normal(env.Rand(uint64(l)), l, 10)
	d, err := kernel.Build([]string{fmt.Sprintf("gaussian:all:%v", math.Sqrt(1/(2*0.05)))}, X, nil, env.Seed)
	if err != nil {
		return nil, err
	}
	grams, err := d.Grams(ctx, X, kernel.GramOptions{Backend: env.Backend})
	if err != nil {
		return nil, err
	}
	K := linop.NewGramSum(grams, env.Backend, blas.Float64)
	K.SetWeights([]float64{1})
	return K, nil
}

// Targets are smooth functions of the samples with noise: Y = K·A + 0.1·noise.
func Targets(env *bench.Env, K linop.Operator, n int) blas.General {
	rng := env.Rand(uint64(7*K.Dim() + n))
	A, Y := Normal(rng, K.Dim(), n), blas.NewGeneral(K.Dim(), n)
	K.Apply(Y, A)
	scale := math.Sqrt(float64(len(Y.Data))) / blas.Frob(Y)
	for i := range Y.Data {
		Y.Data[i] = Y.Data[i]*scale + 0.1*rng.NormFloat64()
	}
	return Y
}

// This file makes the matrices of linear systems K·C·L + λl·C = Y from a seed.

package data

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

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

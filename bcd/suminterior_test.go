package bcd

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// Sums are solved on random small tables: few rows for their outputs, kernels of low rank and small λ, where
// the product model resembles the system little.
func TestSumSmallTables(t *testing.T) {
	tables := uint64(60)
	if testing.Short() {
		tables = 20
	}
	for seed := range tables {
		rng := newRand(9000 + seed)
		l, n, m := 5+rng.IntN(20), 1+rng.IntN(7), 1+rng.IntN(5)
		p := &Problem{
			Lambda: math.Pow(10, -9+8.5*rng.Float64()), Tau: 0.5 + 3*rng.Float64(),
			Norm: regularizer.Lp{P: []float64{1, 1.3, 1.9, 2}[seed%4]}, Model: Sum,
		}
		var terms []*blas.Sym
		for range m {
			terms = append(terms, blas.SymFrom(psd(rng, l, 1+rng.IntN(l), 1+4*rng.Float64()), blas.Float64))
		}
		Y := randn(rng, l, n)
		if seed%5 == 1 {
			Y = withHoles(Y, 0.3, seed)
		}
		p.Space = NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y)
		res, err := Solve(t.Context(), p, Options{Tol: 1e-5})
		if err != nil || !(res.RelativeGap <= 1e-5) {
			t.Errorf("seed %d: %d×%d, %d kernels, %s, λ = %.2g: %v", seed, l, n, m, p.Norm, p.Lambda, err)
		}
	}
}

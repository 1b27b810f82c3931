package linop_test

import (
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Single follows the weights and differs from the sum by single-precision rounding.
func TestSingle(t *testing.T) {
	const l = 70
	terms := make([]*blas.Sym, 2)
	for j := range terms {
		a := blas.NewGeneral(l, l)
		for i := range l {
			for k := range l {
				a.Data[i*l+k] = 1 / float64(1+j+(i-k)*(i-k))
			}
		}
		terms[j] = blas.SymFrom(a, blas.Float64)
	}
	sum := linop.NewGramSum(terms, nil, blas.Float64)
	x, y, z := blas.NewGeneral(l, 3), blas.NewGeneral(l, 3), blas.NewGeneral(l, 3)
	for i := range x.Data {
		x.Data[i] = float64(i%7) - 3
	}
	for _, eta := range [][]float64{{1, 0}, {0.3, 2}} {
		sum.SetWeights(eta)
		sum.Apply(y, x)
		sum.Single().Apply(z, x)
		blas.AddScaled(z, -1, y)
		if d := blas.Frob(z) / blas.Frob(y); !(d < 1e-5) || d == 0 {
			t.Errorf("weights %v: relative difference %g", eta, d)
		}
	}
}

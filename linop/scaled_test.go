package linop_test

import (
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

// D·A_η·D passes the suite of sums for both kinds of sums, and in single precision.
func TestScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	const l = 70
	d := make([]float64, l)
	for i := range d {
		d[i] = float64(i % 4) // a weight of 0 among them
	}
	var factors []blas.General
	var terms []*blas.Sym
	var want []blas.General
	for _, width := range []int{3, 1, 5} {
		Z, K := random(rng, l, width), blas.NewGeneral(l, l)
		blas.Mul(blas.Active(), K, false, true, Z, Z)
		factors, terms = append(factors, Z), append(terms, blas.SymFrom(K, blas.Float64))
		D := blas.Clone(K)
		blas.ScaleRows(D, d, D)
		blas.ScaleColumns(D, d)
		want = append(want, D)
	}
	grams := linop.NewScaled(linop.NewGramSum(terms, nil, blas.Float64), d)
	linoptest.RunSum(t, grams, want, linoptest.Options{})
	linoptest.RunSum(t, linop.NewScaled(linop.NewFactorSum(factors, nil), d), want, linoptest.Options{})
	grams.SetWeights([]float64{1, 0, 0})
	x, double, single := random(rng, l, 2), blas.NewGeneral(l, 2), blas.NewGeneral(l, 2)
	grams.Apply(double, x)
	grams.(linop.Mixed).Form()
	grams.(linop.Mixed).Single().Apply(single, x)
	blas.AddScaled(single, -1, double)
	if e := blas.Frob(single) / blas.Frob(double); !(e < 1e-5) || e == 0 {
		t.Errorf("single precision differs by %g", e)
	}
}

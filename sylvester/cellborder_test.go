package sylvester

import (
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// With cells that come, go and change their weight, the border solves what a new factor would, while few do.
func TestCellBorder(t *testing.T) {
	const l, n, mu = 30, 6, 1e-2
	rng, be := rand.New(rand.NewPCG(3, 8)), blas.Active()
	random := func(r, c int) blas.General {
		a := blas.NewGeneral(r, c)
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		return a
	}
	K, D, Z := blas.NewGeneral(l, l), blas.NewGeneral(n, n), random(l, 9)
	blas.Mul(be, K, false, true, Z, Z)
	Z = random(n, 3)
	blas.Mul(be, D, false, true, Z, Z)
	L, err := linop.NewSpectral(be, D, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	sys := System{K: linop.NewDense(K, be), L: L, Mu: mu}
	weight := make([]float64, l*n)
	for i := range weight {
		weight[i] = float64(rng.IntN(2))
	}
	cells := func() *linop.Cells { return linop.WeightedCells(l, n, func(i, j int) float64 { return weight[i*n+j] }) }
	factor := func() *observedFactor {
		o := new(observedFactor)
		if err := o.set(t.Context(), be, sys, cells()); err != nil {
			t.Fatal(err)
		}
		return o
	}
	base := factor()
	var b cellBorder
	for _, change := range []struct {
		count int
		serve bool
	}{{0, true}, {1, true}, {5, true}, {12, true}, {100, false}} {
		for range change.count {
			weight[rng.IntN(l*n)] = float64(rng.IntN(4)) / 2
		}
		if got := b.set(base, cells(), 1/borderShare); got != change.serve {
			t.Errorf("%d changes more: border %v", change.count, got)
		}
		if !change.serve {
			continue
		}
		anew := factor()
		x, got, want := random(l*n, 1), blas.NewGeneral(l*n, 1), blas.NewGeneral(l*n, 1)
		b.Apply(got, x)
		anew.Apply(want, x)
		blas.AddScaled(got, -1, want)
		if off := blas.Frob(got) / blas.Frob(want); !(off <= 1e-9) {
			t.Errorf("%d changes more: off by %g of the solution", change.count, off)
		}
	}
}

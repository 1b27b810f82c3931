package bcd

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Γ_η is multiplied by its active part alone, the same for every set of active
// kernels, for weights that change within a set, and for none at all.
func TestActivePartOfGamma(t *testing.T) {
	f := waves(60, 40, 0.5, 1, 2, 4, 8).Space.(*features)
	dense := blas.NewGeneral(f.Dim(), f.Dim())
	x := randn(newRand(5), f.Dim(), 3)
	want, got := blas.Like(x), blas.Like(x)
	for _, c := range []struct {
		eta   []float64
		order int // 0 for the whole Γ
	}{
		{[]float64{1, 2, 3, 4, 5}, 0},
		{[]float64{0, 2, 0, 0.5, 0}, 80},
		{[]float64{0, 1, 0, 0.7, 0}, 80},
		{[]float64{0, 1, 0, 0, 0.1}, 80},
		{[]float64{3, 0, 0, 0, 0}, 40},
		{[]float64{3, 1, 0, 2, 1}, 0},
		{[]float64{3, 1, 0, 2, 0}, 120},
	} {
		f.setWeights(c.eta)
		f.Dense(dense)
		linop.NewDense(dense, blas.Active()).Apply(want, x)
		for i := range got.Data {
			got.Data[i] = math.NaN() // not read
		}
		f.Apply(got, x)
		if e := math.Sqrt(distance2(got, want)); !(e <= 1e-12*blas.Frob(want)) {
			t.Errorf("weights %v: off by %g of %g", c.eta, e, blas.Frob(want))
		}
		order := 0
		if f.part.packed != nil {
			order = f.part.packed.Order()
		}
		if order != c.order {
			t.Errorf("weights %v: Γ of order %d multiplied, want %d", c.eta, order, c.order)
		}
	}
	f.setWeights(make([]float64, 5))
	if f.Apply(got, x); blas.Frob(got) != 0 {
		t.Errorf("without weights the product is %g", blas.Frob(got))
	}
}

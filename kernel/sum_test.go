package kernel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

var _ linop.Separate = (*kernel.Sum)(nil)

// TestSum checks the sum whose kernels are computed anew against the matrices one by one, centred ones among them.
func TestSum(t *testing.T) {
	for _, l := range []int{1, 63, 65, 300} {
		rng := rand.New(rand.NewPCG(11, uint64(l)))
		X := blas.NewGeneral(l, 3)
		for i := range X.Data {
			X.Data[i] = rng.NormFloat64()
		}
		d, err := kernel.Build([]string{
			"gaussian:all:1,2", "laplacian:0-1:1.5", "poly:2:all:1", "matern32:each:1", "linear:all",
		}, X, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		d[1].Center, d[3].Center = true, true
		grams, err := d.Grams(t.Context(), X, kernel.GramOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]blas.General, len(d))
		for j, g := range grams {
			want[j] = blas.NewGeneral(l, l)
			g.Dense(want[j])
		}
		for prec, unit := range map[blas.Precision]float64{blas.Float64: 64 * 0x1p-53, blas.Float32: 0x1p-24} {
			s, err := d.Sum(t.Context(), X, kernel.GramOptions{Precision: prec})
			if err != nil {
				t.Fatal(err)
			}
			linoptest.RunSum(t, s, want, linoptest.Options{Unit: unit, Allocates: true})
		}
	}
}

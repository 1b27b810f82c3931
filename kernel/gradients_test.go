package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// TestGradients compares with central differences of f(z) = Σ_j α_j·exp(−‖z − z_j‖²/2σ²).
func TestGradients(t *testing.T) {
	const l, d, sigma, h = 9, 3, 1.7, 1e-5
	rng := rand.New(rand.NewPCG(3, 1))
	Z, alpha, K := blas.NewGeneral(l, d), blas.NewGeneral(l, 1), blas.NewGeneral(l, l)
	for _, a := range [][]float64{Z.Data, alpha.Data} {
		for i := range a {
			a[i] = rng.NormFloat64()
		}
	}
	value := func(z []float64, j int) float64 {
		var r2 float64
		for c, v := range blas.Row(Z, j) {
			r2 += (z[c] - v) * (z[c] - v)
		}
		return math.Exp(-r2 / (2 * sigma * sigma))
	}
	f := func(z []float64) (sum float64) {
		for j := range l {
			sum += alpha.Data[j] * value(z, j)
		}
		return sum
	}
	for i := range l {
		for j := range l {
			K.Data[i*l+j] = value(blas.Row(Z, i), j)
		}
	}
	G := kernel.Gradients(blas.Active(), K, Z, alpha, sigma)
	for i := range l {
		for c := range d {
			up, down := append([]float64{}, blas.Row(Z, i)...), append([]float64{}, blas.Row(Z, i)...)
			up[c], down[c] = up[c]+h, down[c]-h
			if want := (f(up) - f(down)) / (2 * h); !(math.Abs(blas.Row(G, i)[c]-want) <= 1e-8) {
				t.Errorf("derivative %d at row %d is %g, by differences %g", c, i, blas.Row(G, i)[c], want)
			}
		}
	}
}

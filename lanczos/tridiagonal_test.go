package lanczos

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

// The pairs of a tridiagonal matrix are those of the dense one, and its vectors are orthonormal.
func TestTridiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct {
		name string
		n    int
		at   func(i int, beside bool) float64
	}{
		{"random", 60, func(int, bool) float64 { return rng.NormFloat64() }},
		{"n = 1", 1, func(int, bool) float64 { return -3 }},
		{"n = 2", 2, func(i int, beside bool) float64 { return float64(i) + 1 }},
		{"diagonal", 12, func(i int, beside bool) float64 { return map[bool]float64{false: float64(-i * i)}[beside] }},
		{"two parts", 20, func(i int, beside bool) float64 {
			if beside && i == 9 {
				return 0
			}
			return 1
		}},
		{"graded", 50, func(i int, _ bool) float64 { return math.Pow(10, -float64(i)/3) }},
		{"graded upwards", 50, func(i int, _ bool) float64 { return math.Pow(10, float64(i-50)/3) }},
		{"second difference", 64, func(_ int, beside bool) float64 {
			return map[bool]float64{true: -1, false: 2}[beside]
		}},
		{"pairs of equals", 21, func(i int, beside bool) float64 { // Wilkinson's matrix
			return map[bool]float64{true: 1, false: math.Abs(float64(i) - 10)}[beside]
		}},
		{"zero", 5, func(int, bool) float64 { return 0 }},
		{"huge", 30, func(int, bool) float64 { return 1e200 * rng.NormFloat64() }},
		{"tiny", 30, func(int, bool) float64 { return 1e-200 * rng.NormFloat64() }},
	} {
		for _, sign := range []float64{1, -1} {
			T, V := blas.NewGeneral(c.n, c.n), blas.NewGeneral(c.n, c.n)
			var scale float64
			for i := range c.n {
				T.Data[i*c.n+i] = c.at(i, false)
				if i+1 < c.n {
					v := c.at(i, true)
					T.Data[i*c.n+i+1], T.Data[(i+1)*c.n+i] = v, v
				}
			}
			for _, v := range T.Data {
				scale = max(scale, math.Abs(v))
			}
			var d tridiagonal
			if !d.decompose(T, sign, scale) {
				t.Fatalf("%s: not converged", c.name)
			}
			d.vectors(V)
			want, w := blas.Clone(T), make([]float64, c.n)
			for i := range want.Data {
				want.Data[i] *= sign
			}
			if err := blas.NewGonum().Syevd(want, w); err != nil {
				t.Fatal(err)
			}
			for j, v := range d.values {
				if !(math.Abs(v-w[j]) <= 1e-14*scale*float64(c.n)) {
					t.Errorf("%s: value %d is %g, want %g", c.name, j, v, w[j])
				}
				for i := range c.n { // T·v = ±θ·v
					sum := -sign * v * V.Data[i*c.n+j]
					for k := max(i-1, 0); k < min(i+2, c.n); k++ {
						sum += T.Data[i*c.n+k] * V.Data[k*c.n+j]
					}
					if !(math.Abs(sum) <= 1e-14*scale*float64(c.n)) {
						t.Fatalf("%s: residual %g of pair %d", c.name, sum, j)
					}
				}
				for k := range j + 1 {
					var dot float64
					for i := range c.n {
						dot += V.Data[i*c.n+j] * V.Data[i*c.n+k]
					}
					if !(math.Abs(dot-map[bool]float64{true: 1}[j == k]) <= 1e-14*float64(c.n)) {
						t.Fatalf("%s: vectors %d and %d have the inner product %g", c.name, j, k, dot)
					}
				}
			}
		}
	}
}

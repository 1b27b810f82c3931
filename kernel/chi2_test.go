package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
)

// χ² distances of data for which their fast form is right, wrong in places, and
// wrong everywhere, against the formula.
func TestChi2Distances(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	for _, c := range []struct {
		name string
		cell func(i int) float64
	}{
		{"histogram with zeros", func(int) float64 { return max(0, rng.NormFloat64()) }},
		{"alike", func(int) float64 { return 1000 + rng.Float64() }},
		{"some alike", func(i int) float64 { return 1 + float64(i%3) + 1e-6*rng.Float64() }},
		{"tiny", func(int) float64 { return 1e-40 * rng.Float64() }},
		{"tiny samples among others", func(i int) float64 { return rng.Float64() * math.Pow(10, -8*float64(i%9)) }},
		{"huge", func(int) float64 { return 1e100 * rng.Float64() }},
		{"zero", func(int) float64 { return 0 }},
	} {
		for _, d := range []int{1, 3, 40} {
			X := blas.NewGeneral(77, d)
			for i := range X.Data {
				X.Data[i] = c.cell(i / d)
			}
			copy(blas.Row(X, 70), blas.Row(X, 5)) // twins
			f := &family{metric: chiSquare, shift: make([]float64, d)}
			s, err := f.prepare(X)
			if err != nil {
				t.Fatal(err)
			}
			out := make([]float64, X.Rows*X.Rows)
			f.tile(blas.Active(), s, 0, X.Rows, s, 0, X.Rows, out)
			tol := (20 + float64(d)/8) * 0x1p-42
			for i := range X.Rows {
				for j := range X.Rows {
					var want float64
					for k, x := range blas.Row(X, i) {
						if z := blas.Row(X, j)[k]; x+z > 0 {
							want += (x - z) * (x - z) / (x + z)
						}
					}
					if got := out[i*X.Rows+j]; !(math.Abs(got-want) <= tol*want) {
						t.Fatalf("%s, %d features: distance of %d and %d is %g, want %g", c.name, d, i, j, got, want)
					}
				}
			}
		}
	}
}

package order

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	for n := 1; n < 200; n++ {
		for name, draw := range map[string]func(i int) float64{
			"random": func(int) float64 {
				return rng.Float64()
			}, "ties": func(int) float64 { return float64(rng.IntN(3)) },
			"rising": func(i int) float64 { return float64(i) }, "falling": func(i int) float64 { return float64(-i) },
			"equal": func(int) float64 { return 7 }, "pipe": func(i int) float64 { return float64(min(i, n-i)) },
		} {
			v := make([]float64, n)
			for i := range v {
				v[i] = draw(i)
			}
			want := slices.Sorted(slices.Values(v))[n/3]
			if got := Select(v, n/3); got != want {
				t.Fatalf("%s, %d numbers: %g, want %g", name, n, got, want)
			}
		}
	}
}

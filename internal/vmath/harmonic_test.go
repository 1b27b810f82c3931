package vmath

import (
	"math"
	"testing"
)

// The ends of the range of the harmonic sum, on wide and narrow strips.
func TestHarmonicRange(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for d := range 19 {
			x, zt, dst := make([]float64, d), make([]float64, d*43), make([]float64, 43)
			for _, c := range [][2]float64{
				{HarmonicMost, HarmonicMost},
				{HarmonicLeast, HarmonicMost},
				{HarmonicLeast, HarmonicLeast},
				{0.3, 7},
			} {
				for i := range x {
					x[i] = c[0]
				}
				for i := range zt {
					zt[i] = c[1]
				}
				HarmonicRow(dst, x, zt, 43)
				want := float64(d) / (c[0] + c[1])
				for j, v := range dst {
					if !(math.Abs(v-want) <= 32*0x1p-52*want) {
						t.Fatalf("%d times 1/(%g + %g), column %d: %g, want %g", d, c[0], c[1], j, v, want)
					}
				}
			}
		}
	})
}

func TestBelow(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for n := range 35 {
			x, y := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], y[i] = 2.1, 3
			}
			if Below(x, 1, y, 0.5) {
				t.Fatalf("%d elements above: said to be below", n)
			}
			for i := range x {
				x[i] = 2
				if !Below(x, 1, y, 0.5) {
					t.Fatalf("element %d of %d is not above: missed", i, n)
				}
				x[i] = 2.1
			}
		}
	})
}

package vmath

import (
	"math"
	"slices"
	"testing"
)

// The ends of the range of the harmonic sum, on wide and narrow strips.
func TestHarmonicRange(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for d := range 36 {
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

func TestSqDistBelow(t *testing.T) {
	forEachSet(t, func(t *testing.T) {
		for n := range 35 {
			g, y, want := make([]float64, n), make([]float64, n), make([]float64, n)
			reset := func() {
				for i := range g {
					g[i], y[i] = 0.9, 3 // a distance of 2.2
				}
			}
			reset()
			copy(want, g)
			SqDist(want, 1, y)
			if SqDistBelow(g, 1, y, 0.5, 0.125) {
				t.Fatalf("%d elements above: said to be below", n)
			}
			if !slices.Equal(g, want) {
				t.Fatalf("%d elements: %v, want %v", n, g, want)
			}
			for i := range g {
				reset()
				if g[i] = 0.9375; !SqDistBelow(g, 1, y, 0.5, 0.125) { // 2.125, the bound itself
					t.Fatalf("element %d of %d is not above: missed", i, n)
				}
				reset()
				if g[i] = math.NaN(); SqDistBelow(g, 1, y, 0.5, 0.125) || !math.IsNaN(g[i]) {
					t.Fatalf("element %d of %d is NaN: %v, or said to be below", i, n, g[i])
				}
			}
		}
	})
}

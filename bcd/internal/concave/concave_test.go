package concave

import (
	"math"
	"testing"
)

// The maximum is found to rounding wherever it lies, also at an end, beyond the start and at −∞ beside it.
func TestMax(t *testing.T) {
	for _, c := range []struct {
		name      string
		start, hi float64
		f         func(s float64) float64
		at        float64
	}{
		{"inside", 1, 10, func(s float64) float64 { return -(s - 3) * (s - 3) }, 3},
		{"tiny", 1, 10, func(s float64) float64 { return -(s*1e9 - 1) * (s*1e9 - 1) }, 1e-9},
		{"far", 1, 1e9, func(s float64) float64 { return math.Log(s) - s/1e6 }, 1e6},
		{"at 0", 1, 10, func(s float64) float64 { return -s }, 0},
		{"at the end", 1, 10, func(s float64) float64 { return s }, 10},
		{"kink", 1, 10, func(s float64) float64 { return -math.Abs(s - math.Pi) }, math.Pi},
		{"−∞ at the start", 8, 10, func(s float64) float64 {
			if s > 4 {
				return math.Inf(-1)
			}
			return s
		}, 4},
	} {
		at, best := Max(c.start, c.hi, c.f)
		if !(math.Abs(at-c.at) <= 1e-6*math.Max(c.at, 1e-9)) || best != c.f(at) {
			t.Errorf("%s: %g at %g, want it at %g", c.name, best, at, c.at)
		}
	}
}

// A section of few steps is within its last interval of the maximum, and never below the lower end.
func TestSection(t *testing.T) {
	at, best := Section(0, 1, 10, func(s float64) float64 { return -(s - 0.4) * (s - 0.4) })
	if !(math.Abs(at-0.4) <= math.Pow(0.62, 10)) || best != -(at-0.4)*(at-0.4) {
		t.Errorf("%g at %g", best, at)
	}
	if at, best := Section(2, 3, 5, func(s float64) float64 { return -s }); at != 2 || best != -2 {
		t.Errorf("%g at %g, want the lower end", best, at)
	}
}

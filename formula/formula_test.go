package formula

import (
	"math"
	"testing"
)

// Months at the same height of the circle have the same coordinate in every bit, and all are on the circle.
func TestTurn(t *testing.T) {
	for month := range 12 {
		cos, sin := Turn(float64(month), 12)
		if math.Abs(math.Hypot(cos, sin)-1) > 1e-11 {
			t.Errorf("month %d is at %g, %g", month, cos, sin)
		}
		if c, s := Turn(float64(24-month), 12); c != cos || s != -sin {
			t.Errorf("months %d and %d: %g and %g, %g and %g", month, 24-month, cos, c, sin, s)
		}
		if c, s := Turn(float64(6-month), 12); c != -cos || s != sin {
			t.Errorf("months %d and %d: %g and %g, %g and %g", month, 6-month, cos, c, sin, s)
		}
	}
}

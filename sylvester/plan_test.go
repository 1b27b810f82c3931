package sylvester

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// stored is an operator of an order and a precision, without elements.
type stored struct {
	linop.Operator
	order int
	prec  blas.Precision
}

func (s stored) Dim() int                  { return s.order }
func (s stored) Precision() blas.Precision { return s.prec }

// TestDirectOfSingle checks that auto factorizes no large matrix that was stored in half the memory.
func TestDirectOfSingle(t *testing.T) {
	s := newAuto(Config{Backend: blas.Default()}).(*auto)
	for _, c := range []struct {
		stored
		direct bool
	}{
		{stored{order: linop.KeepBoth, prec: blas.Float32}, true},
		{stored{order: linop.KeepBoth + 1, prec: blas.Float32}, false},
		{stored{order: linop.KeepBoth + 1, prec: blas.Float64}, true},
	} {
		best, least := s.direct(costsOf(s.be), System{K: c.stored, L: linop.ScaledIdentity(1, 1), Mu: 1}, 1, 1e-4)
		if math.IsInf(least, 1) == c.direct {
			t.Errorf("order %d in %v: %s at %g ns", c.order, c.prec, best.Name(), least)
		}
	}
}

// TestDecomposeCubes compares the two units that costs are in.
func TestDecomposeCubes(t *testing.T) {
	for l := 1000.; l <= 4000; l += 500 {
		flop := nativeCosts.plain.column[0] / 2
		got := nativeCosts.eigendecomposition(int(l), 0, false) / (l * l * l * flop)
		if got < 0.8*DecomposeCubes || got > 1.2*DecomposeCubes {
			t.Errorf("an eigendecomposition of order %g is worth %.3g·l³ flops, not %g·l³", l, got, DecomposeCubes)
		}
	}
}

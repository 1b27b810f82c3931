package bcd

import (
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// A fit of many rows with missing cells begins at weights and L of a part of them, near the best, and ends where one
// that begins at (τ/n)·I does.
func TestStartOnPart(t *testing.T) {
	const n = 12
	K, Y := wideTask(startFrom, n)
	Y = withoutTails(Y)
	fill(blas.Row(Y, 0), math.NaN())
	fit := func(L *linop.Spectral) (*Result, []float64) {
		var objectives []float64
		res, err := Solve(t.Context(), &Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: n, L: L}, Options{
			Trace: func(s Step) error {
				objectives = append(objectives, s.Objective)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res, objectives
	}
	part, near := fit(nil)
	whole, far := fit(linop.ScaledIdentity(n, 1))
	best := math.Max(part.Objective*(1-part.RelativeGap), whole.Objective*(1-whole.RelativeGap))
	if least := math.Min(part.Objective, whole.Objective); !(best <= least*(1+0x1p-40)) {
		t.Errorf("a bound from below, %g, is above an objective, %g", best, least)
	}
	// Index 1 is the first C step.
	if excess, before := near[1]/best-1, far[1]/best-1; !(excess < 0.2*before) {
		t.Errorf("the first C step exceeds the least objective by %.3g of it, by %.3g from (τ/n)·I", excess, before)
	}
}

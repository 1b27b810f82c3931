package bcd

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/regularizer"
)

// Rough steps take K_η in single precision, exact ones do not, and what is
// returned was computed in double precision wherever the run ended.
func TestSinglePrecisionSteps(t *testing.T) {
	K, Y := caltech(32, 20)
	if Y.Rows < singleFrom {
		t.Fatalf("%d samples are too few", Y.Rows)
	}
	for _, tol := range []float64{0.05, 1e-6} {
		p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 32, Norm: regularizer.Lp{P: 1.7}}
		single := 0
		res, err := Solve(context.Background(), p, Options{Tol: tol, Trace: func(s Step) error {
			if !s.single {
				return nil
			}
			single++
			if s.Residual < singleTol/10 {
				t.Errorf("tolerance %g: single precision at residual %g", tol, s.Residual)
			}
			state := s.State()
			C, L := state.X, state.L
			exact := at(t, p, s.Eta, L, C)
			if d := math.Abs(s.Objective-exact.cert.objective) / s.Objective; !(d < singleSlack/10) {
				t.Errorf("tolerance %g, iteration %d: objective off by %g", tol, s.Iter, d)
			}
			if d := math.Abs(s.RelativeGap - exact.cert.relative()); !(d < singleSlack/10) {
				t.Errorf("tolerance %g, iteration %d: gap off by %g", tol, s.Iter, d)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if single == 0 {
			t.Errorf("tolerance %g: no step in single precision", tol)
		}
		exact := at(t, p, res.Eta, res.L, res.C)
		if d := math.Abs(res.Objective-exact.cert.objective) / res.Objective; !(d < 1e-12) {
			t.Errorf("tolerance %g: the returned objective is off by %g", tol, d)
		}
	}
}

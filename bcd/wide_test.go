package bcd

import (
	"context"
	"testing"
)

// Many outputs, most of L near the boundary of S(τ): the metric of the
// quasi-Newton steps has to follow the curvature there.
func TestManyOutputsConverge(t *testing.T) {
	for _, c := range []struct {
		lambda float64
		solves int
	}{{1e-4, 24}, {1e-6, 10}} {
		K, Y := wideTask(100, 60)
		p := &Problem{Space: NewSamples(K, Y), Lambda: c.lambda, Tau: 60, Norm: Lp{1.5}}
		res, err := Solve(context.Background(), p, Options{Tol: 1e-6, Sylvester: "eigen"})
		if err != nil {
			t.Fatal(err)
		}
		if res.SylvesterSolves > c.solves {
			t.Errorf("λ = %g: %d C-solves, at most %d expected", c.lambda, res.SylvesterSolves, c.solves)
		}
	}
}

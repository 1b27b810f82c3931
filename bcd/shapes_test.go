package bcd

import (
	"context"
	"testing"

	"github.com/iokl/iokl/regularizer"
)

// TestSparseInputs asks for few C-solves to a tight certificate, and for the
// weight to lie on the three inputs that matter.
func TestSparseInputs(t *testing.T) {
	K, Y := sparse(200, 5)
	for _, lambda := range []float64{1e-2, 1e-3} {
		p := &Problem{Space: NewSamples(K, Y), Lambda: lambda, Tau: 5, Norm: regularizer.Lp{P: 1}}
		res, err := Solve(context.Background(), p, Options{Tol: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("λ = %g: %d C-solves, relative gap %.2g", lambda, res.SylvesterSolves, res.RelativeGap)
		if res.SylvesterSolves > 40 {
			t.Errorf("λ = %g: %d C-solves", lambda, res.SylvesterSolves)
		}
		var rest, sum float64
		for j, e := range res.Eta {
			sum += e
			if j >= 3*13 {
				rest += e
			}
		}
		// The smaller λ also fits some of the noise.
		if lambda == 1e-2 && !(rest <= 0.01*sum) {
			t.Errorf("%g of the weight lies on inputs without influence", rest/sum)
		}
	}
}

// TestMultipliesPerSolve compares the work of a fit with that of the joint CG of the paper at the same certificate.
func TestMultipliesPerSolve(t *testing.T) {
	K, Y := caltech(30, 10)
	perSolve := map[string]float64{}
	for _, name := range []string{"nystrom", "cg"} {
		p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 30, Norm: regularizer.Lp{P: 1.7}}
		res, err := Solve(context.Background(), p, Options{Sylvester: name, Tol: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		perSolve[name] = float64(res.KernelMultiplies) / float64(res.SylvesterSolves)
	}
	t.Logf("columns multiplied per C-solve: %v", perSolve)
	if !(perSolve["nystrom"] <= perSolve["cg"]/3) {
		t.Errorf("columns multiplied per C-solve: %v", perSolve)
	}
}

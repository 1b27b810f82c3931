package bcd

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// The start from a sketch lowers the objective at the exact C, by most of what
// an optimal L could, and stays in S(τ).
func TestSketchStart(t *testing.T) {
	K, Y := caltech(32, 20)
	for i := range Y.Rows { // so that L has something to leave out
		blas.Row(Y, i)[31] += 0.5 * blas.Row(Y, i)[0]
	}
	p := &Problem{
		Space: NewSamples(K, Y), Lambda: 1e-3, Tau: 32, Norm: regularizer.Lp{P: 1.7},
		L: linop.ScaledIdentity(32, 1),
	}
	q, err := p.check()
	if err != nil {
		t.Fatal(err)
	}
	opt, err := Options{Sylvester: "nystrom"}.defaults()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newProduct(newFit(q, opt, 0, basis{}, units{y: 1, x: 1, L: 1}))
	if err != nil {
		t.Fatal(err)
	}
	pt := f.t.start(q.Eta, q.L)
	if err := f.sketchStart(context.Background(), pt, innerFirst); err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(pt.L.Trace() - q.Tau); !(d < 1e-12*q.Tau) || pt.L.Rank() < 32 {
		t.Fatalf("L of rank %d has trace %g", pt.L.Rank(), pt.L.Trace())
	}
	value := func(L *linop.Spectral) float64 {
		return at(t, p, q.Eta, L, solveExactly(t, *p, q.Eta, L)).cert.objective
	}
	fixed := *p
	fixed.Model = Output
	best, err := Solve(context.Background(), &fixed, Options{Tol: 1e-6, Sylvester: "eigen"})
	if err != nil {
		t.Fatal(err)
	}
	begin, moved := value(p.L), value(pt.L)
	if !(moved-best.Objective < 0.5*(begin-best.Objective)) {
		t.Errorf("objective %g at the identity, %g from the sketch, %g at the best", begin, moved, best.Objective)
	}
}

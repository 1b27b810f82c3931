package bcd

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
)

// Every block of the corrected method lowers the objective, and it approaches the
// optimum slowly: the certificate says how far it is.
func TestPaperDescends(t *testing.T) {
	for _, c := range goldenJoint {
		p, _ := c.problem(t)
		last := math.Inf(1)
		res, err := Solve(context.Background(), p, Options{
			Solver: "paper", Sylvester: "eigen", Tol: 1e-6, MaxOuter: 25,
			Schedule: []Inexact{{CG: 1e-10, SDP: 300}},
			Trace: func(s Step) error {
				if !(s.Objective <= last*(1+1e-9)) {
					t.Errorf("%s: objective rose from %.12g to %.12g at iteration %d", c.name, last, s.Objective,
						s.Iter)
				}
				last = s.Objective
				return nil
			},
		})
		if err != nil && !errors.Is(err, ErrNotConverged) {
			t.Fatal(err)
		}
		if res.Objective < c.F*(1-1e-9) || res.Objective-res.GapEta-res.GapL > c.F*(1+1e-9) &&
			res.Objective > 1.05*c.F {
			t.Errorf("%s: objective %.10g, reference %.10g, gaps %g %g", c.name, res.Objective, c.F, res.GapEta,
				res.GapL)
		}
	}
}

// The OKL baseline minimises its own objective; with the weights fixed it is
// convex in (f, L), and the certificate closes.
func TestOKLConverges(t *testing.T) {
	p := convexCase(t)
	for _, rho := range []float64{0, 0.1, 1e-3} {
		var first, last, low float64
		res, err := Solve(context.Background(), p, Options{
			Solver: "okl", Sylvester: "eigen", Tol: 1e-6, Rho: rho, MaxOuter: 20000,
			Trace: func(s Step) error {
				if s.SylvesterSolves == 1 {
					first = s.Objective
				}
				last, low = s.Objective, math.Max(low, s.Objective-s.GapL)
				return nil
			},
		})
		if err != nil {
			t.Errorf("rho %g: %v", rho, err)
			continue
		}
		if !(last < first) || !(res.RelativeGap <= 1e-6) {
			t.Errorf("rho %g: objective from %g to %g, relative gap %g", rho, first, last, res.RelativeGap)
		}
		if rho == 0 {
			rho = p.Lambda // the default
		}
		z := golden(t, "convex_fixed_eta")
		K, Y := gram(z["Ks"]), z["Y"].matrix()
		K.SetWeights(res.Eta)
		CL, F, KC := blas.Like(Y), blas.Like(Y), blas.Like(Y)
		res.L.MulRight(blas.Active(), CL, res.C)
		K.Apply(F, CL)
		K.Apply(KC, res.C)
		l2 := 0.0
		for _, s := range res.L.S {
			l2 += s * s
		}
		if want := distance2(F, Y)/float64(Y.Rows) + p.Lambda*blas.Inner(KC, CL) +
			rho*l2; !(math.Abs(res.Objective-want) <= 1e-10*want) {
			t.Errorf("rho %g: objective %.12g, by its definition %.12g", rho, res.Objective, want)
		}
		if !(low <= res.Objective*(1+1e-12)) {
			t.Errorf("rho %g: a certificate claims that nothing is below %.12g, and %.12g was reached", rho, low,
				res.Objective)
		}
	}
}

// Without a schedule C is solved as exactly as the published methods' short steps
// need: with iterative solvers they get as far as with an exact one.
func TestPublishedMethodsInexactly(t *testing.T) {
	K, Y := awkward(3, 40, 2)
	for _, solver := range []string{"paper", "okl"} {
		gap := func(inner string) float64 {
			p := &Problem{Space: NewSamples(K, Y), Lambda: 0.05, Tau: 2}
			res, err := Solve(context.Background(), p, Options{Solver: solver, Sylvester: inner, MaxOuter: 300})
			if err != nil && !errors.Is(err, ErrNotConverged) {
				t.Fatal(err)
			}
			return res.RelativeGap
		}
		exact := gap("eigen")
		for _, inner := range []string{"cg", "rotated"} {
			if g := gap(inner); !(g <= 1.1*max(exact, 1e-4)) {
				t.Errorf("%s: relative gap %.3g by %s, %.3g by eigen", solver, g, inner, exact)
			}
		}
	}
}

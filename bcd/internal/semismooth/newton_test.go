package semismooth

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// problem is one of twelve samples of two outputs, of which some are missing and some weighted, with K = RRᵀ of rank 5.
func problem(t *testing.T, l loss.Loss) Problem {
	t.Helper()
	rng, be := rand.New(rand.NewPCG(7, uint64(l.Kind))), blas.Active()
	R, K := blas.NewGeneral(12, 5), blas.NewGeneral(12, 12)
	for i := range R.Data {
		R.Data[i] = rng.NormFloat64()
	}
	blas.Gemm(be, false, true, 1, R, R, 0, K)
	c := &loss.Cells{Loss: l, Y: blas.NewGeneral(12, 2), W: blas.NewGeneral(12, 2), Offset: []float64{0.1, -0.2}}
	if l.Kind != loss.Logistic {
		c.Offset = nil
	}
	for i := range c.Y.Data {
		c.Y.Data[i], c.W.Data[i] = float64(rng.IntN(2)), float64(rng.IntN(4))/2
		if l.Kind != loss.Logistic {
			c.Y.Data[i] += rng.NormFloat64()
		}
	}
	c.Zero = c.Sum(blas.Like(c.Y))
	sys := sylvester.System{K: linop.NewDense(K, be), L: linop.ScaledIdentity(2, 1.5), Mu: 0.1}
	solver, err := sylvester.New("auto", sylvester.Config{Backend: be, Reweighted: true})
	if err != nil {
		t.Fatal(err)
	}
	return Problem{
		Cells: c, Mu: sys.Mu,
		Map: &linop.KroneckerSum{Terms: []linop.Term{{K: sys.K, L: sys.L}}, Backend: be},
		Solve: func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error {
			sys.Cells = cells
			_, err := solver.Solve(ctx, B, sys, Y, sylvester.Options{Tol: tol, Fitted: F})
			return err
		},
	}
}

// The certificate, computed anew, is met from any start, and again from the solution.
func TestMinimize(t *testing.T) {
	for _, l := range []loss.Loss{
		{Kind: loss.Huber, Parameter: 0.3}, {Kind: loss.Quantile, Parameter: 0.2}, {Kind: loss.Logistic},
	} {
		t.Run(l.String(), func(t *testing.T) {
			p, tol := problem(t, l), 1e-5
			var n Newton
			for _, start := range []float64{0, 100} {
				C, F := blas.Like(p.Cells.Y), blas.Like(p.Cells.Y)
				for i := range C.Data {
					if p.Cells.W.Data[i] > 0 {
						C.Data[i] = start * float64(i%3-1)
					}
				}
				for range 2 {
					if err := n.Minimize(t.Context(), C, p, tol); err != nil {
						t.Fatal(err)
					}
				}
				p.Map.ApplyMatrix(F, C)
				gap := p.Cells.Sum(F) + 2*p.Mu*blas.Inner(C, F) - p.Cells.Dual(C, p.Mu, 1)
				bound := tol * tol
				if l.Kind == loss.Quantile {
					bound = tol
				}
				if p.Cells.Clip(C, p.Mu) || !(gap <= bound*p.Cells.Zero*(1+1e-9)) {
					t.Errorf("from %g: a gap of %.3g of %.3g", start, gap, p.Cells.Zero)
				}
			}
		})
	}
}

// The context and an error of Solve end the method.
func TestMinimizeErrors(t *testing.T) {
	p := problem(t, loss.Loss{Kind: loss.Logistic})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(Newton).Minimize(ctx, blas.Like(p.Cells.Y), p, 1e-6); err != context.Canceled {
		t.Errorf("a cancelled call: %v", err)
	}
	p.Solve = func(context.Context, blas.General, blas.General, *linop.Cells, blas.General, float64) error {
		return sylvester.ErrNotSPD
	}
	if err := new(Newton).Minimize(t.Context(), blas.Like(p.Cells.Y), p, 1e-6); err != sylvester.ErrNotSPD {
		t.Errorf("a system without a solution: %v", err)
	}
}

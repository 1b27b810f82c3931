// This file holds the solvers paper and okl, block coordinate descents over C, L and η.

package bcd

import (
	"context"
	"errors"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// newPaper is the block coordinate descent of Sindhwani, Minh and Lozano with the
// formulas of mathematics.md §3: C by the inner solver to the residual CG of
// [Inexact], L at that fixed C by SDP iterations of plain Frank–Wolfe, η by its
// closed form at the f that results. Every block lowers the objective.
func newPaper(p *productModel) method {
	var fw frankwolfe.Workspace
	return &alternation{fit: p.fit, nextL: func(ctx context.Context, pt *point, q *quadratic,
		how Inexact,
	) (*linop.Spectral, error) {
		return p.t.frankWolfe(ctx, &fw, pt, q, how.SDP)
	}}
}

// alternation is block coordinate descent over C, L and η with the given L step. Its
// steps are short: C is solved more exactly once its error hides what they gain.
type alternation struct {
	*fit
	q     quadratic
	nextL func(ctx context.Context, pt *point, q *quadratic, how Inexact) (*linop.Spectral, error)
}

func (a *alternation) minimize(ctx context.Context, pt *point, goal float64) error {
	f, t := a.fit, a.t
	for last := math.Inf(1); ; f.iter++ {
		how := f.inexact(pt, goal)
		if err := f.evaluate(ctx, pt, how.CG, goal); err != nil || f.ends(pt, goal) {
			return err
		}
		U := pt.cert.objective
		if !(last-U > t.inexactness(pt)) && f.share >= sharpest {
			f.share /= 10
		}
		last = U
		L, eta := pt.L, pt.eta
		if !t.fixL {
			var err error
			phase.Do(ctx, phase.LStep, func(ctx context.Context) {
				t.space.quadratic(&a.q, &t.work, pt.eta, pt.X, pt.AX, pt.L)
				L, err = a.nextL(ctx, pt, &a.q, how)
			})
			if err != nil {
				return err
			}
		}
		if !t.fixEta {
			phase.Do(ctx, phase.Eta, func(context.Context) {
				eta = t.closedEta(t.space.norms(&t.work, pt.eta, pt.X, L))
			})
		}
		pt = t.next(pt, eta, L)
	}
}

// inexact is how exactly the outer iteration at hand solves its inner problems.
func (f *fit) inexact(pt *point, goal float64) Inexact {
	k := len(f.opt.Schedule)
	if k == 0 {
		return Inexact{CG: f.tolFor(pt, f.share, goal), SDP: 1000}
	}
	how := f.opt.Schedule[min(f.iter, k-1)]
	if f.opt.InnerTol > 0 {
		how.CG = f.opt.InnerTol
	}
	return how
}

// frankWolfe takes the given number of plain Frank–Wolfe iterations of the L step.
func (t *task) frankWolfe(
	ctx context.Context, w *frankwolfe.Workspace, pt *point, q *quadratic, iterations int,
) (*linop.Spectral, error) {
	L := blas.NewGeneral(t.n, t.n)
	pt.L.Dense(t.be, L)
	_, err := w.Solve(ctx, L, &frankwolfe.Problem{
		AtA: q.AtA, AtY: q.AtY, B: q.B,
		YY: q.YY, Samples: float64(t.l), Lambda: t.lambda, Tau: t.tau,
	}, frankwolfe.Options{MaxIter: iterations, Tol: stepTol, Seed: t.seed, Backend: t.be})
	if err != nil && !errors.Is(err, frankwolfe.ErrNotConverged) {
		return nil, err
	}
	return linop.NewSpectral(t.be, L, eigenDrop)
}

// newOKL is the output kernel learning of Dinuzzo et al. (2011) with the input
// weights by their closed form unless they are fixed: the trace bound gives way to
// the penalty ρ‖L‖²_F, and the L step solves
//
//	AᵀA·L + L·AᵀA + 2lρL = AᵀY + YᵀA − λl·B
//
// by the eigendecomposition of AᵀA (mathematics.md §6).
func newOKL(p *productModel) method {
	return &alternation{fit: p.fit, nextL: func(_ context.Context, _ *point, q *quadratic, _ Inexact) (*linop.Spectral,
		error,
	) {
		return p.t.sylvesterL(q)
	}}
}

func (t *task) sylvesterL(q *quadratic) (*linop.Spectral, error) {
	n := t.n
	V, w := q.AtA, make([]float64, n)
	if err := t.be.Syevd(V, w); err != nil {
		return nil, err
	}
	R, T := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	for i := range n {
		for j := range n {
			R.Data[i*n+j] = q.AtY.Data[i*n+j] + q.AtY.Data[j*n+i] - t.mu*q.B.Data[i*n+j]
		}
	}
	blas.Mul(t.be, T, true, false, V, R)
	blas.Mul(t.be, R, false, false, T, V)
	shift := 2 * float64(t.l) * t.rho
	for i := range n {
		for j := range n {
			// Where AᵀA is 0 up to rounding so is what stands on the right.
			if d := math.Max(w[i], 0) + math.Max(w[j], 0) + shift; d > float64(n)*0x1p-52*w[n-1] {
				R.Data[i*n+j] /= d
			} else {
				R.Data[i*n+j] = 0
			}
		}
	}
	blas.Mul(t.be, T, false, false, V, R)
	L := blas.NewGeneral(n, n)
	blas.Mul(t.be, L, false, true, T, V)
	blas.Symmetrize(L)
	return linop.NewSpectral(t.be, L, eigenDrop)
}

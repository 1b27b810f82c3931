package bcd

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// paper is the block coordinate descent of Sindhwani, Minh and Lozano with the
// formulas of mathematics.md §3: C by the inner solver to the residual CG of
// [Inexact], L at that fixed C by SDP iterations of plain Frank–Wolfe, η by its
// closed form at the f that results. Every block lowers the objective.
func (r *run) paper(ctx context.Context, pt *point) error {
	var fw frankwolfe.Workspace
	return r.alternate(ctx, pt, func(ctx context.Context, pt *point, how Inexact) (*linop.Spectral, error) {
		return r.frankWolfe(ctx, &fw, pt, how.SDP)
	})
}

// outputStep computes the next output kernel at the coefficients of pt.
type outputStep func(ctx context.Context, pt *point, how Inexact) (*linop.Spectral, error)

// alternate is block coordinate descent over C, L and η with the given L step. Its
// steps are short: C is solved more exactly once its error hides what they gain.
func (r *run) alternate(ctx context.Context, pt *point, nextL outputStep) error {
	for last := math.Inf(1); ; r.iter++ {
		how := r.inexact(pt)
		if err := r.evaluate(ctx, pt, how.CG); err != nil {
			return err
		}
		if r.done(pt) || r.iter >= r.opt.MaxOuter {
			return nil
		}
		U := pt.cert.objective
		if !(last-U > r.inexactness(pt)) && r.share >= sharpest {
			r.share /= 10
		}
		last = U
		L, err := pt.L, error(nil)
		if !r.fixL {
			phase.Do(ctx, phase.LStep, func(ctx context.Context) { L, err = nextL(ctx, pt, how) })
			if err != nil {
				return err
			}
		}
		eta := pt.eta
		if !r.fixEta {
			phase.Do(ctx, phase.Eta, func(context.Context) { eta = r.closedEta(r.space.norms(&r.work, pt.eta, pt.X, L)) })
		}
		pt = r.step(pt, eta, L)
	}
}

// inexact is how exactly the outer iteration at hand solves its inner problems.
func (r *run) inexact(pt *point) Inexact {
	k := len(r.opt.Schedule)
	if k == 0 {
		return Inexact{CG: r.innerTol(pt), SDP: 1000}
	}
	how := r.opt.Schedule[min(r.iter, k-1)]
	if r.opt.InnerTol > 0 {
		how.CG = r.opt.InnerTol
	}
	return how
}

// frankWolfe takes the given number of plain Frank–Wolfe iterations of the L step.
func (r *run) frankWolfe(ctx context.Context, w *frankwolfe.Workspace, pt *point, iterations int) (*linop.Spectral, error) {
	r.space.quadratic(&r.quad, r.be, pt.eta, pt.X, pt.AX)
	L := blas.NewGeneral(r.n, r.n)
	pt.L.Dense(r.be, L)
	_, err := w.Solve(ctx, L, &frankwolfe.Problem{
		AtA: r.quad.AtA, AtY: r.quad.AtY, B: r.quad.B,
		YY: r.space.normY2(), Samples: float64(r.l), Lambda: r.lambda, Tau: r.tau,
	}, frankwolfe.Options{MaxIter: iterations, Tol: stepTol, Plain: true, Seed: r.opt.Seed, Backend: r.be})
	if err != nil && !errors.Is(err, frankwolfe.ErrNotConverged) {
		return nil, err
	}
	return linop.NewSpectral(r.be, L, eigenDrop)
}

const (
	stepTol   = 1e-12 // relative gap at which an L step ends before its iterations do
	eigenDrop = 1e-15 // eigenvalues of L below this part of the largest are rounding
)

// okl is the output kernel learning of Dinuzzo et al. (2011) with the input
// weights by their closed form unless they are fixed: the trace bound gives way to
// the penalty ρ‖L‖²_F, and the L step solves
//
//	AᵀA·L + L·AᵀA + 2lρL = AᵀY + YᵀA − λl·B
//
// by the eigendecomposition of AᵀA (mathematics.md §6).
func (r *run) okl(ctx context.Context, pt *point) error {
	return r.alternate(ctx, pt, func(_ context.Context, pt *point, _ Inexact) (*linop.Spectral, error) {
		return r.sylvesterL(pt)
	})
}

func (r *run) sylvesterL(pt *point) (*linop.Spectral, error) {
	r.space.quadratic(&r.quad, r.be, pt.eta, pt.X, pt.AX)
	q, n := &r.quad, r.n
	V, w := q.AtA, make([]float64, n)
	if err := r.be.Syevd(V, w); err != nil {
		return nil, err
	}
	R, T := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	for i := range n {
		for j := range n {
			R.Data[i*n+j] = q.AtY.Data[i*n+j] + q.AtY.Data[j*n+i] - r.mu*q.B.Data[i*n+j]
		}
	}
	blas.Mul(r.be, T, true, false, V, R)
	blas.Mul(r.be, R, false, false, T, V)
	shift := 2 * float64(r.l) * r.rho
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
	blas.Mul(r.be, T, false, false, V, R)
	L := blas.NewGeneral(n, n)
	blas.Mul(r.be, L, false, true, T, V)
	symmetrize(L)
	return linop.NewSpectral(r.be, L, eigenDrop)
}

// checkSchedule validates the inexactness that the caller asked for.
func (opt Options) checkSchedule() bool {
	return !slices.ContainsFunc(opt.Schedule, func(s Inexact) bool { return !(s.CG > 0) || s.SDP < 1 })
}

package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// eigen solves by the eigendecompositions K = T·diag(σ)·Tᵀ and L = V·diag(ρ)·Vᵀ:
//
//	C = T·X̃·Vᵀ,   x̃_ij = (TᵀYV)_ij/(σ_i·ρ_j + μ)
//
// (mathematics.md §3). T and σ are kept until Invalidate, so that a second solve
// costs two products of l×l by l×r. Scratch: four l×l matrices while decomposing,
// one afterwards.
type eigen struct {
	*frame
	vectors blas.General // T
	sigma   []float64    // ascending
	kept    bool
}

func newEigen(cfg Config) Solver { return &eigen{frame: &frame{be: cfg.Backend}} }

func (e *eigen) Name() string { return "eigen" }

func (e *eigen) Invalidate() { e.kept = false }

func (e *eigen) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	res := Result{Solver: e.Name(), Iter: 1, Residual: math.NaN()}
	if err := e.begin(C, sys, Y); err != nil {
		return res, err
	}
	if err := ctx.Err(); err != nil {
		return res, err
	}
	if err := e.decompose(); err != nil {
		return res, err
	}
	l := len(e.sigma)
	if low := e.sigma[0] * e.top(); !(low+sys.Mu > 0) {
		return res, fmt.Errorf("%w: smallest eigenvalue %g", ErrNotSPD, low+sys.Mu)
	}
	e.rotate()
	if sys.L.Rank() > 0 {
		blas.Mul(e.be, e.rt, true, false, e.vectors, e.yt)
		for i := range l {
			row := blas.Row(e.rt, i)
			for j, rho := range sys.L.S {
				row[j] /= e.sigma[i]*rho + sys.Mu
			}
		}
		blas.Mul(e.be, e.ct, false, false, e.vectors, e.rt)
	}
	e.restore(C)
	err := e.finishExact(&res, C, max(e.sigma[l-1], -e.sigma[0]))
	return res, trace(opt, Step{Iter: 1, Residual: res.Residual, Columns: res.Columns}, err)
}

// decompose computes T and σ unless they are kept from an earlier call.
func (e *eigen) decompose() error {
	l := e.sys.K.Dim()
	if e.kept && len(e.sigma) == l {
		return nil
	}
	if err := exactMemory(e.Name(), e.Y, e.sys, 4); err != nil {
		return err
	}
	e.kept = false
	e.vectors = blas.Reshape(e.vectors, l, l)
	e.sigma = make([]float64, l)
	linop.Dense(e.vectors, e.sys.K)
	if s := sum(e.vectors); !finite(s) {
		return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, s)
	}
	if err := e.be.Syevd(e.vectors, e.sigma); err != nil {
		return err
	}
	e.kept = true
	return nil
}

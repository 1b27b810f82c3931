package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
)

// joint is the paper's method: conjugate gradients on the one system
// (K⊗L + μI)·vec(C) = vec(Y) of l·n unknowns, whose condition number is
// 1 + σ₁(K)·ρ₁(L)/μ for all columns alike. Scratch: that of [cg.Workspace] and
// of [linop.Kronecker].
type joint struct {
	frame
	op   linop.Kronecker
	work cg.Workspace
	x, b blas.General // contiguous copies of C and Y where theirs are not
}

func newJoint(cfg Config) Solver {
	return &joint{frame: frame{be: cfg.Backend}, op: linop.Kronecker{Backend: cfg.Backend}}
}

func (s *joint) Name() string { return "cg" }

func (s *joint) Invalidate() {}

func (s *joint) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	res := Result{Solver: s.Name(), Residual: math.NaN()}
	opt = opt.filled(Y.Rows)
	if err := s.begin(C, sys, Y); err != nil {
		return res, err
	}
	if start := blas.Frob(C); !finite(start) {
		return res, fmt.Errorf("%w: the starting point has norm %g", ErrNotFinite, start)
	}
	s.op.K, s.op.L, s.op.Mu = sys.K, sys.L, sys.Mu
	x := contiguous(&s.x, C)
	r := sys.L.Rank()
	out, err := s.work.Solve(ctx, x.Data, &s.op, contiguous(&s.b, Y).Data, cg.Options{
		Tol: margin * opt.Tol, MaxIter: opt.MaxIter, ScaleStart: true,
		Trace: s.tracer(opt, r),
	})
	blas.Copy(C, x)
	res.Iter, res.Columns = out.Applies, out.Applies*r
	s.finish(&res, C)
	switch {
	case err == nil && !(res.Residual <= opt.Tol), errors.Is(err, cg.ErrNotConverged):
		return res, notConverged(&res, opt.Tol)
	case errors.Is(err, cg.ErrNotSPD):
		return res, fmt.Errorf("%w: %w", ErrNotSPD, err)
	case errors.Is(err, cg.ErrNotFinite):
		return res, fmt.Errorf("%w: %w", ErrNotFinite, err)
	}
	return res, err
}

// tracer turns the steps of cg into those of this package; r columns of K go into each.
func (s *joint) tracer(opt Options, r int) func(cg.Step) error {
	if opt.Trace == nil {
		return nil
	}
	return func(c cg.Step) error {
		return opt.Trace(Step{Iter: c.Iter, Residual: c.Residual, Columns: c.Iter * r})
	}
}

// contiguous is a itself when its rows follow each other without a gap, else a
// copy in the memory of buf.
func contiguous(buf *blas.General, a blas.General) blas.General {
	if a.Stride == a.Cols {
		a.Data = a.Data[:a.Rows*a.Cols]
		return a
	}
	*buf = blas.Reshape(*buf, a.Rows, a.Cols)
	blas.Copy(*buf, a)
	return *buf
}

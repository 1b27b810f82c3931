// This file is the solver cg: conjugate gradients on the one system of all coefficients.

package sylvester

import (
	"context"
	"errors"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
)

// joint is the paper's method: conjugate gradients on the one system
// (K⊗L + μI)·vec(C) = vec(Y) of l·n unknowns, whose condition number is
// 1 + σ₁(K)·ρ₁(L)/μ for all columns alike. Scratch: that of [cg.Workspace] and
// of [linop.KroneckerSum].
type joint struct {
	op   linop.KroneckerSum
	L    linop.Spectral // with the eigenvalues ρ'
	work cg.Workspace
	x, b blas.General // contiguous copies of C and Y where theirs are not
}

func newJoint(cfg Config) engine { return &joint{op: linop.KroneckerSum{Backend: cfg.Backend}} }

func (s *joint) Name() string { return "cg" }

func (s *joint) Invalidate() {}

func (s *joint) prepare(_ context.Context, f *frame) error {
	f.direct()
	if err := f.checkStart(); err != nil {
		return err
	}
	s.L = linop.Spectral{V: f.sys.L.V, S: f.rho}
	s.op.Terms, s.op.Mu = append(s.op.Terms[:0], linop.Term{K: f.sys.K, L: &s.L}), f.mu
	return nil
}

func (s *joint) round(ctx context.Context, f *frame, _ int) error {
	x := contiguous(&s.x, f.C)
	blas.Scal(f.b/f.a, x.Data)
	y := contiguous(&s.b, f.Y)
	if f.a != 1 {
		s.b = blas.Reshape(s.b, y.Rows, y.Cols)
		blas.CopyScaled(s.b, 1/f.a, y)
		y = s.b
	}
	residual, err := f.conjugate(ctx, &s.work, x.Data, &s.op, nil, y.Data)
	blas.CopyScaled(f.C, f.a/f.b, x)
	if stop := ctx.Err(); stop != nil { // cg has multiplied once more already
		f.res.Residual, f.measured = residual, true
		return stop
	}
	return err
}

// conjugate improves x by conjugate gradients on A·x = b, which M preconditions unless it is nil, and returns the
// relative residual. Every product with A counts as one of K with a column for each eigenvalue of L.
func (f *frame) conjugate(
	ctx context.Context, work *cg.Workspace, x []float64, A, M linop.Operator, b []float64,
) (residual float64, err error) {
	before, r := f.res, len(f.rho)
	count := func(applies int) { f.res.Iter, f.res.Columns = before.Iter+applies, before.Columns+applies*r }
	out, err := work.Solve(ctx, x, A, b, cg.Options{
		Tol: margin * f.opt.Tol, MaxIter: max(f.opt.MaxIter-before.Iter, 1), ScaleStart: true,
		Precond: M, Flexible: M != nil,
		Trace: func(c cg.Step) error {
			count(c.Iter)
			return f.step(c.Residual * f.normY)
		},
	})
	count(out.Applies)
	return out.Residual, translated(err)
}

// translated is the error of this package for one of [cg.Workspace.Solve].
func translated(err error) error {
	switch {
	case errors.Is(err, cg.ErrNotConverged):
		return ErrNotConverged
	case errors.Is(err, cg.ErrNotSPD):
		return fmt.Errorf("%w: %w", ErrNotSPD, err)
	case errors.Is(err, cg.ErrNotFinite):
		return fmt.Errorf("%w: %w", ErrNotFinite, err)
	}
	return err
}

// onMatrices is the operator on vectors, one column each, that f is on the l×n matrices of their elements.
func onMatrices(l, n int, f func(dst, x blas.General)) linop.Operator {
	matrix := func(v blas.General) blas.General {
		return blas.General{Rows: l, Cols: n, Stride: n, Data: v.Data}
	}
	return linop.Func{N: l * n, F: func(dst, x blas.General) { f(matrix(dst), matrix(x)) }}
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

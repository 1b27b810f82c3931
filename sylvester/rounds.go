package sylvester

import (
	"context"
	"errors"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/linop"
)

// start takes the starting point of the iterated columns: C·V, each column scaled by
// ⟨Ax,b⟩/‖Ax‖² so that its residual is least, and writes the residuals to rt. A
// start of zeros costs no multiplication, nor does the solution of the last call.
func (f *frame) start() {
	l, h := f.ct.Rows, f.iterated
	blas.Copy(f.rt, f.yt)
	if h == 0 || f.cold {
		blas.Zero(blas.View(f.ct, 0, 0, l, h))
		return
	}
	if f.imaged < h {
		f.image(h)
	}
	f.scaleStart()
}

// image sets x0 to h columns of C·V, and ax to (ρ_j·K + μ)x0_j.
func (f *frame) image(h int) {
	f.x0, f.ax = blas.Reshape(f.x0, f.ct.Rows, h), blas.Reshape(f.ax, f.ct.Rows, h)
	f.toColumns(f.x0, f.C, f.b/f.a)
	if f.known() {
		f.toColumns(f.ax, f.kc, f.b/f.a)
	} else {
		f.fast.Apply(f.ax, f.x0)
		f.res.Columns += h
		f.res.Iter++
	}
	for i := range f.x0.Rows {
		a, x := blas.Row(f.ax, i), blas.Row(f.x0, i)
		for j, rho := range f.rho[:h] {
			a[j] = rho*a[j] + f.mu*x[j]
		}
	}
	f.imaged = h
}

// scaleStart writes every column of the start in its best multiple to C̃ and the residuals to rt.
func (f *frame) scaleStart() {
	h := f.iterated
	sums := f.columnSums(2 * h)
	ab, aa := sums[:h], sums[h:]
	for i := range f.x0.Rows {
		a, b := blas.Row(f.ax, i), blas.Row(f.yt, i)
		for j := range h {
			ab[j] += a[j] * b[j]
			aa[j] += a[j] * a[j]
		}
	}
	for j := range ab {
		if aa[j] > 0 {
			ab[j] /= aa[j]
		}
	}
	for i := range f.x0.Rows {
		a, x, out, b := blas.Row(f.ax, i), blas.Row(f.x0, i), blas.Row(f.ct, i), blas.Row(f.rt, i)
		for j, scale := range ab {
			out[j] = scale * x[j]
			b[j] -= scale * a[j]
		}
	}
}

// round runs conjugate gradients on the iterated columns, from C̃ and its residual rt,
// and writes C. The rounds after the first iterate on all columns, with K in double
// precision unless Options.Single asks for the other.
func (s *shifted) round(ctx context.Context, f *frame, round int) error {
	budget := square(margin * f.opt.Tol * f.normY)
	switch {
	case round > 0:
		f.unmix()
		f.iterated = f.ct.Cols
		budget *= correctionShare
		blas.Zero(f.ct)
	case f.mixed:
		budget *= mixedShare
	}
	if f.iterated < f.ct.Cols {
		budget *= formulaShare
	}
	s.be, s.K, s.mu = f.be, f.fast, f.mu
	l := f.ct.Rows
	X := blas.View(f.ct, 0, 0, l, f.iterated)
	s.start(X, blas.View(f.rt, 0, 0, l, f.iterated), f.rho, budget)
	err := s.run(ctx, f, X, budget)
	switch {
	case errors.Is(err, errSlow): // another method starts anew
	case round == 0:
		f.restore()
	default:
		f.correct()
	}
	return err
}

// rotated solves in the eigenvector coordinates of L, where the columns
// decouple, by conjugate gradients on all of them side by side; see [shifted].
// Columns outside the range of L need no multiplication.
type rotated struct{ cg shifted }

func (s *rotated) Name() string { return "rotated" }

func (s *rotated) Invalidate() {}

func (s *rotated) prepare(_ context.Context, f *frame) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	f.iterated = len(f.rho)
	return nil
}

func (s *rotated) round(ctx context.Context, f *frame, round int) error {
	if round == 0 {
		f.start()
	}
	return s.cg.round(ctx, f, round)
}

// joint is the paper's method: conjugate gradients on the one system
// (K⊗L + μI)·vec(C) = vec(Y) of l·n unknowns, whose condition number is
// 1 + σ₁(K)·ρ₁(L)/μ for all columns alike. Scratch: that of [cg.Workspace] and
// of [linop.KroneckerSum], and 2·l·n floats.
type joint struct {
	op   linop.KroneckerSum
	L    linop.Spectral // with the eigenvalues ρ'
	work cg.Workspace
	x, b blas.General // C and Y in units of their own, contiguous
}

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
	s.x, s.b = blas.Reshape(s.x, f.C.Rows, f.C.Cols), blas.Reshape(s.b, f.Y.Rows, f.Y.Cols)
	blas.CopyScaled(s.x, f.b/f.a, f.C)
	blas.CopyScaled(s.b, 1/f.a, f.Y)
	residual, err := f.conjugate(ctx, &s.work, s.x.Data, &s.op, nil, s.b.Data)
	blas.CopyScaled(f.C, f.a/f.b, s.x)
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
	return linop.Func{N: l * n, F: func(dst, x blas.General) { f(asMatrix(dst, l, n), asMatrix(x, l, n)) }}
}

// asMatrix is the l×n matrix of which v, a contiguous column, is the row-major vec.
func asMatrix(v blas.General, l, n int) blas.General {
	return blas.General{Rows: l, Cols: n, Stride: n, Data: v.Data}
}

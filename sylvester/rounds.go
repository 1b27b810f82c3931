// This file holds the rounds of conjugate gradients on the decoupled columns, and the solver rotated, which does no more.

package sylvester

import (
	"context"
	"errors"

	"github.com/iokl/iokl/blas"
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
	f.x0, f.ax = blas.Reshape(f.x0, l, h), blas.Reshape(f.ax, l, h)
	f.toColumns(f.x0, f.C, f.b/f.a)
	if f.known() {
		f.toColumns(f.ax, f.kc, f.b/f.a)
	} else {
		f.fast.Apply(f.ax, f.x0)
		f.res.Columns += h
		f.res.Iter++
	}
	f.scaleStart()
}

// scaleStart turns ax = K·x0 into (ρ_j·K + μ)x0_j, and writes every column of
// the start in its best multiple to C̃ and the residuals to rt.
func (f *frame) scaleStart() {
	h := f.iterated
	sums := f.columnSums(2 * h)
	ab, aa := sums[:h], sums[h:]
	for i := range f.x0.Rows {
		a, x, b := blas.Row(f.ax, i), blas.Row(f.x0, i), blas.Row(f.yt, i)
		for j, rho := range f.rho[:h] {
			a[j] = rho*a[j] + f.mu*x[j]
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
		if f.mixed {
			f.unmix()
		}
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

// This file holds what the direct solvers share: a dense K is factored once, and solutions are refined.

package sylvester

import (
	"cmp"
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
)

// factors decompose a dense K, for a direct solver of the decoupled systems.
type factors interface {
	// floats is what they take beside a block, in units of l².
	floats() float64
	// factor takes over K, and the memory it is in. Once ctx has ended the factors mean nothing.
	factor(ctx context.Context, be blas.Backend, K blas.General) error
	// apply writes to X the solutions of (ρ_j·K + μI)·x_j = b_j; B and work, of the
	// shape of X, are lost. It returns the number of factorizations.
	apply(ctx context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64) (int, error)
	// norm is an upper bound of ‖K‖₂.
	norm() float64
}

// direct is the method of one kind of factors, which are kept until Invalidate.
// Where rounding leaves more than the tolerance, later rounds refine by a solve
// with the same factors each.
type direct struct {
	factors
	name  string
	order int          // of the K factored, 0 for none
	K     blas.General // its memory
}

func (s *direct) Name() string { return s.name }

func (s *direct) Invalidate() { s.order = 0 }

// kept reports whether the factors of a K of order l are there.
func (s *direct) kept(l int) bool { return s.order == l }

// fits refuses factors of order l for n columns, r of which L keeps, that memory does not hold.
func (s *direct) fits(l, n, r int) error {
	if s.kept(l) {
		return nil
	}
	return memory.Check("sylvester: the solver "+s.name,
		8*float64(l)*(s.floats()*float64(l)+2*float64(n)+4*float64(r)),
		"use an iterative solver such as nystrom or krylov, or factors of K")
}

func (s *direct) prepare(ctx context.Context, f *frame) error {
	f.direct()
	l := f.Y.Rows
	if s.kept(l) {
		return nil
	}
	if err := s.fits(l, f.Y.Cols, f.sys.L.Rank()); err != nil {
		return err
	}
	s.order = 0
	s.K = blas.Reshape(s.K, l, l)
	if err := dense(ctx, s.K, f.sys.K); err != nil {
		return err
	}
	err := s.factor(ctx, f.be, s.K)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return err
	}
	s.order = l
	return nil
}

func (s *direct) round(ctx context.Context, f *frame, round int) error {
	right, work := f.yt, f.rt
	if round == 0 {
		f.rotate()
	} else {
		right, work = f.rt, f.yt
	}
	f.rotated = false // Ỹ is lost
	count, err := s.apply(ctx, f.be, f.ct, right, work, f.rho, f.mu)
	f.res.Iter += count
	switch {
	case err != nil:
		return err
	case round == 0:
		f.restore()
	default:
		f.correct()
	}
	return nil
}

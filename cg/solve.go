// This file is the iteration of conjugate gradients.

package cg

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// solve is one call of Solve. The vectors r, z, p and q are in units of ‖b‖.
type solve struct {
	*Workspace
	A, M    linop.Operator
	x, b    []float64
	opt     Options
	tol     float64
	maxIter int
	norm    float64 // ‖b‖
	res     Result
	first   bool // the next direction is z
}

// run is the loop. Each pass of the outer one starts from the true residual, and
// its inner one ends when the recurrence claims convergence, which the next true
// residual confirms or not.
func (s *solve) run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	if err := s.trace(s.res.Residual); err != nil {
		return err
	}
	for !(s.res.Residual <= s.tol) {
		before := s.res.Residual
		stop := s.descend(ctx)
		s.residual()
		switch {
		case stop != nil:
			return stop
		case math.IsNaN(s.res.Residual):
			return fmt.Errorf("%w: the residual after %d iterations", ErrNotFinite, s.res.Iter)
		case s.res.Residual <= s.tol:
			return nil
		case s.res.Iter >= s.maxIter:
			return fmt.Errorf("%w: residual %.3g after %d iterations, tolerance %.3g", ErrNotConverged, s.res.Residual,
				s.res.Iter, s.tol)
		case !(s.res.Residual < 0.5*before):
			return fmt.Errorf("%w: residual %.3g stays at rounding level, tolerance %.3g", ErrNotConverged,
				s.res.Residual, s.tol)
		}
		s.res.Restarts++
	}
	return nil
}

// start computes the residual of x₀, after scaling x₀ when asked to. A start of
// zeros costs no application.
func (s *solve) start() error {
	zero := true
	for _, v := range s.x {
		zero = zero && v == 0
	}
	if zero {
		copy(s.r, s.b)
		blas.Scal(1/s.norm, s.r)
		s.res.Residual = 1
		return nil
	}
	s.residual()
	if s.opt.ScaleStart {
		// q = A·x₀/‖b‖: x₀ ← c·x₀ and r ← b/‖b‖ − c·q, with c = ⟨q,b/‖b‖⟩/‖q‖².
		if c := (blas.Dot(s.q, s.b) / s.norm) / blas.Dot(s.q, s.q); c > 0 && c < math.Inf(1) {
			blas.Scal(c, s.x)
			blas.Axpy(1-c, s.q, s.r)
			s.res.Residual = blas.Nrm2(s.r)
		}
	}
	if !(s.res.Residual < math.Inf(1)) {
		return fmt.Errorf("%w: the residual of the start is %g", ErrNotFinite, s.res.Residual)
	}
	return nil
}

// residual computes r = (b − A·x)/‖b‖ and its norm, and leaves A·x/‖b‖ in q.
func (s *solve) residual() {
	s.apply(s.A, s.q, s.x)
	s.res.Applies++
	blas.Scal(1/s.norm, s.q)
	for i, v := range s.b {
		s.r[i] = v/s.norm - s.q[i]
	}
	s.res.Residual = blas.Nrm2(s.r)
}

// descend iterates from the residual r until ‖r‖ ≤ tol by the recurrence or the
// iterations are spent, which is no error here.
func (s *solve) descend(ctx context.Context) error {
	var rz, pq float64
	for s.first = true; s.res.Iter < s.maxIter; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cg: after %d iterations: %w", s.res.Iter, err)
		}
		z := s.r
		if s.M != nil {
			s.apply(s.M, s.z, s.r)
			z = s.z
		}
		old := rz
		rz = blas.Dot(s.r, z)
		if !(rz > 0 && rz < math.Inf(1)) {
			return fmt.Errorf("%w: rᵀM⁻¹r = %g at iteration %d", ErrNotSPD, rz, s.res.Iter)
		}
		if s.first {
			copy(s.p, z)
		} else {
			beta := rz / old
			if s.opt.Flexible {
				beta = -blas.Dot(z, s.q) / pq
			}
			blas.Scal(beta, s.p) // p = z + beta·p
			blas.Axpy(1, z, s.p)
		}
		s.apply(s.A, s.q, s.p)
		s.res.Applies++
		pq = blas.Dot(s.p, s.q)
		if !(pq > 0 && pq < math.Inf(1)) {
			return fmt.Errorf("%w: pᵀAp = %g at iteration %d", ErrNotSPD, pq, s.res.Iter)
		}
		alpha := rz / pq
		blas.Axpy(alpha*s.norm, s.p, s.x)
		blas.Axpy(-alpha, s.q, s.r)
		s.res.Iter++
		norm := blas.Nrm2(s.r)
		if err := s.trace(norm); err != nil {
			return err
		}
		if !(norm > s.tol) {
			return nil
		}
	}
	return nil
}

func (s *solve) apply(A linop.Operator, dst, x []float64) { A.Apply(blas.Vector(dst), blas.Vector(x)) }

func (s *solve) trace(residual float64) error {
	if s.first = false; s.opt.Trace == nil {
		return nil
	}
	err := s.opt.Trace(Step{Iter: s.res.Iter, Residual: residual, X: s.x})
	if s.first = errors.Is(err, ErrRestart); s.first {
		return nil
	}
	return err
}

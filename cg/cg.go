// Package cg solves A·x = b by the conjugate gradient method for any symmetric
// positive definite [linop.Operator], with warm starts and an optional preconditioner.
//
// The joint system K·C·L + μC = Y of vector-valued ridge regression is one such
// system: A is a [linop.KroneckerSum], and x and b are the elements of C and Y.
package cg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Options of a solve. The zero value is useful.
type Options struct {
	Tol        float64        // stop when ‖b−A·x‖₂ ≤ Tol·‖b‖₂; 0 means 1e-8
	MaxIter    int            // iterations, one application of A each; 0 means 10·n
	ScaleStart bool           // first scale the start x₀ by ⟨A·x₀,b⟩/‖A·x₀‖², the factor that leaves the least residual
	Precond    linop.Operator `json:"-"` // approximates A⁻¹, symmetric positive definite; nil means the identity
	// Flexible makes every direction A-orthogonal to the last by its definition, which keeps
	// the method convergent when Precond is not linear or changes between applications
	// (Notay, doi:10.1137/S1064827599362314).
	Flexible bool
	// Trace sees the start and every iteration. ErrRestart says that Precond has changed; another error stops the solve
	// and is returned.
	Trace func(Step) error `json:"-"`
}

// Step is what Trace sees.
type Step struct {
	Iter     int
	Residual float64   // ‖b−A·x‖₂/‖b‖₂, by the recurrence
	X        []float64 // the iterate; valid during the call only
}

// Result describes a solve. Residual is computed from its definition at the returned x.
type Result struct {
	Residual float64 // ‖b−A·x‖₂/‖b‖₂; 0 for b = 0
	Iter     int     // iterations
	Applies  int     // applications of A, the start and the final check included
	Restarts int     // times the recurrence claimed convergence and the true residual did not confirm it
}

// ErrRestart is what Trace returns after changing Precond: the next direction begins anew, since directions that the
// old one gave would slow the convergence with the new one.
var ErrRestart = errors.New("cg: restart")

var (
	// ErrNotSPD says that A or the preconditioner is not positive definite.
	ErrNotSPD = errors.New("cg: not positive definite")
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further progress, before Tol was met.
	ErrNotConverged = errors.New("cg: not converged")
	// ErrNotFinite says that b, x or a product with A has an element that is NaN or infinite.
	ErrNotFinite = errors.New("cg: not finite")
)

// Workspace is the scratch of a solve: 4n floats, kept between calls, so that a
// solve allocates nothing after the first of its size. It is ready at zero, must
// not be copied, and serves one goroutine.
type Workspace struct {
	_          [0]sync.Mutex // go vet reports copies
	r, z, p, q []float64
}

// Solve is [Workspace.Solve] with scratch of its own.
func Solve(ctx context.Context, x []float64, A linop.Operator, b []float64, opt Options) (Result, error) {
	return new(Workspace).Solve(ctx, x, A, b, opt)
}

// Solve reads x as the start and overwrites it by the solution of A·x = b. A nil
// error means Result.Residual ≤ Tol; x is the last iterate in any case. Errors
// are ErrNotSPD, ErrNotConverged, ErrNotFinite, that of ctx, and that of Trace.
//
// The residual is kept in units of ‖b‖, so the outcome does not depend on the
// scale of b. Hestenes and Stiefel, doi:10.6028/jres.049.044.
func (w *Workspace) Solve(
	ctx context.Context, x []float64, A linop.Operator, b []float64, opt Options,
) (Result, error) {
	n := A.Dim()
	if len(x) != n || len(b) != n {
		panic("cg: Solve: shape mismatch")
	}
	if opt.Precond != nil && opt.Precond.Dim() != n {
		panic("cg: Solve: the preconditioner has another order")
	}
	if len(w.r) != n {
		w.r, w.z, w.p, w.q = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	}
	opt.Tol = cmp.Or(opt.Tol, 1e-8)
	opt.MaxIter = cmp.Or(opt.MaxIter, 10*n)
	s := solve{Workspace: w, Options: opt, A: A, x: x, b: b, norm: blas.Nrm2(b)}
	if s.norm == 0 {
		clear(x)
		return s.res, s.trace(0)
	}
	if math.IsNaN(s.norm) || math.IsInf(s.norm, 0) {
		s.res.Residual = math.NaN()
		return s.res, fmt.Errorf("%w: ‖b‖ = %g", ErrNotFinite, s.norm)
	}
	err := s.run(ctx)
	return s.res, err
}

// solve is one call of Solve. The vectors r, z, p and q are in units of ‖b‖.
type solve struct {
	*Workspace
	Options // with the defaults in place
	A       linop.Operator
	x, b    []float64
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
	for !(s.res.Residual <= s.Tol) {
		before := s.res.Residual
		stop := s.descend(ctx)
		s.residual()
		switch {
		case stop != nil:
			return stop
		case math.IsNaN(s.res.Residual):
			return fmt.Errorf("%w: the residual after %d iterations", ErrNotFinite, s.res.Iter)
		case s.res.Residual <= s.Tol:
			return nil
		case s.res.Iter >= s.MaxIter:
			return fmt.Errorf("%w: residual %.3g after %d iterations, tolerance %.3g", ErrNotConverged, s.res.Residual,
				s.res.Iter, s.Tol)
		case !(s.res.Residual < 0.5*before):
			return fmt.Errorf("%w: residual %.3g stays at rounding level, tolerance %.3g", ErrNotConverged,
				s.res.Residual, s.Tol)
		}
		s.res.Restarts++
	}
	return nil
}

// start computes the residual of x₀, after scaling x₀ when asked to. A start of
// zeros costs no application.
func (s *solve) start() error {
	if !slices.ContainsFunc(s.x, func(v float64) bool { return v != 0 }) {
		copy(s.r, s.b)
		blas.Scal(1/s.norm, s.r)
		s.res.Residual = 1
		return nil
	}
	s.residual()
	if s.ScaleStart {
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
	for s.first = true; s.res.Iter < s.MaxIter; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cg: after %d iterations: %w", s.res.Iter, err)
		}
		z := s.r
		if s.Precond != nil {
			s.apply(s.Precond, s.z, s.r)
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
			if s.Flexible {
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
		if !(norm > s.Tol) {
			return nil
		}
	}
	return nil
}

func (s *solve) apply(A linop.Operator, dst, x []float64) { A.Apply(blas.Vector(dst), blas.Vector(x)) }

func (s *solve) trace(residual float64) error {
	if s.first = false; s.Trace == nil {
		return nil
	}
	err := s.Trace(Step{Iter: s.res.Iter, Residual: residual, X: s.x})
	if s.first = errors.Is(err, ErrRestart); s.first {
		return nil
	}
	return err
}

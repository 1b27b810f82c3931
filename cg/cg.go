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

// ErrRestart is returned by Trace after it has changed Precond. The next direction is then the preconditioned residual
// alone, because directions of the old preconditioner slow the convergence with the new one.
var ErrRestart = errors.New("cg: restart")

var (
	// ErrNotSPD says that A or the preconditioner is not positive definite: a form of it is zero or negative.
	ErrNotSPD = errors.New("cg: not positive definite")
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further progress, before Tol was met.
	// It wraps linop.ErrNotConverged.
	ErrNotConverged = fmt.Errorf("cg: %w", linop.ErrNotConverged)
	// ErrNotFinite says that b or x has an element that is NaN or infinite, or that a product with A or the
	// preconditioner, or the solution, has one or overflows.
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
// The residual is kept in units of ‖b‖, and products with an A, M or b that is very large
// or tiny in units of a power of two, so the outcome does not depend on their scale: a
// subnormal b is solved as far as x has the digits, and what overflows is ErrNotFinite.
// A start with a residual beyond 2²⁰⁰ is replaced by 0. n = 0 is solved.
// Hestenes and Stiefel, doi:10.6028/jres.049.044.
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
	s := solve{Workspace: w, Options: opt, A: A, x: x, b: b}
	switch v := largest(b); {
	case v == 0:
		clear(x)
		return s.res, s.trace(0)
	case !finite(v):
		s.res.Residual = math.NaN()
		return s.res, fmt.Errorf("%w: an element of b is %g", ErrNotFinite, v)
	}
	s.unitB = exponent(b)
	shift(s.r, b, -s.unitB)
	s.norm = blas.Nrm2(s.r)
	err := s.run(ctx)
	return s.res, err
}

// moderate is how large a number may be, and its inverse how small, whose products with others like it need no units.
const moderate = 0x1p200

// largest is max |x_i|, or NaN where an element is NaN.
func largest(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// exponent is the binary logarithm of the unit of x: 0 where its largest element is 0, of moderate size or not finite.
func exponent(x []float64) int {
	m := largest(x)
	if m == 0 || m >= 1/moderate && m <= moderate || !finite(m) {
		return 0
	}
	_, e := math.Frexp(m)
	return e
}

// shift computes dst = 2^e·x; dst may be x.
func shift(dst, x []float64, e int) {
	if e == 0 {
		if len(x) > 0 && &dst[0] != &x[0] {
			copy(dst, x)
		}
		return
	}
	for i, v := range x {
		dst[i] = math.Ldexp(v, e)
	}
}

// solve is one call of Solve. The vectors r, z, p and q are in units of ‖b‖ = norm·2^unitB; what A and the
// preconditioner make is in units of powers of two besides.
type solve struct {
	*Workspace
	Options // with the defaults in place
	A       linop.Operator
	x, b    []float64
	norm    float64 // ‖b‖·2^−unitB
	unitB   int
	unitA   int // of A·p
	unitM   int // of M⁻¹·r
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
		case !finite(s.res.Residual):
			return fmt.Errorf("%w: the residual after %d iterations is %g", ErrNotFinite, s.res.Iter, s.res.Residual)
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
	size := largest(s.x)
	if !finite(size) {
		s.res.Residual = math.NaN()
		return fmt.Errorf("%w: an element of the start is %g", ErrNotFinite, size)
	}
	if size == 0 {
		s.zero()
		return nil
	}
	s.residual()
	if s.ScaleStart {
		// q = A·x₀/‖b‖: x₀ ← c·x₀ and r ← b/‖b‖ − c·q, with c = ⟨q,b/‖b‖⟩/‖q‖².
		c := math.Ldexp(blas.Dot(s.q, s.b), -s.unitB) / s.norm / blas.Dot(s.q, s.q)
		if c > 0 && c < math.Inf(1) {
			blas.Scal(c, s.x)
			blas.Axpy(1-c, s.q, s.r)
			s.res.Residual = blas.Nrm2(s.r)
		}
	}
	switch {
	case math.IsNaN(s.res.Residual):
		return fmt.Errorf("%w: the residual of the start", ErrNotFinite)
	case s.res.Residual > moderate:
		s.zero()
	}
	return nil
}

// zero makes x = 0 the iterate.
func (s *solve) zero() {
	clear(s.x)
	shift(s.r, s.b, -s.unitB)
	blas.Scal(1/s.norm, s.r)
	s.res.Residual = 1
}

// residual computes r = (b − A·x)/‖b‖ and its norm, and leaves A·x/‖b‖ in q. p is overwritten.
func (s *solve) residual() {
	unit := exponent(s.x)
	shift(s.p, s.x, -unit)
	s.apply(s.A, s.q, s.p)
	s.res.Applies++
	blas.Scal(1/s.norm, s.q)
	shift(s.q, s.q, unit-s.unitB)
	shift(s.r, s.b, -s.unitB)
	for i, v := range s.r {
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
			if s.first {
				s.unitM = exponent(z)
			}
			shift(z, z, -s.unitM)
		}
		old := rz
		rz = blas.Dot(s.r, z)
		if err := s.positive("rᵀM⁻¹r", rz); err != nil {
			return err
		}
		begins := s.first
		if begins {
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
		if begins {
			s.unitA = exponent(s.q)
		}
		shift(s.q, s.q, -s.unitA)
		pq = blas.Dot(s.p, s.q)
		if err := s.positive("pᵀAp", pq); err != nil {
			return err
		}
		alpha := rz / pq
		blas.Axpy(math.Ldexp(alpha*s.norm, s.unitB-s.unitA), s.p, s.x)
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

// positive refuses a form of a positive definite matrix that is not positive, or not finite.
func (s *solve) positive(what string, form float64) error {
	switch {
	case !finite(form):
		return fmt.Errorf("%w: %s is %g at iteration %d", ErrNotFinite, what, form, s.res.Iter)
	case form <= 0:
		return fmt.Errorf("%w: %s = %g at iteration %d", ErrNotSPD, what, form, s.res.Iter)
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

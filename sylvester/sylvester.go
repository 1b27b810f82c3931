// This file declares systems, options, results and the interface of solvers.

package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// System is the map C ↦ K·C·L + Mu·C on N×n matrices.
type System struct {
	K  linop.Operator  // N×N, symmetric positive semidefinite
	L  *linop.Spectral // n×n output kernel
	Mu float64         // > 0
}

// Options of a solve. The zero value is useful.
type Options struct {
	// Tol is the promise: ‖K·C·L + μC − Y‖_F ≤ Tol·‖Y‖_F. 0 means 1e-8; for a direct
	// method, as near as rounding lets it: 100·ε·(‖K‖·‖L‖ + μ)·‖C‖_F with ε = 2⁻⁵².
	Tol     float64
	MaxIter int // multiplications by K; 0 means 10·N
	// Single lets rotated, nystrom and auto take K in single precision for all they
	// do, the residual they report included, where K is a linop.Mixed: enough for
	// tolerances down to about 1e-8·‖K‖·‖L‖/Mu, and K is then never formed in
	// double precision.
	Single bool
	Trace  func(Step) error `json:"-"`
}

// check refuses a tolerance that no residual compares with.
func (o Options) check() error {
	if math.IsNaN(o.Tol) {
		return fmt.Errorf("%w: Tol = %g", ErrNotFinite, o.Tol)
	}
	return nil
}

// filled returns the options with the default tolerance in place.
func (o Options) filled() Options {
	if o.Tol == 0 {
		o.Tol = 1e-8
	}
	return o
}

// Step is what Trace sees before the first and after every iteration; an exact
// solver reports once, at its end.
type Step struct {
	Iter     int
	Residual float64 // relative to ‖Y‖_F, as the method estimates it
	Columns  int     // columns multiplied by K so far
}

// Result describes a solve; Residual is recomputed from its definition at the returned C.
type Result struct {
	Solver   string  // which method ran
	Residual float64 // ‖K·C·L + μC − Y‖_F/‖Y‖_F
	Iter     int
	Columns  int // columns multiplied by K in all, the final check included

	GridSolves int // full-grid solves inside a solve for missing cells or sums, exact or not

	Single bool // K was taken in single precision, see Options.Single

	// KC is K·C at the returned C (l×n), which the residual needs anyway. It lies
	// in the solver's memory and is valid until its next call.
	KC blas.General `json:"-"`
}

var (
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further
	// progress, before Tol was met; Result.Residual is what was reached.
	ErrNotConverged = errors.New("sylvester: not converged")
	// ErrNotSPD says that K, L and μ do not make a positive definite system.
	ErrNotSPD = errors.New("sylvester: the system is not positive definite")
	// ErrNotFinite says that K, L, Y or the starting point holds NaN or an infinity, that
	// Options.Tol is NaN, or that the solution or K times it overflows.
	ErrNotFinite = errors.New("sylvester: a number is not finite")
)

// Solver is one method. It keeps scratch, preconditioners and factorizations
// between calls and serves one goroutine.
type Solver interface {
	// Name is the value of the commands' --sylvester flag.
	Name() string
	// Solve reads C as the starting point and overwrites it by the solution. A nil
	// error means that opt.Tol is met. Once ctx is done at most one more product with K
	// follows; a decomposition of K by a direct method is not interrupted: it takes
	// a second at orders near 3000, and grows with the cube.
	Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error)
	// Invalidate tells the solver that K has changed. It may keep what is still
	// useful, such as a preconditioner of a nearby K.
	Invalidate()
}

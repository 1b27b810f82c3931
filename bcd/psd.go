package bcd

import (
	"context"
	"errors"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/sylvester"
)

// psdSlack is the size of a negative value of a form vᵀK_jv, relative to tr K_j·‖v‖²,
// that counts as the rounding of a kernel that is positive semidefinite: of its
// entries, which may be given in single precision, and of the form.
const psdSlack = 0x1p-22

// indefiniteSteps bounds the products by which a negative eigenvalue is looked for.
const indefiniteSteps = 30

// indefinite reports whether A_η, as it was formed last for pt, has a negative
// eigenvalue that is not rounding, and which: by a vector that shows it.
func (r *run) indefinite(ctx context.Context, trace float64) (value float64, yes bool, err error) {
	res, err := lanczos.Eigs(ctx, r.space.operator(), lanczos.Options{
		Which: lanczos.Smallest, AbsTol: psdSlack * trace, Tol: 0x1p-50, MaxIter: indefiniteSteps, Seed: r.opt.Seed, Backend: r.be,
	})
	r.columns += res.Applies
	if err != nil && !errors.Is(err, lanczos.ErrNotConverged) {
		return 0, false, err
	}
	return res.Values[0], res.Values[0] < -psdSlack*trace, nil
}

// Shifts in place of a μ that is lost in the rounding of A_η·L, relative to
// tr A_η·λ_max(L): the first, the factor between them, and how many.
const (
	firstRaise = 0x1p-50
	raiseBy    = 64
	raises     = 6
)

// solveRaised performs the C step for which the inner solver found the system not
// positive definite. Either A_η is indefinite as given, which is ErrNotPSD, or μ is
// lost in the rounding of A_η·L: then a larger shift takes its place. The certificate
// holds for these coefficients as for any.
func (r *run) solveRaised(ctx context.Context, pt *point, tol float64, cause error) (sylvester.Result, error) {
	trace := r.space.traceOf(pt.eta)
	value, yes, err := r.indefinite(ctx, trace)
	if err == nil && yes {
		err = fmt.Errorf("%w: an eigenvalue of their weighted sum is at most %g, its trace %g: %w", ErrNotPSD, value, trace, cause)
	}
	if err != nil {
		return sylvester.Result{}, err
	}
	var res sylvester.Result
	sys := r.system(pt)
	for shift, try := firstRaise*trace*maxOf(pt.L.S), 0; try < raises; shift, try = raiseBy*shift, try+1 {
		sys.Mu = r.mu + shift
		blas.Zero(pt.X)
		res, err = r.solver.Solve(ctx, pt.X, sys, r.space.rhs(), sylvester.Options{Tol: tol})
		r.solves++
		r.columns += res.Columns
		if err == nil || errors.Is(err, sylvester.ErrNotConverged) {
			r.raised = max(r.raised, sys.Mu)
			pt.single = false
			pt.residual = res.Residual + shift*blas.Frob(pt.X)/blas.Frob(r.space.rhs())
			return res, nil
		}
		if !errors.Is(err, sylvester.ErrNotSPD) {
			return res, err
		}
	}
	return res, fmt.Errorf("%w: %w", ErrNotConverged, err)
}

// This file computes the coefficients at fixed weights and output kernel, the C step, by a solver of package sylvester.

package bcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// cStep computes coefficients. A model whose coefficients obey another equation, as
// those of a sum of separable kernels do, brings a step of its own.
type cStep interface {
	// solve finds the coefficients of pt to the relative residual tol, starting from
	// pt.X: pt.X, pt.AX, pt.residual and pt.single. Where tol cannot be reached it
	// leaves what was; pt.residual tells.
	solve(ctx context.Context, pt *point, tol float64) error
	// outputsChanged is called after the outputs of the task have changed.
	outputsChanged()
	// effort is what the steps have cost so far.
	effort() *effort
}

// effort counts the work of C steps.
type effort struct {
	solves, columns int
	solver          string  // that ran last
	raised          float64 // the largest shift that took the place of μ, 0 for none
}

// systemStep is the C step A_ηXL + μX = B_η, or that of the observed cells, by a solver
// of package sylvester.
type systemStep struct {
	t      *task
	make   func() (sylvester.Solver, error)
	solver sylvester.Solver
	eta    []float64 // the weights of the solver's last call
	mixed  bool      // steps that may be rough take A_η in single precision
	cost   effort
}

// newSystemStep is the C step of t by the named solver.
func newSystemStep(t *task, name string) (*systemStep, error) {
	s := &systemStep{t: t, make: func() (sylvester.Solver, error) {
		cfg := sylvester.Config{Backend: t.be, Seed: t.seed}
		if m, ok := t.space.(masked); ok && m.observed() != nil {
			return sylvester.NewMasked(name, m.observed(), cfg)
		}
		return sylvester.New(name, cfg)
	}}
	var err error
	if s.solver, err = s.make(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	s.mixed = slices.Contains([]string{"auto", "nystrom", "rotated"}, name) && t.space.mixed()
	return s, nil
}

func (s *systemStep) outputsChanged() {
	if solver, err := s.make(); err == nil { // as it was for the first
		s.solver = solver
	}
}

func (s *systemStep) effort() *effort { return &s.cost }

// form forms A_η for a step at pt to tol, and reports whether single precision will do.
func (s *systemStep) form(ctx context.Context, pt *point, tol float64) (sys sylvester.System, single bool) {
	single = tol >= singleTol && s.mixed && s.singlePrecisionSafe(pt, tol)
	return sylvester.System{K: s.t.form(ctx, pt.eta, single), L: pt.L, Mu: s.t.mu}, single
}

// singlePrecisionSafe reports whether the system at pt is so well conditioned that A_η
// in single precision reaches tol. Its rounding leaves a relative residual of up to
// ‖A_η‖·‖L‖·2⁻²⁴/μ, a tenth of that in practice, and tr A_η is several times ‖A_η‖.
func (s *systemStep) singlePrecisionSafe(pt *point, tol float64) bool {
	return pt.L.Rank() == 0 || s.t.space.traceOf(pt.eta)*pt.L.S[0]*0x1p-24 <= 5*tol*s.t.mu
}

// sketch is what the solver would precondition a step at pt by, see [sylvester.Sketcher],
// where it begins with a sketch and single precision may serve.
func (s *systemStep) sketch(ctx context.Context, pt *point, tol float64) (U blas.General, sigma []float64) {
	solver, ok := s.solver.(sylvester.Sketcher)
	if !ok || !s.mixed {
		return U, nil
	}
	sys, single := s.form(ctx, pt, tol)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, sigma = solver.Sketch(ctx, sys, s.t.space.rhs(pt.eta), sylvester.Options{Tol: tol, Single: single})
	})
	return U, sigma
}

func (s *systemStep) solve(ctx context.Context, pt *point, tol float64) error {
	sys, single := s.form(ctx, pt, tol)
	if s.eta != nil && !slices.Equal(pt.eta, s.eta) {
		s.solver.Invalidate()
	}
	s.eta = append(s.eta[:0], pt.eta...)
	var (
		res sylvester.Result
		err error
	)
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		res, err = s.call(ctx, pt, sys, sylvester.Options{Tol: tol, Single: single})
		if errors.Is(err, sylvester.ErrNotSPD) {
			res, err = s.solveRaised(ctx, pt, sys, tol, err)
		}
	})
	if err != nil && !errors.Is(err, sylvester.ErrNotConverged) {
		return err
	}
	if res.KC.Data == nil { // of a cancelled solve
		return ctx.Err()
	}
	blas.Copy(pt.AX, res.KC)
	return nil
}

// call is one call of the solver.
func (s *systemStep) call(ctx context.Context, pt *point, sys sylvester.System, opt sylvester.Options) (sylvester.Result, error) {
	res, err := s.solver.Solve(ctx, pt.X, sys, s.t.space.rhs(pt.eta), opt)
	s.cost.solves++
	s.cost.columns += res.Columns
	s.cost.solver = res.Solver
	pt.residual, pt.single = res.Residual, res.Single
	return res, err
}

// indefinite returns an eigenvalue of A, of the given trace, that is more negative than
// rounding explains, or 0 where a few Lanczos iterations find none.
func (s *systemStep) indefinite(ctx context.Context, A linop.Operator, trace float64) (float64, error) {
	res, err := lanczos.Eigs(ctx, A, lanczos.Options{
		Which: lanczos.Smallest, AbsTol: psdSlack * trace, Tol: 0x1p-50, MaxIter: indefiniteSteps, Seed: s.t.seed, Backend: s.t.be,
	})
	s.cost.columns += res.Applies
	if err != nil && !errors.Is(err, lanczos.ErrNotConverged) {
		return 0, err
	}
	if v := res.Values[0]; v < -psdSlack*trace {
		return v, nil
	}
	return 0, nil
}

// solveRaised performs the C step for which the solver found the system not positive
// definite. Either A_η is indefinite as given, which is ErrNotPSD, or μ is lost in the
// rounding of A_η·L: then a larger shift takes its place. The certificate holds for
// these coefficients as for any.
func (s *systemStep) solveRaised(ctx context.Context, pt *point, sys sylvester.System, tol float64, cause error) (sylvester.Result, error) {
	trace := s.t.space.traceOf(pt.eta)
	value, err := s.indefinite(ctx, sys.K, trace)
	if err == nil && value < 0 {
		err = fmt.Errorf("%w: an eigenvalue of their weighted sum is at most %g, its trace %g: %w", ErrNotPSD, value, trace, cause)
	}
	if err != nil {
		return sylvester.Result{}, err
	}
	shift := firstRaise * trace * maxOf(pt.L.S)
	for range raises {
		sys.Mu = s.t.mu + shift
		blas.Zero(pt.X)
		res, err := s.call(ctx, pt, sys, sylvester.Options{Tol: tol})
		if err == nil || errors.Is(err, sylvester.ErrNotConverged) {
			s.cost.raised = max(s.cost.raised, sys.Mu)
			pt.residual += shift * blas.Frob(pt.X) / blas.Frob(s.t.space.rhs(pt.eta))
			return res, nil
		}
		if !errors.Is(err, sylvester.ErrNotSPD) {
			return res, err
		}
		cause, shift = err, raiseBy*shift
	}
	return sylvester.Result{}, fmt.Errorf("%w: %w", ErrNotConverged, cause)
}

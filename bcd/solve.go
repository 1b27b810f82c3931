package bcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// method minimises from the given start until the certificate meets Tol,
// leaving the point to return in run.best.
type method func(r *run, ctx context.Context, pt *point) error

var methods = map[string]method{
	"closed":  (*run).closed,
	"reduced": (*run).reduced,
	"paper":   (*run).paper,
	"okl":     (*run).okl,
}

// Solvers lists the names that Options.Solver takes.
func Solvers() []string {
	var names []string
	for name := range methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// defaults fills in the zero values of opt.
func (opt Options) defaults() (Options, error) {
	if opt.Solver == "" {
		opt.Solver = "reduced"
	}
	if opt.Sylvester == "" {
		opt.Sylvester = "auto"
	}
	if opt.Tol == 0 {
		opt.Tol = 1e-4
	}
	if opt.MaxOuter == 0 {
		opt.MaxOuter = 1000
	}
	if methods[opt.Solver] == nil {
		return opt, fmt.Errorf("%w: unknown solver %q (have %s)", ErrInput, opt.Solver, strings.Join(Solvers(), ", "))
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"Tol", opt.Tol}, {"InnerTol", opt.InnerTol}, {"Rho", opt.Rho}, {"Smoothing", opt.Smoothing}} {
		if !(f.v >= 0) {
			return opt, fmt.Errorf("%w: %s = %g", ErrInput, f.name, f.v)
		}
	}
	if !opt.checkSchedule() {
		return opt, fmt.Errorf("%w: a schedule needs CG > 0 and SDP ≥ 1, got %v", ErrInput, opt.Schedule)
	}
	if opt.MaxOuter < 0 {
		return opt, fmt.Errorf("%w: MaxOuter = %d", ErrInput, opt.MaxOuter)
	}
	return opt, nil
}

// Solve minimises p. A nil error means that the result's RelativeGap, computed
// there over all kernels, is at most opt.Tol. Otherwise the result, unless the
// input was invalid, is the best point so far with its own certificate, and the
// error wraps [ErrNotConverged], [ErrNotPSD], the context's error or Trace's.
// Invalid input is [ErrInput], with no result.
func Solve(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	opt, err := opt.defaults()
	if err != nil {
		return nil, err
	}
	q, err := p.check()
	if err != nil {
		return nil, err
	}
	if s := opt.Start; s != nil {
		if err := s.check(q); err != nil {
			return nil, err
		}
		q.Eta, q.L = slices.Clone(s.Eta), s.L.Clone()
	}
	rho := 0.0
	if opt.Solver == "okl" {
		if rho = opt.Rho; rho == 0 {
			rho = q.Lambda
		}
	}
	q, u, rho := q.inUnits(rho)
	q, P, whole, err := reduceOutputs(q, opt)
	if err != nil {
		return nil, err
	}
	r, err := newRun(q, opt)
	if err != nil {
		return nil, err
	}
	r.P, r.whole, r.units, r.rho = P, whole, u, rho
	r.collect()
	pt := r.begin(q.Eta, q.L)
	r.resume(pt)
	if err = r.trace(pt); err == nil {
		err = r.minimize(ctx, pt)
	}
	if e := errors.Join(r.finish(), r.cover(context.Background(), r.best)); err == nil {
		err = e
	}
	res := r.result()
	if err = r.explained(err); err == nil && !res.Converged {
		err = fmt.Errorf("%w: relative gap %.3g after %d outer iterations, wanted %.3g", ErrNotConverged, res.RelativeGap, res.OuterIterations, opt.Tol)
		if r.raised > 0 {
			err = fmt.Errorf("%w: %w: λl = %.3g is lost in the rounding of the kernels times L", err, ErrLambdaTooSmall, p.Lambda*float64(r.l))
		}
	}
	return res, err
}

// explained is err as ErrNotConverged where, after a first C step that shows the
// input to be sound, weights and output kernel have left the range of float64.
func (r *run) explained(err error) error {
	for _, known := range []error{ErrNotConverged, ErrNotPSD, context.Canceled, context.DeadlineExceeded, memory.ErrTooLarge} {
		if errors.Is(err, known) {
			return err
		}
	}
	if err == nil || r.stopped != nil || r.solves <= 1 {
		return err
	}
	return fmt.Errorf("%w: numbers left the range of float64 at outer iteration %d: %s", ErrNotConverged, r.iter, err)
}

// step makes the point that the weights and output kernel lead to, with pt's
// coefficients as its start. pt stays as it is.
func (r *run) step(pt *point, eta []float64, L *linop.Spectral) *point {
	next := &point{eta: eta, L: L, residual: 1, cert: pt.cert} // whose gap sets the first tolerance
	next.X, next.AX = cloneLike(pt.X), cloneLike(pt.AX)
	copy(next.X.Data, pt.X.Data)
	r.space.rebase(next.X, pt.eta, eta)
	next.c = make([]float64, r.m)
	return next
}

// resume takes the counts and the coefficients of the state to continue from.
func (r *run) resume(pt *point) {
	s := r.opt.Start
	if s == nil {
		return
	}
	r.iter, r.solves, r.columns = s.Iter, s.SylvesterSolves, s.KernelMultiplies
	if r.P.Data == nil {
		blas.Copy(pt.X, s.X)
	} else {
		blas.Mul(r.be, pt.X, false, false, s.X, r.P)
	}
	blas.Scal(1/r.units.x, pt.X.Data)
}

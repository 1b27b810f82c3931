package bcd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Solvers lists the names that Options.Solver takes.
func Solvers() []string {
	return slices.Sorted(maps.Keys(methods))
}

// Tolerance returns the relative gap that a fit aims at, and the largest that is no error. Both are the tolerance asked
// for. If that is 0 they are 1e-4 and 1e-3. Without a tolerance asked for, a fit also succeeds when its gap is less
// than the objective, and at most 1e-4 times the objective of the function 0: targets without noise have a minimum that
// is a small part of the latter.
func Tolerance(asked float64) (goal, most float64) {
	if asked == 0 {
		return 1e-4, 1e-3
	}
	return asked, asked
}

// defaults fills in the zero values of opt.
func (opt Options) defaults() (Options, error) {
	opt.Solver, opt.Sylvester = cmp.Or(opt.Solver, "reduced"), cmp.Or(opt.Sylvester, "auto")
	opt.Tol, opt.most = Tolerance(opt.Tol)
	opt.MaxOuter = cmp.Or(opt.MaxOuter, 1000)
	if methods[opt.Solver] == nil {
		return opt, fmt.Errorf("%w: unknown solver %q (have %s)", ErrInput, opt.Solver, strings.Join(Solvers(), ", "))
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"Tol", opt.Tol}, {"InnerTol", opt.InnerTol}, {"Rho", opt.Rho}} {
		if !(f.v >= 0) {
			return opt, fmt.Errorf("%w: %s = %g", ErrInput, f.name, f.v)
		}
	}
	if slices.ContainsFunc(opt.Schedule, func(s Inexact) bool { return !(s.CG > 0) || s.SDP < 1 }) {
		return opt, fmt.Errorf("%w: a schedule needs CG > 0 and SDP ≥ 1, got %v", ErrInput, opt.Schedule)
	}
	if opt.MaxOuter < 0 {
		return opt, fmt.Errorf("%w: MaxOuter = %d", ErrInput, opt.MaxOuter)
	}
	return opt, nil
}

// Solve minimises p. A nil error means that the RelativeGap of the result, computed at the returned point over all
// kernels, is at most opt.Tol; where opt.Tol is 0, that it is at most the larger bound of [Tolerance], and Converged
// tells whether it met the smaller. ErrInput is returned without a result. With any other error the result is the best
// point so far and its certificate; the error wraps ErrNotConverged, ErrNotPSD, that of the context, or that of Trace.
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
	if q.Model&Sum != 0 {
		return solveSum(ctx, q, opt)
	}
	return solveProduct(ctx, q, opt)
}

// solveProduct is [Solve] for the product model.
func solveProduct(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	if p.Space.shared().loss != nil && (opt.Solver == "okl" || opt.Solver == "paper") {
		return nil, fmt.Errorf("%w: the solver %s takes the squared loss alone", ErrInput, opt.Solver)
	}
	rho := 0.0
	if opt.Solver == "okl" {
		rho = cmp.Or(opt.Rho, p.Lambda)
	}
	q, u, rho := p.inUnits(rho)
	q, b, err := reduceOutputs(ctx, q, opt)
	if err != nil {
		return nil, err
	}
	near := p.L == nil && q.startOnPart(ctx, opt)
	f := newFit(q, opt, rho, b, u)
	f.near = near
	model, err := newProduct(f)
	f.basis.collect()
	if err != nil {
		return nil, err
	}
	m := methods[opt.Solver](model)
	if opt.hold {
		m = f.held
	}
	if b.whole != nil {
		m = model.growing(m)
	}
	pt := f.t.start(q.Eta, q.L)
	if opt.Start != nil {
		model.resume(pt, opt.Start)
	}
	return f.run(ctx, m, pt)
}

// Hold performs the C step of p at the weights and the output kernels of opt.Start, to the relative residual
// opt.InnerTol. It certifies the point against all that p learns. opt.Start.X is the start of the C step alone. A nil
// error means that C was found, whatever the gap of the point; other errors are those of [Solve].
func Hold(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	opt.hold = true
	return Solve(ctx, p, opt)
}

// held is the method of [Hold]: one C step.
func (f *fit) held(ctx context.Context, pt *point, goal float64) error {
	if err := f.solve(ctx, pt, f.tolFor(pt, warmUpShare, goal)); err != nil {
		return err
	}
	f.best = pt
	return f.cover(ctx, pt)
}

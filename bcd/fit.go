// This file runs a fit: it evaluates points, keeps the best certified one, and describes the result.

package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// fit is one call of Solve: what is solved, by which C step, and how far it has come.
type fit struct {
	t     *task
	c     cStep
	opt   Options
	basis basis
	units units

	iter    int
	share   float64 // of the relative gap that a C step may leave open
	best    *point  // the certified point to return
	stopped error   // by Trace
}

func newFit(p *Problem, opt Options, rho float64, b basis, u units) (*fit, error) {
	f := &fit{t: newTask(p, opt, rho), opt: opt, basis: b, units: u, share: innerShare}
	c, err := newSystemStep(f.t, opt.Sylvester)
	f.c = c
	f.basis.collect()
	return f, err
}

// resume takes the counts and the coefficients of the state to continue from.
func (f *fit) resume(pt *point) {
	s := f.opt.Start
	if s == nil {
		return
	}
	cost := f.c.effort()
	f.iter, cost.solves, cost.columns = s.Iter, s.SylvesterSolves, s.KernelMultiplies
	f.basis.reduce(f.t.be, pt.X, s.X)
	blas.Scal(1/f.units.x, pt.X.Data)
}

// method minimises from pt until the relative gap is at most goal, no step makes
// progress or the iterations are spent. What it accepts is in the fit.
type method interface {
	minimize(ctx context.Context, pt *point, goal float64) error
}

var methods = map[string]func(f *fit) method{
	"closed":  func(f *fit) method { return closedForms{f} },
	"reduced": func(f *fit) method { return &reduced{f: f} },
	"paper":   newPaper,
	"okl":     newOKL,
}

// solve performs the C step at pt.
func (f *fit) solve(ctx context.Context, pt *point, tol float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.c.solve(ctx, pt, tol)
}

// measure measures pt on the kernels of idx.
func (f *fit) measure(ctx context.Context, pt *point, idx []int) error {
	columns, err := f.t.measure(ctx, pt, idx)
	f.c.effort().columns += columns
	return err
}

// evaluate performs the C step at pt and certifies the result over all kernels.
func (f *fit) evaluate(ctx context.Context, pt *point, tol, goal float64) error {
	if err := f.solve(ctx, pt, tol); err != nil {
		return err
	}
	if err := f.measure(ctx, pt, f.t.all); err != nil {
		return err
	}
	if err := f.certify(ctx, pt); err != nil {
		return err
	}
	return f.accept(pt, goal)
}

// certify computes the certificate of a measured point.
func (f *fit) certify(ctx context.Context, pt *point) (err error) {
	phase.Do(ctx, phase.Certificate, func(context.Context) { err = f.t.certify(pt) })
	return err
}

// accept keeps the certified pt as the point to return when it is better than the one
// before, and shows it to Trace.
func (f *fit) accept(pt *point, goal float64) error {
	if f.better(pt, goal) {
		f.best = pt
	}
	f.basis.collect()
	return f.trace(pt)
}

// better reports whether pt is to be returned rather than the best so far: a point
// that meets the goal beats one that does not, then the smaller gap counts, without
// it the lower objective.
func (f *fit) better(pt *point, goal float64) bool {
	if pt.meets(goal) != f.best.meets(goal) {
		return pt.meets(goal)
	}
	if pt.meets(goal) {
		return pt.cert.relative() <= f.best.cert.relative()
	}
	return !(f.best.cert.objective < pt.cert.objective)
}

// meets reports whether the relative gap of pt is at most tol.
func (pt *point) meets(tol float64) bool {
	gap := pt.cert.relative()
	if pt.single {
		gap += singleSlack
	}
	return gap <= tol
}

// ends reports whether a method is to end at pt.
func (f *fit) ends(pt *point, goal float64) bool { return pt.meets(goal) || f.spent() }

func (f *fit) spent() bool { return f.iter >= f.opt.MaxOuter }

// tolFor is the relative residual asked of the next C step. An error of relative size
// ε in C moves the two sides of the certificate by ε²‖Y‖²/l or less, and the forms c
// and G by O(ε): a share of the gap at hand keeps both below it. That is so in sample
// space; the space translates.
func (f *fit) tolFor(pt *point, share, goal float64) float64 {
	if f.opt.InnerTol > 0 {
		return f.opt.InnerTol
	}
	loosest := innerLoosest
	if f.c.effort().solves == 0 {
		loosest = innerFirst
	}
	tol := math.Min(loosest, share*math.Max(pt.cert.relative(), goal))
	return math.Max(innerTightest, tol*f.t.space.residualScale(pt.eta, pt.L, f.t.mu))
}

// finish certifies the point to return over all kernels and in double precision. The function 0
// takes its place where rounding has left nothing better and no bound.
func (f *fit) finish() error {
	err, pt := f.complete(f.best), f.best
	zero := &point{eta: f.t.zeroWeights(pt.eta), L: pt.L, measures: measures{fit: f.t.space.normY2()}}
	U := pt.cert.objective
	if bounded := U >= 0 && pt.cert.relative() < 1; !bounded && !(U+pt.rounding.fit/float64(f.t.l) <= f.t.objective(zero)) {
		f.best = f.t.start(zero.eta, zero.L)
	}
	return err
}

// complete measures pt on all kernels and with a product in double precision.
func (f *fit) complete(pt *point) error {
	if pt.complete && !pt.single {
		return nil
	}
	if pt.single {
		f.t.space.at(pt.eta, false).Apply(pt.AX, pt.X)
		f.c.effort().columns += pt.X.Cols
		pt.single = false
	}
	if err := f.measure(context.Background(), pt, f.t.all); err != nil {
		return err
	}
	return f.t.certify(pt)
}

func (f *fit) trace(pt *point) error {
	if f.opt.Trace == nil {
		return nil
	}
	cost := f.c.effort()
	step := Step{
		Iter: f.iter, Objective: f.units.value(pt.cert.objective),
		GapEta: f.units.value(pt.cert.gapEta), GapL: f.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Residual: pt.residual, SylvesterSolves: cost.solves,
		KernelMultiplies: cost.columns, Eta: pt.eta, Rank: pt.L.Rank(), single: pt.single,
	}
	step.state = func() *State {
		X, L := f.solution(pt)
		return &State{
			Solver: f.opt.Solver, Iter: step.Iter, SylvesterSolves: step.SylvesterSolves,
			KernelMultiplies: step.KernelMultiplies, Eta: slices.Clone(step.Eta), L: L, X: X,
		}
	}
	f.stopped = f.opt.Trace(step)
	return f.stopped
}

// explained is err as ErrNotConverged where the kernels are sound, so that weights,
// output kernel or coefficients have left the range of float64.
func (f *fit) explained(err error) error {
	for _, known := range []error{ErrNotConverged, ErrNotPSD, context.Canceled, context.DeadlineExceeded, memory.ErrTooLarge} {
		if errors.Is(err, known) {
			return err
		}
	}
	if err == nil || f.stopped != nil || !f.soundKernels() {
		return err
	}
	return fmt.Errorf("%w: numbers left the range of float64 at outer iteration %d: %s", ErrNotConverged, f.iter, err)
}

// soundKernels reports whether no kernel of weight at the best point holds NaN or an
// infinity: a product with a vector without zeros would show them.
func (f *fit) soundKernels() bool {
	u := probeVector(f.t.space.Unknowns())
	v := cloneLike(u)
	f.t.space.at(f.best.eta, false).Apply(v, u)
	return checkFinite("", v) == nil
}

// solution is copies of X and L of pt for all outputs, in the caller's units.
func (f *fit) solution(pt *point) (blas.General, *linop.Spectral) {
	X, L := f.basis.restore(f.t, pt)
	return f.units.restore(X, L)
}

// result describes the point to return and ends the fit.
func (f *fit) result() *Result {
	pt, cost := f.best, f.c.effort()
	res := &Result{
		Eta:       slices.Clone(pt.eta),
		Objective: f.units.value(pt.cert.objective),
		GapEta:    f.units.value(pt.cert.gapEta), GapL: f.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Converged: pt.meets(f.opt.Tol),
		OuterIterations: f.iter, SylvesterSolves: cost.solves, KernelMultiplies: cost.columns,
		Solver: f.opt.Solver, Sylvester: cost.solver,
	}
	f.c, f.t.work = nil, work{}
	pt.AX, pt.measures = blas.General{}, measures{}
	f.basis.collect()
	res.C, res.L = f.units.restore(f.basis.handOver(f.t, pt))
	return res
}

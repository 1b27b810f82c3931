package bcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// fit is one call of Solve: what is solved, and how far it has come.
type fit struct {
	t     *task
	model model
	opt   Options
	basis basis
	units units
	cost  effort

	iter    int
	most    int     // iterations after which to stop
	loosest float64 // relative residual of the next C step
	share   float64 // of the relative gap that a C step may leave open
	best    *point  // the certified point to return
	near    bool    // weights and output kernel start near the best
	stopped error   // by Trace
}

// model is what the product model and the sum of separable kernels do each in their way.
type model interface {
	// coefficients finds those of pt to the relative residual tol, starting from pt.X, or as near as it gets:
	// pt.X and pt.residual.
	coefficients(ctx context.Context, pt *point, tol float64) error
	// fill fills in what pt tells of the kernels of idx, among which are those of weight.
	fill(ctx context.Context, pt *point, idx []int) error
	// gaps computes the certificate of pt over the kernels that were measured.
	gaps(pt *point) error
	// salvage accepts what a cancelled C step at pt has reached, where a later fit can go on from there.
	salvage(pt *point, goal float64)
	// finish makes the point to return one that is certified over all kernels and outputs and in double precision.
	finish(ctx context.Context) error
	// freedom is that of every output at the point to return, nil where it is not defined.
	freedom(ctx context.Context) ([]float64, error)
	// terms are the K_j and L_j of the linear system at pt.
	terms(ctx context.Context, pt *point) []linop.Term
}

func newFit(p *Problem, opt Options, rho float64, b basis, u units) *fit {
	return &fit{
		t: newTask(p, opt, rho), opt: opt, basis: b, units: u, most: opt.MaxOuter, loosest: innerFirst,
		share: innerShare,
	}
}

// method minimises from pt until the relative gap is at most goal, no step makes
// progress or the iterations are spent. What it accepts is in the fit.
type method func(ctx context.Context, pt *point, goal float64) error

var methods = map[string]func(p *productModel) method{
	"closed":  func(p *productModel) method { return p.closed },
	"reduced": func(p *productModel) method { return (&reduced{productModel: p}).minimize },
	"paper":   alternating,
	"okl":     alternating,
}

// run minimises from pt, which is certified, and describes where it ends.
func (f *fit) run(ctx context.Context, minimize method, pt *point) (*Result, error) {
	f.best = pt
	err := f.trace(pt)
	if err == nil {
		err = minimize(ctx, pt, f.opt.Tol)
	}
	if e := f.model.finish(ctx); err == nil {
		err = e
	}
	err = f.explained(err)
	var (
		freedom []float64
		unknown error // what freedom is not computed for
	)
	if f.opt.Freedom && err == nil {
		freedom, unknown = f.model.freedom(ctx)
	}
	res := f.result()
	res.Freedom = freedom
	switch enough := f.enough(); {
	case f.opt.hold:
	case enough && errors.Is(err, ErrNotConverged):
		err = nil // a step has failed where enough was done
	case !enough && err == nil:
		err = fmt.Errorf("%w: relative gap %.3g after %d outer iterations, wanted %.3g", ErrNotConverged,
			res.RelativeGap, res.OuterIterations, f.opt.Tol)
		if f.cost.raised > 0 {
			err = fmt.Errorf("%w: %w: λl = %.3g is lost in the rounding of the kernels times L", err, ErrLambdaTooSmall,
				f.t.mu*f.units.b)
		}
	}
	return res, cmp.Or(err, unknown)
}

// enough reports whether the gap at the point to return is no error: see [Tolerance].
func (f *fit) enough() bool {
	cert, open := f.best.cert, f.opt.most > f.opt.Tol && f.cost.raised == 0
	small := cert.gapEta+cert.gapL <= f.opt.Tol*f.t.data.yy/float64(f.t.l)
	return cert.relative() <= f.opt.most || open && small && cert.relative() < 1
}

// solve performs the C step at pt.
func (f *fit) solve(ctx context.Context, pt *point, tol float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.loosest = innerLoosest
	return f.model.coefficients(ctx, pt, tol)
}

// measure measures pt on the kernels of idx.
func (f *fit) measure(ctx context.Context, pt *point, idx []int) (err error) {
	phase.Do(ctx, phase.Certificate, func(ctx context.Context) { err = f.model.fill(ctx, pt, idx) })
	pt.complete = len(idx) == f.t.m
	return err
}

// certify computes the certificate of a measured point.
func (f *fit) certify(ctx context.Context, pt *point) (err error) {
	phase.Do(ctx, phase.Certificate, func(context.Context) { err = f.model.gaps(pt) })
	return err
}

// cover measures and certifies pt over all kernels.
func (f *fit) cover(ctx context.Context, pt *point) error {
	if err := f.measure(ctx, pt, f.t.all); err != nil {
		return err
	}
	return f.certify(ctx, pt)
}

// covered measures and certifies pt over all kernels unless it has been measured on them, for the loss as given.
func (f *fit) covered(ctx context.Context, pt *point) error {
	if pt.complete && !pt.rounded {
		return nil
	}
	return f.cover(ctx, pt)
}

// evaluate performs the C step at pt and certifies the result over all kernels.
func (f *fit) evaluate(ctx context.Context, pt *point, tol, goal float64) error {
	if err := f.solve(ctx, pt, tol); err != nil {
		if ctx.Err() != nil {
			f.model.salvage(pt, goal)
		}
		return err
	}
	if err := f.cover(ctx, pt); err != nil {
		return err
	}
	return f.accept(pt, goal)
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
	if pt.arrived(goal) != f.best.arrived(goal) {
		return pt.arrived(goal)
	}
	if pt.arrived(goal) {
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

// arrived reports whether pt meets tol over all kernels.
func (pt *point) arrived(tol float64) bool { return pt.complete && pt.meets(tol) }

// ends reports whether a method is to end at pt.
func (f *fit) ends(pt *point, goal float64) bool { return pt.arrived(goal) || f.spent() }

func (f *fit) spent() bool { return f.iter >= f.most }

// tolFor is the relative residual asked of the next C step. An error of relative size
// ε in C moves the two sides of the certificate by ε²‖Y‖²/l or less, and the forms c
// and G by O(ε): a share of the gap at hand keeps both below it. That is so in sample
// space; the space translates.
func (f *fit) tolFor(pt *point, share, goal float64) float64 {
	if f.opt.InnerTol > 0 {
		return f.opt.InnerTol
	}
	gap := pt.cert.relative()
	if f.t.fixEta && f.t.fixL {
		gap = goal // this C step is the last, unless the gap that it leaves exceeds the goal
	}
	tol := math.Min(f.loosest, share*math.Max(gap, goal))
	return math.Max(innerTightest, tol*f.t.residualScale(pt))
}

// residualScale is what a relative residual in Y is to be multiplied by for one in B_η to leave the objective as near
// its minimum, at the most: in feature space ‖Y‖·√(μ/λ_max(L))/‖H_η‖, 1 at most. A residual R of the system in
// W raises the objective by (1/l)·tr(RᵀR·L·(Γ_η⊗L + μI)⁻¹) ≤ λ_max(L)·‖R‖²/(lμ),
// one in C by ‖R‖²/l.
func (t *task) residualScale(pt *point) float64 {
	if !t.data.features {
		return 1
	}
	scale := math.Sqrt(t.data.yy*t.mu/maxOf(pt.L.S)) / blas.Frob(t.system.rhs(pt.eta))
	if !(scale < 1) { // also where L or H is 0
		return 1
	}
	return scale
}

func (f *fit) trace(pt *point) error {
	if f.opt.Trace == nil {
		return nil
	}
	step := Step{
		Iter: f.iter, Objective: f.units.value(pt.cert.objective),
		GapEta: f.units.value(pt.cert.gapEta), GapL: f.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Residual: pt.residual, SylvesterSolves: f.cost.solves,
		KernelMultiplies: f.cost.columns, Eta: f.t.weights(pt), Rank: pt.rank(), single: pt.single,
	}
	step.state = func() *State {
		s := &State{
			Solver: f.opt.Solver, Iter: step.Iter, SylvesterSolves: step.SylvesterSolves,
			KernelMultiplies: step.KernelMultiplies, Eta: slices.Clone(step.Eta),
		}
		s.X, s.L, s.Ls = f.solution(pt)
		return s
	}
	f.stopped = f.opt.Trace(step)
	return f.stopped
}

// explained is err as ErrNotConverged where the kernels are sound, so that weights,
// output kernel or coefficients have left the range of float64.
func (f *fit) explained(err error) error {
	for _, known := range []error{
		ErrNotConverged, ErrNotPSD, context.Canceled, context.DeadlineExceeded,
		memory.ErrTooLarge,
	} {
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
	v := blas.Like(u)
	f.t.system.at(f.t.weights(f.best), false).Apply(v, u)
	return checkFinite("", v) == nil
}

// begin makes coefficients of the caller's the X of pt.
func (f *fit) begin(pt *point, C blas.General) {
	if P := f.basis.P; P.Data == nil {
		pt.X = blas.Clone(C)
	} else {
		pt.X = blas.Product(f.t.be, false, false, C, P)
	}
	blas.Scal(1/f.units.x, pt.X.Data)
	pt.X = f.t.data.inward(f.t.be, pt.X)
}

// solution is copies of C, of L or Σ_j L_j, and of the L_j of a sum, for all outputs, in the caller's units.
func (f *fit) solution(pt *point) (X blas.General, L *linop.Spectral, Ls []*linop.Spectral) {
	whole := func(L *linop.Spectral) *linop.Spectral {
		L = f.basis.restoreL(f.t.be, L)
		blas.Scal(f.units.L, L.S)
		return L
	}
	X = f.t.data.outward(f.t.be, f.basis.restoreX(f.t, pt))
	blas.Scal(f.units.x, X.Data)
	if pt.Ls == nil {
		return X, whole(pt.L), nil
	}
	for _, one := range pt.Ls {
		Ls = append(Ls, whole(one))
	}
	return X, whole(f.t.total(pt.Ls)), Ls
}

// result describes the point to return and ends the fit.
func (f *fit) result() *Result {
	pt := f.best
	res := &Result{
		Eta:       slices.Clone(f.t.weights(pt)),
		Objective: f.units.value(pt.cert.objective),
		GapEta:    f.units.value(pt.cert.gapEta), GapL: f.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Converged: pt.meets(f.opt.Tol),
		OuterIterations: f.iter, SylvesterSolves: f.cost.solves, KernelMultiplies: f.cost.columns,
		Solver: f.opt.Solver, Sylvester: f.cost.solver, Constants: f.constants(),
	}
	f.t.data.until(context.Background())
	f.model, f.t.work, f.t.spectrum = nil, work{}, spectrum{}
	pt.AX, pt.measures = blas.General{}, measures{}
	f.basis.collect()
	if pt.Ls != nil {
		res.LowerBound = f.units.value(math.Max(0, pt.cert.objective-pt.cert.gapL))
	}
	res.C, res.L, res.Ls = f.solution(pt)
	return res
}

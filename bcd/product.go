package bcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// effort counts the work of C steps.
type effort struct {
	solves, columns int
	solver          string  // that ran last
	raised          float64 // the largest shift that took the place of μ, 0 for none
}

// count counts a call of a solver.
func (e *effort) count(res sylvester.Result) {
	e.solves++
	e.columns += res.Columns
	e.solver = res.Solver
}

// productModel is the product model η, L. Its C step is A_ηXL + μX = B_η, or that of the observed cells, by a solver of
// package sylvester.
type productModel struct {
	*fit
	solver sylvester.Solver
	convex *LossStep // the C step of losses other than the squared one
	eta    known     // to the solver
	mixed  bool      // steps that may be rough take A_η in single precision
	free   []float64 // degrees of freedom that a C step has found beside its coefficients; nil: none
}

// newProduct makes the product model that of f.
func newProduct(f *fit) (*productModel, error) {
	p := &productModel{fit: f}
	f.model = p
	if p.convex = f.opt.LossStep; p.convex == nil {
		p.convex = NewLossStep(f.t.config())
	}
	p.mixed = slices.Contains([]string{"auto", "nystrom", "rotated"}, f.opt.Sylvester) && f.t.data.mixed
	return p, p.outputsChanged()
}

// outputsChanged makes the solver anew, for the outputs that the task has.
func (p *productModel) outputsChanged() (err error) {
	cfg := p.t.config()
	cells := p.t.data.cells
	switch {
	case p.opt.CStep != nil && p.t.data.loss == nil && (p.opt.hold || cells == nil):
		p.solver = p.opt.CStep
	default:
		p.solver, err = sylvester.New(p.opt.Sylvester, cfg)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	return nil
}

// strict reports whether a tolerance that the solver misses is an error.
func (p *productModel) strict() bool { return p.opt.hold && p.opt.CStep != nil }

// form forms A_η for a step at pt to tol, and reports whether single precision will do.
func (p *productModel) form(ctx context.Context, pt *point, tol float64) (sys sylvester.System, single bool) {
	single = tol >= singleTol && p.mixed && p.t.data.loss == nil && p.singlePrecisionSafe(pt, tol)
	return sylvester.System{K: p.t.form(ctx, pt.eta, single), L: pt.L, Mu: p.t.mu, Cells: p.t.data.cells}, single
}

// singlePrecisionSafe reports whether the system at pt is so well conditioned that A_η
// in single precision reaches tol. Its rounding leaves a relative residual of up to
// ‖A_η‖·‖L‖·2⁻²⁴/μ, a tenth of that in practice, and tr A_η is several times ‖A_η‖.
func (p *productModel) singlePrecisionSafe(pt *point, tol float64) bool {
	return pt.L.Rank() == 0 || p.t.system.trace(pt.eta)*pt.L.S[0]*0x1p-24 <= 5*tol*p.t.mu
}

// sketch is what the solver would precondition a step at pt by, see [sylvester.Sketcher],
// where it begins with a sketch and single precision may serve.
func (p *productModel) sketch(ctx context.Context, pt *point, tol float64) (U blas.General, sigma []float64) {
	solver, ok := p.solver.(sylvester.Sketcher)
	if !ok || !p.mixed {
		return U, nil
	}
	sys, single := p.form(ctx, pt, tol)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, sigma = solver.Sketch(ctx, sys, p.t.system.rhs(pt.eta), sylvester.Options{Tol: tol, Single: single})
	})
	return U, sigma
}

func (p *productModel) coefficients(ctx context.Context, pt *point, tol float64) error {
	sys, single := p.form(ctx, pt, tol)
	p.weighted(pt.eta)
	if p.t.data.loss != nil {
		return p.convexStep(ctx, pt, sys, tol)
	}
	var (
		res sylvester.Result
		err error
	)
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		res, err = p.call(ctx, pt, sys, sylvester.Options{Tol: tol, Single: single})
		if errors.Is(err, sylvester.ErrNotSPD) && !p.strict() {
			res, err = p.solveRaised(ctx, pt, sys, tol, err)
		}
	})
	if err != nil && (!errors.Is(err, sylvester.ErrNotConverged) || p.strict()) {
		return err
	}
	if res.KC.Data == nil { // of a cancelled solve
		return ctx.Err()
	}
	blas.Copy(pt.AX, res.KC)
	return nil
}

// weighted tells the solver of the weights of the kernels.
func (p *productModel) weighted(eta []float64) {
	if p.eta.change(eta) {
		p.solver.Invalidate()
	}
	if p.convex.eta.change(eta) {
		p.convex.systems.Invalidate()
	}
}

// known is the weights of the kernels that a solver knows; nil for none.
type known []float64

// change takes eta in their place, and reports whether it differs.
func (k *known) change(eta []float64) bool {
	before := *k
	*k = slices.Clone(eta)
	return before != nil && !slices.Equal(eta, before)
}

// convexStep is coefficients for losses other than the squared one.
func (p *productModel) convexStep(ctx context.Context, pt *point, sys sylvester.System, tol float64) (err error) {
	solve := func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error {
		sys.Cells = cells
		res, err := p.convex.systems.Solve(ctx, B, sys, Y, sylvester.Options{Tol: tol, Fitted: F})
		p.cost.count(res)
		if ctx.Err() != nil { // there may be no solution
			return ctx.Err()
		}
		return err
	}
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		err = p.lossStep(ctx, &p.convex.newton, pt, tol, []linop.Term{{K: sys.K, L: sys.L}}, solve)
	})
	if errors.Is(err, sylvester.ErrNotSPD) {
		err = p.indefiniteOr(ctx, sys, err)
	}
	sys.K.Apply(pt.AX, pt.X)
	var m measures
	F := p.t.predict(pt)
	p.t.measureFit(&m, pt.X, F)
	pt.residual, pt.single = p.t.loss.residual(&m, p.t.mu, pt.X, F), false
	return err
}

// call is one call of the solver.
func (p *productModel) call(
	ctx context.Context, pt *point, sys sylvester.System, opt sylvester.Options,
) (sylvester.Result, error) {
	var (
		Y   = p.t.system.rhs(pt.eta)
		res sylvester.Result
		err error
	)
	// Where one step may be all, a product with two columns takes as long as one with the only column of Y.
	if p.opt.Freedom && p.opt.CStep == nil && p.t.fixEta && p.t.fixL && Y.Cols == 1 && p.free == nil {
		p.free, res, err = sylvester.Freedom(ctx, p.solver, pt.X, sys, Y, opt, p.t.config())
	} else {
		res, err = p.solver.Solve(ctx, pt.X, sys, Y, opt)
	}
	p.cost.count(res)
	pt.residual, pt.single = res.Residual, res.Single
	return res, err
}

// indefiniteOr is ErrNotPSD, with the cause, where a few Lanczos iterations find an eigenvalue of A_η that is more
// negative than rounding explains, and nil where rounding is the cause.
func (p *productModel) indefiniteOr(ctx context.Context, sys sylvester.System, cause error) error {
	trace := p.t.system.trace(p.eta)
	res, err := lanczos.Eigs(ctx, sys.K, lanczos.Options{
		Which: lanczos.Smallest, AbsTol: psdSlack * trace, Tol: 0x1p-50, MaxIter: indefiniteSteps, Seed: p.t.seed,
		Backend: p.t.be,
	})
	p.cost.columns += res.Applies
	if err != nil && !errors.Is(err, lanczos.ErrNotConverged) {
		return err
	}
	if v := res.Values[0]; v < -psdSlack*trace {
		return fmt.Errorf("%w: an eigenvalue of their weighted sum is at most %g, its trace %g: %w", ErrNotPSD, v,
			trace, cause)
	}
	return nil
}

// solveRaised performs the C step for which the solver found the system not positive
// definite. Either A_η is indefinite as given, which is ErrNotPSD, or μ is lost in the
// rounding of A_η·L: then a larger shift takes its place. The certificate holds for
// these coefficients as for any.
func (p *productModel) solveRaised(
	ctx context.Context, pt *point, sys sylvester.System, tol float64, cause error,
) (sylvester.Result, error) {
	if err := p.indefiniteOr(ctx, sys, cause); err != nil {
		return sylvester.Result{}, err
	}
	trace := p.t.system.trace(pt.eta)
	shift := firstRaise * trace * maxOf(pt.L.S)
	for range raises {
		sys.Mu = p.t.mu + shift
		blas.Zero(pt.X)
		res, err := p.call(ctx, pt, sys, sylvester.Options{Tol: tol})
		if err == nil || errors.Is(err, sylvester.ErrNotConverged) {
			p.cost.raised = max(p.cost.raised, sys.Mu)
			pt.residual += shift * blas.Frob(pt.X) / blas.Frob(p.t.system.rhs(pt.eta))
			return res, nil
		}
		if !errors.Is(err, sylvester.ErrNotSPD) {
			return res, err
		}
		cause, shift = err, raiseBy*shift
	}
	return sylvester.Result{}, fmt.Errorf("%w: %w", ErrNotConverged, cause)
}

func (p *productModel) fill(ctx context.Context, pt *point, idx []int) error {
	p.t.data.until(ctx)
	err := p.t.measure(pt, idx)
	p.cost.columns, p.t.work.columns = p.cost.columns+p.t.work.columns, 0
	if p.t.data.ending != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (p *productModel) terms(ctx context.Context, pt *point) []linop.Term {
	return []linop.Term{{K: p.t.form(ctx, pt.eta, false), L: pt.L}}
}

func (p *productModel) gaps(pt *point) error { return p.t.certify(pt) }

// resume takes the counts and the coefficients of the state to continue from.
func (p *productModel) resume(pt *point, s *State) {
	p.iter, p.cost.solves, p.cost.columns = s.Iter, s.SylvesterSolves, s.KernelMultiplies
	if s.SylvesterSolves > 0 {
		p.loosest = innerLoosest
	}
	p.begin(pt, s.X)
}

// salvage certifies what a cancelled C step has reached, by one product with each column, where that step is all of the
// fit.
func (p *productModel) salvage(pt *point, goal float64) {
	if !p.t.fixEta || !p.t.fixL || p.t.data.loss != nil || blas.Frob(pt.X) == 0 {
		return
	}
	pt.single = true // AX is not the product
	if p.complete(pt) == nil {
		_ = p.accept(pt, goal) // the fit ends by the error of its context
	}
}

func (p *productModel) finish(ctx context.Context) error {
	err := p.settle()
	if p.basis.whole != nil {
		if e := p.coverOutputs(ctx, p.best, p.opt.Tol); err == nil {
			err = e
		}
	}
	return err
}

// settle certifies the point to return over all kernels and in double precision. The function 0
// takes its place where rounding has left nothing better and no bound.
func (p *productModel) settle() error {
	err, pt := p.complete(p.best), p.best
	if err == nil && !pt.meets(p.opt.Tol) && p.t.approximate() && !p.t.fixL { // later points may have raised the bound
		err = p.t.certify(pt)
	}
	zero := &point{eta: p.t.zeroWeights(pt.eta), L: pt.L, measures: measures{fit: p.t.data.yy}}
	U := pt.cert.objective
	if bounded := U >= 0 && pt.cert.relative() < 1; !bounded &&
		!(U+pt.rounding.fit/float64(p.t.l) <= p.t.objective(zero)) {
		p.best = p.t.start(zero.eta, zero.L)
	}
	return err
}

// freedom is that of the C step, or else by its solver.
func (p *productModel) freedom(ctx context.Context) (freedom []float64, err error) {
	if p.free != nil {
		return p.free, nil
	}
	sys, single := p.form(ctx, p.best, sylvester.FreedomTol)
	sys.Mu = max(sys.Mu, p.cost.raised) // the shift of the coefficients
	none := blas.NewGeneral(sys.K.Dim(), 0)
	opt := sylvester.Options{Single: single}
	freedom, solved, err := sylvester.Freedom(ctx, p.solver, none, sys, none, opt, p.t.config())
	p.cost.count(solved)
	return freedom, err
}

// complete measures pt on all kernels, with a product in double precision and for the loss as given.
func (p *productModel) complete(pt *point) error {
	p.t.data.loss.hold(false)
	p.t.data.until(context.Background())
	if pt.single {
		X := p.t.data.coefficients(&p.t.work, pt.X)
		p.t.system.at(pt.eta, false).Apply(pt.AX, X)
		p.cost.columns += pt.X.Cols
		pt.single, pt.complete = false, false
	}
	return p.covered(context.Background(), pt)
}

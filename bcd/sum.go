// This file fits sums of separable kernels, which have an output kernel for each kernel.

package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sumFit minimises a sum of separable kernels (Problem.Sum),
//
//	h(L_1 … L_m) = λ⟨Y, C⟩,   P_Ω(Σ_j K_jCL_j) + μC = P_Ω·Y,   ‖(tr L_1 … tr L_m)/τ‖_q ≤ 1,
//
// which is convex in all L_j together; ∂h/∂L_j = −λG_j with G_j = CᵀK_jC (mathematics.md §12).
type sumFit struct {
	t      *task
	s      *samples
	norm   Lp
	opt    Options
	basis  basis
	units  units
	solver *sylvester.Sum
	K      []linop.Operator // K_j
	cost   effort

	iter    int
	most    int       // iterations after which to stop
	share   float64   // of the relative gap that a C step may leave open
	low     float64   // the largest lower bound of min h
	best    *sumPoint // the certified point to return
	stopped error     // by Trace

	together bool // the L_j of the start are multiples of one matrix
}

// SumSolvers lists the names that Options.Solver takes for a sum of separable kernels.
func SumSolvers() []string { return []string{"atoms", "reduced"} }

// minimize goes on from pt until the relative gap is at most the tolerance, no step makes progress, or the iterations are
// spent. [interior] comes first where its steps take up to interiorFirst operations, else the method of the given name;
// interior follows it after interiorAfter iterations where its steps take up to interiorLast.
func (f *sumFit) minimize(ctx context.Context, pt *sumPoint) error {
	switch work, _ := f.work(); {
	case work > interiorLast:
		return f.descents(ctx, pt)
	case work > interiorFirst || f.opt.Solver == "atoms":
		f.most = min(f.most, f.iter+interiorAfter)
		if err := f.descents(ctx, pt); err != nil {
			return err
		}
		f.most = f.opt.MaxOuter
	}
	for _, method := range []func(context.Context, *sumPoint) error{f.inside, f.descents} {
		if f.done(f.best) {
			break
		}
		if err := f.covered(ctx, f.best); err != nil {
			return err
		}
		if err := method(ctx, f.best); err != nil {
			return err
		}
	}
	return nil
}

// descents runs the method of the given name, after closed forms from multiples of one matrix, from pt.
func (f *sumFit) descents(ctx context.Context, pt *sumPoint) error {
	if f.opt.Solver == "atoms" {
		return f.atoms(ctx, pt, f.opt.Tol)
	}
	if f.together {
		f.together = false
		var err error
		if pt, err = f.closedForms(ctx, pt); err != nil || f.done(pt) {
			return err
		}
	}
	for {
		before := f.iter
		next, err := f.descend(ctx, &chart{sumFit: f}, pt, f.opt.Tol)
		if err != nil || f.done(f.best) || f.iter == before {
			return err
		}
		// Steps in the metric of whole output kernels have ended above the tolerance; steps
		// in coordinates of their leading eigenvectors may lower the objective further.
		if err := f.covered(ctx, next); err != nil {
			return err
		}
		least := f.best.objective
		if err := f.atoms(ctx, next, f.opt.Tol); err != nil || f.done(f.best) || !(f.best.objective < least-f.noise(f.best)) {
			return err
		}
		pt, f.share = f.best, innerShare
		if err := f.covered(ctx, pt); err != nil {
			return err
		}
	}
}

// done reports whether pt ends the fit.
func (f *sumFit) done(pt *sumPoint) bool {
	return f.spent() || pt.complete && pt.relative() <= f.opt.Tol
}

// cover measures and certifies pt over all kernels.
func (f *sumFit) cover(ctx context.Context, pt *sumPoint) error {
	if err := f.measure(ctx, pt, f.t.all); err != nil {
		return err
	}
	return f.certify(pt, f.t.all)
}

// covered does so where pt is not.
func (f *sumFit) covered(ctx context.Context, pt *sumPoint) error {
	if pt.complete {
		return nil
	}
	return f.cover(ctx, pt)
}

// CheckSum returns why p cannot be solved with an output kernel for each kernel, as [Problem].Sum asks; nil where it can.
func (p *Problem) CheckSum() error {
	q, err := p.check()
	if err != nil {
		return err
	}
	return q.checkSum(Options{Solver: "reduced"})
}

// checkSum refuses what the sum of separable kernels is not defined, or not built, for.
func (p *Problem) checkSum(opt Options) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: a sum of separable kernels %s", ErrInput, fmt.Sprintf(format, args...))
	}
	_, ok := p.Norm.(Lp)
	switch {
	case !slices.Contains(SumSolvers(), opt.Solver):
		return refuse("is solved by %s, not by %q", strings.Join(SumSolvers(), " or "), opt.Solver)
	case !ok:
		return refuse("takes l_p norms, not %s", p.Norm)
	case p.FixEta || p.FixL:
		return refuse("learns all its output kernels: weights or L cannot stay fixed")
	}
	switch s := p.Space.(type) {
	case *features:
		if _, ok := s.gamma.(implicit); ok {
			return refuse("needs Γ, which is known by its products only: take fewer features, or fit the product model")
		}
	case sampled:
		if _, ok := s.inSamples().K.(linop.Separate); !ok {
			return refuse("needs products with single kernels, which %T does not offer", s.inSamples().K)
		}
	}
	m, n := p.Space.Kernels(), min(p.Space.Unknowns(), p.Space.Outputs())
	if n >= maxOutputs {
		return refuse("keeps one %d×%d matrix for each kernel: with that many outputs fit the product model", n, n)
	}
	numbers := m * n * n
	return memory.Allow(opt.MaxBytes, fmt.Sprintf("bcd: the steps of %d output kernels of %d outputs", m, n), 8*float64(numbers)*float64(3*mostPairs(numbers)+10), "fit the product model")
}

// sampled is a Space of coefficients of samples.
type sampled interface{ inSamples() *samples }

// solveSum is [Solve] for a sum of separable kernels. Without a state to start from, the
// product model, solved to sumStartTol, is the start: L_j = η_j·L.
func solveSum(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	if err := p.checkSum(opt); err != nil {
		return nil, err
	}
	if f, ok := p.Space.(*features); ok {
		rows, err := f.stand(opt.Backend)
		if err != nil {
			return nil, err
		}
		return rows.solve(ctx, p, opt)
	}
	start := opt.Start
	var before effort
	if start == nil {
		product, how := *p, opt
		product.Sum, how.Solver, how.Trace = false, "", nil
		how.Tol, how.MaxOuter = math.Max(opt.Tol, sumStartTol), min(opt.MaxOuter, sumStartSteps)
		res, err := Solve(ctx, &product, how)
		if res == nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, ErrNotConverged) && ctx.Err() == nil {
			return nil, err
		}
		start = &State{Eta: res.Eta, L: res.L, X: res.C}
		before = effort{solves: res.SylvesterSolves, columns: res.KernelMultiplies}
	}
	f, pt, err := newSumFit(ctx, p, opt, start)
	if err != nil {
		return nil, err
	}
	if start == opt.Start {
		before = effort{solves: start.SylvesterSolves, columns: start.KernelMultiplies}
		f.iter = start.Iter
	}
	f.cost = before
	f.best = pt
	if err := f.cover(ctx, pt); err != nil {
		return nil, err
	}
	if err = f.trace(pt); err == nil && !(pt.relative() <= opt.Tol) {
		err = f.minimize(ctx, pt)
	}
	if failed := f.covered(context.WithoutCancel(ctx), f.best); failed != nil {
		err = errors.Join(err, failed)
	}
	res := f.result()
	if err == nil && !res.Converged {
		err = fmt.Errorf("%w: relative gap %.3g after %d outer iterations, wanted %.3g", ErrNotConverged, res.RelativeGap, res.OuterIterations, opt.Tol)
	}
	return res, err
}

// newSumFit is the fit of p in units of its own, with its outputs reduced, and the
// point of the state s, cut to be feasible.
func newSumFit(ctx context.Context, p *Problem, opt Options, s *State) (*sumFit, *sumPoint, error) {
	q, u, _ := p.inUnits(0)
	q, b, err := reduceOutputs(ctx, q, opt)
	if err != nil {
		return nil, nil, err
	}
	f := &sumFit{t: newTask(q, opt, 0), norm: p.Norm.(Lp), opt: opt, basis: b, units: u, most: opt.MaxOuter, share: innerShare, together: s.Ls == nil}
	f.s = q.Space.(sampled).inSamples()
	f.solver = sylvester.NewSum(f.s.cells, sylvester.Config{Backend: f.t.be, Seed: opt.Seed})
	f.solver.Average(f.s.K, 1/f.s.unit)
	for j := range f.t.m {
		f.K = append(f.K, sampleTerm{f.s, j})
	}
	pt := &sumPoint{C: blas.NewGeneral(f.s.Y.Rows, f.t.n)}
	traces := make([]float64, f.t.m)
	for j := range f.t.m {
		L := s.L
		scale := 1 / u.L
		if s.Ls != nil {
			L = s.Ls[j]
		} else {
			scale *= s.Eta[j]
		}
		if scale == 0 {
			L = &linop.Spectral{V: blas.NewGeneral(p.Space.Outputs(), 0)}
		}
		if b.P.Data != nil {
			if L, err = compress(f.t.be, L, b.P); err != nil {
				return nil, nil, err
			}
		}
		L = &linop.Spectral{V: L.V, S: slices.Clone(L.S)}
		blas.Scal(scale, L.S)
		pt.L = append(pt.L, L)
		traces[j] = L.Trace() / f.t.tau
	}
	if size := norm(traces, f.norm.q()); size > 1 {
		for _, L := range pt.L {
			blas.Scal(1/size, L.S)
		}
	}
	b.reduce(f.t.be, pt.C, s.X)
	blas.Scal(1/u.x, pt.C.Data)
	return f, pt, nil
}

// accept keeps the certified pt as the point to return when its gap is smaller, or,
// where neither meets the goal, its objective lower, and shows it to Trace.
func (f *sumFit) accept(pt *sumPoint, goal float64) error {
	old, new := f.best.relative() <= goal && f.best.complete, pt.relative() <= goal && pt.complete
	if new && !old || new == old && pt.objective <= f.best.objective {
		f.best = pt
	}
	return f.trace(pt)
}

func (f *sumFit) spent() bool { return f.iter >= f.most }

func (f *sumFit) trace(pt *sumPoint) error {
	if f.opt.Trace == nil {
		return nil
	}
	eta, rank := f.weights(pt), 0
	for _, L := range pt.L {
		rank += L.Rank()
	}
	step := Step{
		Iter: f.iter, Objective: f.units.value(pt.objective), GapL: f.units.value(pt.gap), RelativeGap: pt.relative(),
		Residual: pt.residual, SylvesterSolves: f.cost.solves, KernelMultiplies: f.cost.columns, Eta: eta, Rank: rank,
	}
	step.state = func() *State {
		s := &State{Solver: f.opt.Solver, Iter: step.Iter, SylvesterSolves: step.SylvesterSolves, KernelMultiplies: step.KernelMultiplies, Eta: eta}
		s.X, s.L, s.Ls = f.solution(pt)
		return s
	}
	f.stopped = f.opt.Trace(step)
	return f.stopped
}

// result describes the point to return.
func (f *sumFit) result() *Result {
	pt := f.best
	res := &Result{
		Eta: f.weights(pt), Objective: f.units.value(pt.objective), GapL: f.units.value(pt.gap), RelativeGap: pt.relative(),
		LowerBound: f.units.value(math.Max(0, pt.objective-pt.gap)), Converged: pt.relative() <= f.opt.Tol,
		OuterIterations: f.iter, SylvesterSolves: f.cost.solves, KernelMultiplies: f.cost.columns,
		Solver: f.opt.Solver, Sylvester: f.cost.solver,
	}
	f.t.work, pt.G = work{}, nil
	res.C, res.L, res.Ls = f.solution(pt)
	return res
}

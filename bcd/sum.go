package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/bcd/internal/semismooth"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

// sumModel is the model of separable kernels ([Sum]), and the method that minimises
//
//	h(L_1 … L_m) = λ⟨Y, X⟩,   P(Σ_j K_jCL_j) + μX = Y,   C = P·X,   ‖(tr L_1 … tr L_m)/τ‖_q ≤ 1,
//
// which is convex in all L_j together; ∂h/∂L_j = −λG_j with G_j = CᵀK_jC (mathematics.md §12).
type sumModel struct {
	*fit
	s            *samples
	norm         regularizer.Lp
	solver       *sylvester.Sum
	K            []linop.Operator  // K_j
	low          float64           // the largest lower bound of min h
	newton       semismooth.Newton // the C step of losses other than the squared one
	proportional bool              // the L_j of the start are multiples of one matrix
}

// minimize goes on from pt until the relative gap is at most the tolerance, no step makes progress, or the iterations
// are spent. [interior.Sum] comes first where its steps take up to interiorFirst operations, else quasi-Newton steps;
// it follows them after interiorAfter iterations where its steps take up to interiorLast.
func (f *sumModel) minimize(ctx context.Context, pt *point, _ float64) error {
	if pt.arrived(f.opt.Tol) {
		return nil
	}
	if f.s.loss.kinked() {
		return f.withoutKinks(ctx, pt, f.opt.Tol, f)
	}
	switch work, _ := f.innerProblem().Work(); {
	case work > interiorLast || f.s.loss != nil:
		return f.descents(ctx, pt)
	case work > interiorFirst:
		f.most = min(f.most, f.iter+interiorAfter)
		if err := f.descents(ctx, pt); err != nil {
			return err
		}
		f.most = f.opt.MaxOuter
	}
	for _, method := range []func(context.Context, *point) error{f.inside, f.descents} {
		if f.ends(f.best, f.opt.Tol) {
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

// descents descends to the tolerance.
func (f *sumModel) descents(ctx context.Context, pt *point) error {
	_, err := f.descend(ctx, pt, f.opt.Tol)
	return err
}

// descend takes closed forms from multiples of one matrix, and then quasi-Newton steps, from pt, and returns where it
// ends.
func (f *sumModel) descend(ctx context.Context, pt *point, goal float64) (*point, error) {
	if f.proportional {
		f.proportional = false
		var err error
		if pt, err = f.closedForms(ctx, pt, goal); err != nil || f.ends(pt, goal) {
			return pt, err
		}
	}
	return f.quasiNewton(ctx, pt, goal)
}

func (f *sumModel) again(pt *point) *point {
	f.low = math.Inf(-1)
	return f.next(pt, pt.Ls)
}

func (f *sumModel) sharpen(_ context.Context, pt *point, fall float64) error {
	f.newton.Sharpen(pt.X, fall)
	return nil
}

// salvage does nothing: a cancelled C step is not all of a fit of a sum.
func (f *sumModel) salvage(*point, float64) {}

// freedom is not defined for sums.
func (f *sumModel) freedom(context.Context) ([]float64, error) { return nil, nil }

// finish certifies the point to return over all kernels, for the loss as given.
func (f *sumModel) finish(context.Context) error {
	f.s.loss.hold(false)
	return f.covered(context.Background(), f.best)
}

// CheckSum reports why p cannot be solved with an output kernel for each kernel, the model [Sum]; nil if it can.
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
	_, ok := p.Norm.(regularizer.Lp)
	switch {
	case opt.Solver != "reduced":
		return refuse("is solved by reduced, not by %q", opt.Solver)
	case !ok:
		return refuse("takes l_p norms, not %s", p.Norm)
	case p.Model.fixEta() || p.Model.fixL():
		return refuse("learns all its output kernels: weights or L cannot stay fixed")
	}
	if f, ok := p.Space.(*features); ok {
		if f.lengths == nil {
			return refuse("needs Γ, which is known by its products only: take fewer features, or fit the product model")
		}
	} else if K := p.Space.(*samples).K; !separate(K) {
		return refuse("needs products with single kernels, which %T does not offer", K)
	}
	m, n := p.Space.Kernels(), p.Space.Outputs()
	if p.Space.shared().cells == nil {
		n = min(n, p.Space.Unknowns())
	}
	numbers := m * n * n
	return memory.Allow(opt.MaxBytes, fmt.Sprintf("bcd: the steps of %d output kernels of order %d", m, n),
		8*float64(numbers)*float64(3*quasinewton.MostPairs(numbers)+10), "fit the product model")
}

func separate(K linop.Sum) bool {
	_, ok := K.(linop.Separate)
	return ok
}

// solveSum is [Solve] for a sum of separable kernels. Without a state to start from, the
// product model, solved to sumStartTol, is the start: L_j = η_j·L.
func solveSum(ctx context.Context, p *Problem, opt Options) (*Result, error) {
	if err := p.checkSum(opt); err != nil {
		return nil, err
	}
	if f, ok := p.Space.(*features); ok {
		rows, err := f.onRows(opt.Backend)
		if err != nil {
			return nil, err
		}
		q := *p
		q.Space, opt.Start = rows, f.atUnitWeights(opt.Start)
		p = &q
	}
	start := opt.Start
	if start == nil {
		product, how := *p, opt
		product.Model, how.Solver, how.Trace = Product, "", nil
		how.Tol, how.MaxOuter = math.Max(opt.Tol, sumStartTol), min(opt.MaxOuter, sumStartSteps)
		res, err := Solve(ctx, &product, how)
		if res == nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, ErrNotConverged) && ctx.Err() == nil {
			return nil, err
		}
		start = &State{
			Eta: res.Eta, L: res.L, X: res.C, SylvesterSolves: res.SylvesterSolves,
			KernelMultiplies: res.KernelMultiplies,
		}
	}
	f, pt, err := newSum(ctx, p, opt, start)
	if err != nil {
		return nil, err
	}
	f.iter, f.cost = start.Iter, effort{solves: start.SylvesterSolves, columns: start.KernelMultiplies}
	if opt.hold {
		f.best = pt
		return f.run(ctx, f.held, pt)
	}
	if err := f.cover(ctx, pt); err != nil {
		return nil, err
	}
	return f.run(ctx, f.minimize, pt)
}

// newSum is the fit of p in units of its own, with its outputs reduced, and the
// point of the state s, cut to be feasible.
func newSum(ctx context.Context, p *Problem, opt Options, s *State) (*sumModel, *point, error) {
	q, u, _ := p.inUnits(0)
	q, b, err := reduceOutputs(ctx, q, opt)
	if err != nil {
		return nil, nil, err
	}
	f := &sumModel{fit: newFit(q, opt, 0, b, u), norm: p.Norm.(regularizer.Lp), proportional: s.Ls == nil}
	f.model, f.loosest = f, innerLoosest
	f.s = q.Space.(*samples)
	f.solver = sylvester.NewSum(f.s.cells, sylvester.Config{Backend: f.t.be, Seed: opt.Seed})
	if f.s.loss == nil || !f.s.loss.Free { // else products are with centred kernels
		f.solver.Average(f.s.K, 1/f.s.unit)
	}
	pt := new(point)
	for j := range f.t.m {
		f.K = append(f.K, f.s.term(j))
		L, scale := s.L, 1/u.L
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
		pt.Ls = append(pt.Ls, L)
	}
	if size := f.norm.Norm(f.t.weights(pt)); size > 1 {
		for _, L := range pt.Ls {
			blas.Scal(1/size, L.S)
		}
	}
	f.begin(pt, s.X)
	return f, pt, nil
}

// coefficients performs the C step of a sum, P_Ω(Σ_j K_jCL_j) + μC = P_Ω·Y.
func (f *sumModel) coefficients(ctx context.Context, pt *point, tol float64) error {
	terms := f.terms(ctx, pt)
	solve := func(ctx context.Context, X, Y blas.General, tol float64) error {
		res, err := f.solver.Solve(ctx, X, terms, f.t.mu, Y, sylvester.Options{Tol: tol})
		f.cost.count(res)
		return err
	}
	var err error
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		if f.s.loss == nil {
			err = solve(ctx, pt.X, f.s.B, tol)
			return
		}
		err = f.lossStep(ctx, &f.newton, pt, tol, terms,
			func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error {
				f.solver.Reweigh(cells)
				err := solve(ctx, B, Y, tol)
				PB := blas.Like(B)
				cells.Project(PB, B)
				(&linop.KroneckerSum{Terms: terms, Backend: f.t.be}).ApplyMatrix(F, PB)
				return err
			})
	})
	switch {
	case errors.Is(err, sylvester.ErrNotConverged):
		return nil
	case errors.Is(err, sylvester.ErrNotSPD) && f.s.loss != nil && blas.Frob(pt.X) > 0: // fill tells why
		return nil
	case errors.Is(err, sylvester.ErrNotSPD):
		return fmt.Errorf("%w: %w", ErrNotPSD, err)
	}
	return err
}

func (f *sumModel) terms(_ context.Context, pt *point) []linop.Term {
	terms := make([]linop.Term, len(pt.Ls))
	for j, L := range pt.Ls {
		terms[j] = linop.Term{K: f.K[j], L: L}
	}
	return terms
}

// fill fills in what pt tells of the kernels of idx, among which are those of weight.
func (f *sumModel) fill(ctx context.Context, pt *point, idx []int) error {
	t := f.t
	if err := ctx.Err(); err != nil {
		return err
	}
	F, KC, one := blas.Like(pt.X), blas.Like(pt.X), blas.Like(pt.X)
	C := f.s.coefficients(&t.work, pt.X)
	pt.Gs, pt.Hs = make([]blas.General, t.m), make([]blas.General, t.m)
	for _, j := range idx {
		f.K[j].Apply(KC, C)
		f.cost.columns += t.n
		pt.Gs[j] = blas.NewGeneral(t.n, t.n)
		blas.Mul(t.be, pt.Gs[j], true, false, C, KC)
		blas.Symmetrize(pt.Gs[j])
		pt.Hs[j] = blas.NewGeneral(t.n, t.n)
		blas.GramOf(t.be, pt.Hs[j], KC)
		if pt.Ls[j].Rank() > 0 {
			t.work.mulRight(one, KC, pt.Ls[j])
			blas.AddScaled(F, 1, one)
		}
	}
	t.measureFit(&pt.measures, pt.X, F)
	pt.rounded = f.s.loss.rounded()
	pt.residual = t.loss.residual(&pt.measures, t.mu, pt.X, F)
	pt.cert.objective = pt.fit/float64(t.l) + t.lambda*pt.form
	if math.IsNaN(pt.cert.objective) || math.IsInf(pt.cert.objective, 0) {
		return fmt.Errorf("%w: the objective is not finite", ErrInput)
	}
	for _, j := range idx {
		if v := blas.Trace(pt.Gs[j]); v < -psdSlack*f.s.diagonalSum(j)*pt.cc {
			return fmt.Errorf("%w: kernel %d has tr(CᵀK_jC) = %g", ErrNotPSD, j, v)
		}
	}
	return nil
}

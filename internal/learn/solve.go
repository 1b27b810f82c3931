// Fits to training sets: along a path of λ, without each sample, at known weights and output kernels, as a sum of
// separable kernels, and without each fold.

package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Method is how a setting is solved.
type Method struct {
	Env
	Solver, Sylvester string  // of packages bcd and sylvester
	Tol               float64 // relative gap to reach
	MaxOuter          int
	Trace             func(bcd.Step) error
	CStep             sylvester.Solver // of [Revise], in the place of Sylvester; nil for none
	Global            bool             // [Fit] bounds the objective of a product model from below over all η and L
	Checkpoint        string           // file that keeps where [Fit] stands; "" means none
	HoldOut           bool             // a model of explicit features keeps held-out predictions
}

// problem is the learning problem of a training set, and how it is solved.
func (m *Method) problem(t Training, s *Setting) (*bcd.Problem, bcd.Options, error) {
	p := &bcd.Problem{
		Space: t.Space(), Lambda: s.Lambda,
		Model: bcd.ProductOf(s.Learn.Weights() && m.Solver != "okl", s.Learn.OutputKernel()),
	}
	if s.Model == Sum {
		p.Model |= bcd.Sum
	}
	p.Tau = cmp.Or(s.Tau, float64(p.Space.Outputs()))
	if s.OutputKernel != "" {
		var err error
		out := t.Outputs()
		if p.L, err = out.Axis.OutputKernel(s.OutputKernel, out.Live, p.Tau); err != nil {
			return nil, bcd.Options{}, err
		}
	}
	if !s.Learn.Weights() {
		p.Eta = t.Weights()
	}
	if s.Learn.Weights() || m.Global {
		p.Norm = s.Reg()
	}
	so := bcd.Options{
		Solver: m.Solver, Sylvester: m.Sylvester, Tol: m.Tol, MaxOuter: m.MaxOuter,
		Backend: m.Backend, Seed: m.Seed, Trace: m.Trace, MaxBytes: m.MaxBytes,
	}
	// Rounding Gram matrices to single precision changes K·C by up to 2⁻²⁴·‖K‖·‖C‖, which μ ≪ ‖K‖ makes far more than
	// [defaults.ExactTol]: the gap says how exact coefficients are worth being.
	if s.Learn == Nothing {
		if K, _ := kernels(t); linop.PrecisionOf(K) != blas.Float32 {
			so.InnerTol = defaults.ExactTol
		}
	}
	if t.Unread != nil && (so.Sylvester == "" || so.Sylvester == "auto") {
		so.Sylvester = "rotated" // takes products with K alone
	}
	return p, so, nil
}

// complete reports whether t has kernels on its samples, of which no target is missing.
func complete(t Training) bool {
	K, Y := kernels(t)
	return K != nil && !columns.Missing(Y)
}

// Path solves a training set for falling λ, each time starting from the solution
// before, and calls each with the errors on the fold, and whether the relative gap met the tolerance. It ends when each
// returns true. The errors are averages over the loss of t and those of the setting, which are fitted at its weights
// and L.
func (m *Method) Path(
	ctx context.Context, t Training, s Setting, lambdas []float64,
	each func(i int, e Errors, certified bool) (stop bool),
) error {
	p, so, err := m.problem(t, &s)
	if err != nil {
		return err
	}
	if s.Learn == Nothing && complete(t) { // one sketch or decomposition of the kernels serves all λ
		cfg := sylvester.Config{Backend: m.Backend, Seed: m.Seed}
		if so.CStep, err = sylvester.New(cmp.Or(so.Sylvester, "auto"), cfg); err != nil {
			return fault.Mark(err)
		}
	}
	sets := []Training{t}
	for _, l := range s.Losses {
		u, err := byLoss(t, l)
		if err != nil {
			return err
		}
		sets = append(sets, u)
	}
	C := make([]blas.General, len(sets)) // of each set at the λ before
	for i, lambda := range lambdas {
		p.Lambda = lambda
		all, certified := make([]Errors, len(sets)), false
		for k, set := range sets {
			var res *bcd.Result
			if k == 0 {
				res, err = bcd.Solve(ctx, p, so)
				certified = err == nil
			} else {
				if i == 0 {
					C[k] = blas.Clone(C[0])
				}
				res, err = solveAt(ctx, so.Start.Eta, so.Start.L, C[k], p, so, set)
				certified = certified && err == nil
			}
			if res == nil || ctx.Err() != nil {
				return fault.From(cmp.Or(err, ctx.Err()))
			}
			if C[k] = blas.Clone(res.C); k == 0 {
				so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: C[0], Ls: res.Ls}
			}
			if all[k], err = set.Errors(ctx, res); err != nil {
				return err
			}
		}
		if each(i, Average(all), certified) {
			return nil
		}
	}
	return nil
}

// LeaveOut is refits without each sample.
type LeaveOut interface {
	// At predicts every sample by the refit without it, at the same η, L and μ. A decomposition of K_η serves
	// all calls with the same η.
	At(ctx context.Context, eta []float64, L *linop.Spectral, mu float64) (*Refits, error)
	// Constant predicts every sample without kernels, as the mean of the others where targets are standardised.
	Constant() *Refits
}

// Refits are errors of the samples by fits without them.
type Refits struct {
	Errors  Errors
	Row     func(i int) Errors // those of one sample
	Freedom float64            // effective degrees of freedom of the fit to all samples
}

// LeaveOut calls each with the refits without each sample, for every λ. What is learned of η and L is learned
// from all samples at that λ, along the path; μ = λl stays that of all samples.
func (m *Method) LeaveOut(
	ctx context.Context, t Training, refits LeaveOut, s Setting, lambdas []float64, each func(i int, r *Refits),
) error {
	p, so, err := m.problem(t, &s)
	if err != nil {
		return err
	}
	fixed := p.Model == bcd.Neither
	eta, L := p.Eta, p.L
	if L == nil {
		L = linop.ScaledIdentity(p.Space.Outputs(), p.Tau/float64(p.Space.Outputs()))
	}
	if eta == nil {
		eta = make([]float64, p.Space.Kernels())
		p.Norm.Start(eta)
	}
	for i, lambda := range lambdas {
		if p.Lambda = lambda; !fixed {
			res, err := bcd.Solve(ctx, p, so)
			if res == nil || ctx.Err() != nil {
				return fault.From(cmp.Or(err, ctx.Err()))
			}
			so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: res.C}
			eta, L = res.Eta, res.L
		}
		r, err := refits.At(ctx, eta, L, lambda*float64(p.Space.Samples()))
		if err != nil {
			return fault.From(err)
		}
		each(i, r)
	}
	return nil
}

// holdTol is the relative residual of the linear system at weights and output kernels that stay. Predictions for the
// training rows are as near to those of the exact coefficients, relative to the targets.
const holdTol = 1e-10

// Revise is the model of a training set at the weights and output kernels of m, with exact coefficients and the
// certificate of what the setting learns. With relearn, and a gap above the tolerance, learning goes on from there; a
// gap above the tolerance is an error then alone.
func Revise(
	ctx context.Context, t Training, m *model.Model, s Setting, method Method, relearn bool,
) (*Outcome, error) {
	p, so, err := method.problem(t, &s)
	if err != nil {
		return nil, err
	}
	hold := so
	hold.InnerTol, hold.Trace, hold.CStep = holdTol, nil, method.CStep
	hold.Start = &bcd.State{
		Eta: m.Eta, L: m.L, Ls: m.OutputKernels(), X: blas.NewGeneral(p.Space.Unknowns(), p.Space.Outputs()),
	}
	defer memory.Reserve(held(t))()
	res, err := bcd.Hold(ctx, p, hold)
	if err != nil {
		return nil, fault.From(err)
	}
	if relearn && !res.Converged {
		so.Start = &bcd.State{Eta: res.Eta, L: res.L, Ls: res.Ls, X: res.C}
		if res, err = bcd.Solve(ctx, p, so); res == nil {
			return nil, fault.From(err)
		}
	}
	out := &Outcome{Model: t.Model(res), Result: res, Problem: p}
	out.Mu = p.Lambda * float64(p.Space.Samples())
	if relearn && err == nil {
		out.warnOpen(method.Tol)
	}
	remember(t, out.Model)
	out.Observed = out.Cells()
	return out, err
}

// global solves the sum of separable kernels that bounds the product model p from below,
// from its solution, to the tolerance of the fit. A solve that ends early bounds it too.
func (m *Method) global(ctx context.Context, p *bcd.Problem, so bcd.Options, res *bcd.Result) (*bcd.Result, error) {
	m.Say("bounding the objective over all weights and output kernels: each kernel gets an L of its own")
	q := *p
	q.Model = bcd.Sum
	so.Solver, so.Trace = "", nil
	so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: blas.Clone(res.C)}
	sum, err := bcd.Solve(ctx, &q, so)
	if errors.Is(err, bcd.ErrNotConverged) {
		err = nil
	}
	if sum != nil {
		sum.C = blas.General{}
	}
	return sum, err
}

// OutOfFold fits one model without each fold of samples in memory, and predicts the fold by
// it. All that fit does is done to the part of the data that is not in the fold. As
// many folds as atOnce run in parallel; the result does not depend on it. They share the time that ctx leaves.
func OutOfFold(
	ctx context.Context, d Data, p Folding, atOnce int, fit func(ctx context.Context, d Data,
		rows []int) (*model.Model, error),
) ([]model.Fold, error) {
	l, _ := d.Size()
	p.Content = d.Parts.Content()
	splits, err := p.Deal(l)
	if err != nil {
		return nil, err
	}
	folds, fail := make([]model.Fold, len(splits)), make([]error, len(splits))
	one := func(ctx context.Context, k int) error {
		part, err := d.Parts.Sample(splits[k].Train)
		if err != nil {
			return err
		}
		m, err := fit(ctx, part, splits[k].Train)
		if err != nil {
			return err
		}
		m = m.Compact()
		m.Warnings = nil
		folds[k], err = d.Parts.HeldOut(ctx, m, splits[k])
		return err
	}
	for lo := 0; lo < len(splits); lo += atOnce {
		left := len(splits) - lo
		in, cancel := phase.Share(ctx, min(1, float64(atOnce)/float64(left)))
		par.For(min(atOnce, left), func(i int) {
			if err := one(in, lo+i); err != nil {
				fail[lo+i] = fmt.Errorf("interval fold %d: %w", lo+i+1, err)
			}
		})
		cancel()
		if err := cmp.Or(ctx.Err(), cmp.Or(fail...)); err != nil {
			return nil, fault.From(err)
		}
	}
	return folds, nil
}

// HoldFolds predicts each fold of the samples from the others, at the weights, output kernels and μ of m, a model of
// one loss.
func (m *Method) HoldFolds(
	ctx context.Context, d Data, s Setting, of *model.Model, mu float64, p Folding,
) ([]model.Fold, error) {
	count, err := d.Split(p)
	if err != nil {
		return nil, err
	}
	list := make([]model.Fold, count)
	for k := range list {
		t, err := d.Train(ctx, s.Kernels, s.Learn, k)
		if err != nil {
			return nil, err
		}
		q, so, err := m.problem(t, &s)
		if err != nil {
			return nil, err
		}
		q.Lambda = mu / float64(q.Space.Samples())
		so.Tol, so.Trace = max(so.Tol, defaults.CompareTol), nil
		var res *bcd.Result
		eta := q.Eta
		if s.Learn.Weights() {
			eta = of.Eta
		}
		if Ls := of.OutputKernels(); Ls != nil {
			so.Start = &bcd.State{Eta: eta, L: of.L, Ls: Ls, X: blas.NewGeneral(q.Space.Unknowns(), q.Space.Outputs())}
			so.InnerTol = holdTol
			res, err = bcd.Hold(ctx, q, so)
		} else {
			C := blas.NewGeneral(q.Space.Unknowns(), q.Space.Outputs())
			res, err = solveAt(ctx, eta, of.L, C, q, so, t)
		}
		if res == nil || ctx.Err() != nil {
			return nil, fault.From(cmp.Or(err, ctx.Err()))
		}
		e, err := t.Errors(ctx, res)
		if err != nil {
			return nil, err
		}
		list[k] = *e.Held
	}
	return list, nil
}

// WithoutFolds fits the setting without each of so many folds of Folded data, and predicts its kept samples.
func (m *Method) WithoutFolds(ctx context.Context, d Data, s Setting, folds int) ([]model.Fold, error) {
	list := make([]model.Fold, folds)
	for k := range list {
		t, err := d.Train(ctx, s.Kernels, s.Learn, k)
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", k+1, err)
		}
		p, so, err := m.problem(t, &s)
		if err != nil {
			return nil, err
		}
		so.Tol, so.Trace = max(so.Tol, defaults.CompareTol), nil
		res, err := bcd.Solve(ctx, p, so)
		if res == nil || ctx.Err() != nil {
			return nil, fault.From(cmp.Or(err, ctx.Err()))
		}
		out := t.Model(res)
		out.Warnings = nil
		out.UseMeans(s.Means)
		if list[k], err = d.Folded.HeldOut(ctx, out, k); err != nil {
			return nil, fmt.Errorf("fold %d: %w", k+1, err)
		}
	}
	return list, nil
}

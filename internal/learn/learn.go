// Package learn fits models: [Data] make a [Training] set for a [Setting], package bcd
// solves it, and the training set makes a [model.Model] of the solution.
//
// Package samples makes Data of rows of inputs and of Gram matrices, package sums of streams of rows. Package choose
// finds a Setting for any Data by cross-validation.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/reml"
	"github.com/iokl/iokl/sylvester"
)

// All stands for a fold that leaves out nothing.
const All = -1

// Data is samples to learn from: what a fit and a comparison of settings need of them, and what only some of them can.
type Data struct {
	Learnable
	Comparable
	Parts  Parts  // of samples in memory, else nil
	Table  Table  // of rows of inputs in memory, else nil
	Folded Folded // of samples that are dealt to folds before anything is learned, else nil
}

// Learnable is what a fit needs of data.
type Learnable interface {
	// Size is the number of samples and of targets.
	Size() (l, n int)
	// Cells is the number of target cells that are observed, and of the samples in which some are and some are missing.
	Cells() (observed, partial int)
	// Loss is the loss that they are learned by.
	Loss() loss.Loss
	// Plain reports whether targets are learned by squares without weights.
	Plain() bool
	// Plan is the memory that a fit takes, to all samples or to the largest training set of the folds, where this is
	// learned. It is zero where the data hold that memory already.
	Plan(ctx context.Context, specs []string, what Learned, all bool) (Plan, error)
	// Train makes a training set of the samples that are not in the fold, to learn this from.
	Train(ctx context.Context, specs []string, what Learned, fold int) (Training, error)
}

// Comparable is what a comparison of settings needs of data beside fits.
type Comparable interface {
	// Split deals the samples to folds, which are numbered from 0, and returns how many there are.
	Split(Folding) (int, error)
	// Start describes the kernels of the SPECs before learning: the weights they have
	// when weights are not learned, nil for those that the norm starts from, and the
	// mean of k_j(x,x) for each kernel j.
	Start(ctx context.Context, specs []string) (weights, diagonals []float64, err error)
	// Constant is the errors on the fold of a model without kernels, which predicts the mean
	// of the training targets where these are standardised, and 0 where they are not.
	Constant(fold int) (Errors, error)
}

// Parts is samples in memory: parts of them can be taken, and a model of a part can predict the rest.
type Parts interface {
	// Sample is the data of these samples alone, in this order.
	Sample(samples []int) (Data, error)
	// Few is Sample with what all samples, or others, have taught about columns, which is not learned anew.
	Few(samples []int) (Data, error)
	// ByLoss is the same data for another loss.
	ByLoss(l loss.Loss) (Data, error)
	// Winsorize prepares a loss that bounds the effect of gross errors for fits with the kernels of the SPECs, nil
	// where any may be tried. It finds the δ of the loss of Huber where the caller gave none. What is learned by
	// squares is then learned from targets without gross errors.
	Winsorize(ctx context.Context, specs []string) error
	// Content is that by which Split deals the samples.
	Content() []Content
	// HeldOut fills in the targets of the samples to test on, their weights, and what m, a model of the
	// part to train on, predicts for them.
	HeldOut(ctx context.Context, m *model.Model, s Split) (model.Fold, error)
}

// Table is rows of inputs in memory, for which kernels can be chosen.
type Table interface {
	// Matrices are the inputs and targets of the samples, and the weights, without Data where they are 1.
	Matrices() (X, Y, W blas.General)
	// Part is the data of these samples and targets alone, in this order; nil stands for all.
	Part(samples, targets []int) (Data, error)
	// Weighed is the same samples with other weights.
	Weighed(W blas.General) (Data, error)
	// Teach learns what the SPEC says of columns from the samples that are not in the fold.
	Teach(ctx context.Context, spec string, fold int) error
	// Follow makes learning of lengths of columns start from those learned on other samples.
	Follow(other Table)
	// Ridge prepares kernel ridge regression for one fold, in which only C is learned: one decomposition of K serves
	// all λ. It keeps the kernels of each SPEC.
	Ridge(fold int) (Ridge, error)
	// Affordable returns the SPECs where memory holds a fit to all samples and its predicted time is within the budget,
	// or its work within a fixed one without a budget, and else SPECs of the same kernels with as many features as pay,
	// with sums apart for so many folds.
	Affordable(ctx context.Context, specs []string, what Learned, folds int, budget time.Duration) ([]string, error)
	// Sums are the data with SPECs that have explicit features, dealt to folds: one pass
	// over the samples for all folds and settings. They do not tell the accuracy.
	Sums(ctx context.Context, specs []string, f Folding) (Data, error)
}

// Folded is data whose folds are dealt before anything is learned. Some samples of each fold are kept,
// to measure residuals on.
type Folded interface {
	// HeldOut fills in the numbers of the kept samples of the fold, ascending, their targets and weights, and what m, a
	// model learned without the fold, predicts for them.
	HeldOut(ctx context.Context, m *model.Model, fold int) (model.Fold, error)
}

// Training is a set of samples in the form that the solver takes, and what only some sets can.
type Training struct {
	Set
	Samples OfSamples // of a set that keeps its samples; nil where it keeps sums over them
	// Unread is the error that ended reading of the data, of a set whose space reads them again for every product; else
	// nil.
	Unread func() error
	// Drawn returns random rows, [DrawnRows] at most, of a set of explicit features: their numbers, ascending, their
	// inputs as the kernels see them, their targets in the units of the data, NaN where missing, and their weights,
	// without Data 1. There are none without features, or where cells have weights of their own. nil means none.
	Drawn func() (rows []int, X, Y, W blas.General)
}

// Set is what a fit needs of a training set.
type Set interface {
	// Space is the learning problem over coefficients of samples or weights of features.
	Space() bcd.Space
	// Weights are those of the kernels where they are not learned; nil: as the norm starts.
	Weights() []float64
	// Outputs is the map of the targets.
	Outputs() *columns.Outputs
	// Errors compares the solution with the targets of the fold. It overwrites res.C.
	Errors(ctx context.Context, res *bcd.Result) (Errors, error)
	// Model is the model of the solution. It keeps res.C and overwrites it.
	Model(res *bcd.Result) *model.Model
	// Source is what a model of it keeps for changes of its rows.
	Source() model.Source
}

// OfSamples is a training set that keeps its samples.
type OfSamples interface {
	// Held is what a fit to all samples takes from its start to its end, as in their Plan; 0 for a fold.
	Held() float64
	// Kernels are those on the samples, and the targets; no kernels where it has explicit features instead.
	Kernels() (K linop.Separate, Y blas.General)
	// ByLoss is the set for another loss, with the same kernels.
	ByLoss(l loss.Loss) (Training, error)
	// LeaveOut prepares for refits without each sample in closed form (mathematics.md §13). The error says why there is
	// no closed form.
	LeaveOut() (LeaveOut, error)
}

// DrawnRows is the number of rows, at most, that a model of explicit features keeps the inputs of: of a share p of new
// targets, held-out predictions of so many tell √(p(1−p)/4000), .8 % at most.
const DrawnRows = 4000

// held is the memory that a fit of t takes from its start to its end beside what the data hold.
func held(t Training) float64 {
	if t.Samples == nil {
		return 0
	}
	return t.Samples.Held()
}

// kernels are those on the samples of t, and the targets, where it has them.
func kernels(t Training) (K linop.Separate, Y blas.General) {
	if t.Samples == nil {
		return nil, Y
	}
	return t.Samples.Kernels()
}

// byLoss is t for another loss.
func byLoss(t Training, l loss.Loss) (Training, error) {
	if t.Samples == nil {
		return t, fault.Input("several quantiles are for rows or Gram matrices in memory")
	}
	return t.Samples.ByLoss(l)
}

// remember makes the model of t keep what changes of its rows need.
func remember(t Training, m *model.Model) {
	s := t.Source()
	m.Y, m.W, m.Sums = m.Out.Targets(s.Y), s.W, s.Sums
	if m.W.Cols > 1 {
		m.W = m.Out.Targets(m.W)
	}
}

// Ridge is kernel ridge regression on one split of the samples.
type Ridge interface {
	// Errors are those on the fold, one for each λ. They are NaN where the linear system is singular to
	// working accuracy.
	Errors(ctx context.Context, specs []string, tau float64, lambdas []float64) ([]Errors, error)
}

// Setting is what one fit learns, with nothing left open.
type Setting struct {
	Kernels     []string                // SPECs; nil: those that the data bring along, or the default ones
	Norm        string                  // as regularizer.Parse reads it; "" means lp:1
	Regularizer regularizer.Regularizer // in place of Norm, where not nil
	Learn       Learned                 // "" means Both
	Model       Model                   // "" means Product
	Tau         float64                 // 0 means the number of outputs
	Lambda      float64
	// OutputKernel is the SPEC of L between points of the axis of the outputs, where L is not learned; "" means
	// (τ/n)·I.
	OutputKernel string
	Means        []int // targets that the model predicts without kernels, after all
	// Losses are the quantiles to learn, ascending, where they are several; see [Lead]. Else nil. On a path of λ they
	// are those beside that of the data by which λ is judged.
	Losses []loss.Loss
}

// CheckSum refuses what no sum of separable kernels can be fitted with, whatever the data.
func (s *Setting) CheckSum() error {
	_, lp := s.Reg().(regularizer.Lp)
	switch {
	case !s.Learn.Weights() || !s.Learn.OutputKernel():
		return fault.Input("a sum of separable kernels learns all its output kernels: learning %s goes with the "+
			"model product", s.Learn)
	case !lp:
		return fault.Input("a sum of separable kernels takes norms lp:P, not %s", s.Reg())
	}
	return nil
}

// Reg is the regularizer of η.
func (s *Setting) Reg() regularizer.Regularizer {
	if s.Regularizer != nil {
		return s.Regularizer
	}
	r, err := regularizer.Parse(cmp.Or(s.Norm, "lp:1"))
	if err != nil {
		panic("learn: norm that was checked before")
	}
	return r
}

// Env is what every step of a fit needs.
type Env struct {
	Backend  blas.Backend // nil means blas.Active()
	Seed     uint64       // of every random choice
	MaxBytes int64        // memory; 0 means what is available, negative no limit
	Notify   func(line string)
	Watch    func(Progress) // sees how the choice of settings goes on
}

// Progress is where the comparison of settings stands. The calls that tell it come one at a time,
// many a second.
type Progress struct {
	Phase  string        // what is done
	Done   float64       // the share of the phase that is done
	Left   time.Duration // about how long the phase will take, at most what the budget leaves; negative: not known
	Metric string        // that settings are compared by
	Best   float64       // the best value of it on any fold in this phase; NaN: none yet
}

// Say hands the user a line about what is done.
func (e *Env) Say(format string, args ...any) {
	if e.Notify != nil {
		e.Notify(fmt.Sprintf(format, args...))
	}
}

// Limit is the memory that may be taken, in bytes.
func (e *Env) Limit() int64 {
	switch {
	case e.MaxBytes > 0:
		return e.MaxBytes
	case e.MaxBytes < 0:
		return math.MaxInt64
	}
	return memory.Limit()
}

// Announce says what a fit needs and refuses what the limit does not hold.
func (e *Env) Announce(p Plan) error {
	e.Say("%s, with work space: %s", p.What, memory.Format(p.Bytes))
	if err := memory.Allow(e.MaxBytes, p.What+", with work space", p.Bytes, "use "+p.Instead); err != nil {
		return fault.Mark(err)
	}
	return nil
}

// Plan is the memory of a fit, in words and in bytes, and what to use when it is too much.
type Plan struct {
	What, Instead string
	Bytes         float64 // of the process, at most
	Held          float64 // in use from the start to the end
}

// Outcome is a model and how its fit ended.
type Outcome struct {
	*model.Model
	Result  *bcd.Result // without C
	Problem *bcd.Problem
	// Observed is the number of target cells that were learned from.
	Observed int
	// Components is what a fit by likelihood finds beside the output kernels; else nil.
	Components *reml.Components
	Silent     []string    // the targets of Setting.Means that were learned
	Sum        *bcd.Result // of the sum that bounds a product model, see Method.Global; nil where it was not solved
}

// warnOpen warns of a fit that ended above its tolerance without an error.
func (o *Outcome) warnOpen(asked float64) {
	if goal, _ := bcd.Tolerance(asked); !o.Result.Converged {
		o.Warnings = append(o.Warnings, fmt.Sprintf("the fit ended at a relative gap of %.3g after %d outer "+
			"iterations, above the default tolerance of %.3g", o.Result.RelativeGap, o.Result.OuterIterations, goal))
	}
}

// Fit learns from all data. It returns the best model so far with the error that
// ended the fit before it converged, and no model where there is none.
func Fit(ctx context.Context, d Learnable, s Setting, m Method) (*Outcome, error) {
	what := s.Learn
	if m.Global { // which compares all weights
		what = Both
	}
	observed, _ := d.Cells() // which training may use up
	t, err := d.Train(ctx, s.Kernels, what, All)
	if err != nil {
		return nil, err
	}
	if s.Learn == Likelihood {
		return m.likelihood(ctx, t, &s, observed)
	}
	p, so, err := m.problem(t, &s)
	if err != nil {
		return nil, err
	}
	bounds := m.Global && p.Model != bcd.Sum
	if bounds {
		if err := p.CheckSum(); err != nil {
			return nil, fault.Mark(err)
		}
	}
	l, _ := d.Size()
	so.Freedom = l > defaults.IntervalSamples && p.Model&bcd.Sum == 0 && d.Plain() && complete(t)
	end, err := m.checkpointing(p, &so)
	if err != nil {
		return nil, err
	}
	if len(s.Losses) > 1 {
		so.LossStep = bcd.NewLossStep(sylvester.Config{Backend: m.Backend, Seed: m.Seed})
	}
	release, start := memory.Reserve(held(t)), time.Now()
	res, err := bcd.Solve(ctx, p, so)
	if res != nil && p.Space.Unknowns() > linop.KeepBoth {
		m.Say("the fit took %.3g s, multiplied %d columns by the kernels, and holds %s at its end",
			time.Since(start).Seconds(), res.KernelMultiplies, memory.Format(memory.InUse()))
		// The solver's factor or sketch is as large as the kernel matrix: the collector would let what follows allocate
		// as much as both before it looked.
		debug.FreeOSMemory()
	}
	release()
	err = errors.Join(err, end())
	if t.Unread != nil && t.Unread() != nil {
		return nil, t.Unread()
	}
	if res == nil {
		return nil, fault.From(err)
	}
	var sum *bcd.Result
	if bounds && ctx.Err() == nil {
		var e error
		sum, e = m.global(ctx, p, so, res)
		err = errors.Join(err, e)
	}
	var outputs *columns.Outputs
	if len(s.Losses) > 1 && (err == nil || errors.Is(err, bcd.ErrNotConverged)) && ctx.Err() == nil {
		var e error
		if outputs, e = m.quantiles(ctx, t, p, so, s.Losses, res); outputs == nil {
			return nil, e
		}
		err = errors.Join(err, e)
		s.Means = outputs.OfTargets(s.Means)
	}
	out := &Outcome{Model: t.Model(res), Result: res, Problem: p, Observed: observed, Sum: sum}
	out.Out = out.Out.WithKernel(s.OutputKernel)
	if outputs != nil {
		out.Out = outputs
	}
	remember(t, out.Model)
	if d.Plain() || out.Updatable() {
		out.Mu = p.Lambda * float64(p.Space.Samples())
	}
	out.Silent = out.UseMeans(s.Means)
	if err == nil {
		out.warnOpen(m.Tol)
	}
	if res.Freedom != nil {
		err = errors.Join(err, out.Prepare(ctx, res.Freedom))
	}
	if t.Drawn != nil && m.HoldOut && ctx.Err() == nil {
		rows, X, Y, W := t.Drawn()
		switch e := out.HoldOut(ctx, rows, X, Y, W); {
		case errors.Is(e, context.DeadlineExceeded):
			out.Warnings = append(out.Warnings, "held-out predictions are not kept: there was no time")
		case e != nil:
			err = errors.Join(err, e)
		}
	}
	return out, err
}

// likelihood learns the variance components of a mixed model.
func (m *Method) likelihood(ctx context.Context, t Training, s *Setting, observed int) (*Outcome, error) {
	K, Y := kernels(t)
	if K == nil {
		return nil, fault.Input("a sum of separable kernels is not available by likelihood in explicit features: it " +
			"needs kernels on the samples")
	}
	p, _, err := m.problem(t, s)
	if err != nil {
		return nil, err
	}
	release := memory.Reserve(held(t))
	res, c, err := reml.Fit(ctx, K, Y, reml.Options{
		Tol: m.Tol, MaxIter: m.MaxOuter, Backend: m.Backend, MaxBytes: m.MaxBytes, Trace: m.Trace,
	})
	release()
	if res == nil {
		return nil, fault.From(err)
	}
	out := &Outcome{Model: t.Model(res), Result: res, Problem: p, Observed: observed, Components: c}
	out.Out = out.Out.WithIntercepts(c.Intercept)
	if err == nil {
		out.warnOpen(m.Tol)
	}
	remember(t, out.Model)
	out.Noise = c.Noise
	for i := range out.Y.Rows {
		floats.Sub(blas.Row(out.Y, i), c.Intercept)
	}
	return out, err
}

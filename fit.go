// This file fits models to rows in memory, to class labels and to Gram matrices.

package iokl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/stream"
)

// Fit learns Y (l×n) from X (l×d), a row per sample; NaN is a missing cell. The mean of
// its column stands for one in X. One in Y is left out of the loss, so that the outputs
// observed in a row help those missing there; a row of missing targets is left out as a
// whole. Warnings of the model count them.
//
// A nil error means that the model's certified relative gap is at most opt.Tol. Where that is 0, a gap of up to ten
// times the default is no error either: the certificate's Converged is false then, and a warning of the model has the
// gap.
// A fit that ends before, because it was cancelled, was stopped by Trace, or ran
// out of iterations or of opt.Budget, returns the best model so far, with its gap, and the error:
// the context's, Trace's, or one that wraps [bcd.ErrNotConverged]. Where a context has a deadline, the time until then
// is shared out as opt.Budget is. Where one ends while settings are compared, the best of them so far is learned from
// as many rows as a fifth of a second allows; there is no model where none was compared. Warnings say what was left
// out, and how many of the rows were learned from. Data or
// options that make no sense are [ErrInput], matrices beyond opt.MaxBytes
// [ErrMemory], both without a model.
func Fit(ctx context.Context, X, Y mat.Matrix, opt Options) (*Model, error) {
	d, c, err := rowsOf(X, Y, opt, nil)
	if err != nil {
		return nil, err
	}
	return c.fit(ctx, d)
}

// FitClasses learns to tell classes apart: a target of 0 or 1 for each class,
// standardised. The model's Classify gives the class of the largest output. A sample
// without a label, "", is left out.
func FitClasses(ctx context.Context, X mat.Matrix, labels []string, opt Options) (*Model, error) {
	d, c, err := classesOf(X, labels, opt)
	if err != nil {
		return nil, err
	}
	return c.fit(ctx, d)
}

// classesOf makes data of a table and class labels.
func classesOf(X mat.Matrix, labels []string, opt Options) (learn.Data, checked, error) {
	Y, classes := OneHot(seenLabels(labels, opt.Weights))
	if len(classes) < 2 {
		return nil, checked{}, fault.Input("%d samples of one class: there is nothing to tell apart", len(labels))
	}
	if opt.OutputNames == nil {
		opt.OutputNames = classes
	}
	return rowsOf(X, Y, opt, classes)
}

// FitGram learns Y (l×n) from m Gram matrices (l×l, symmetric, positive
// semidefinite to within rounding) of the caller's. Nothing is standardised
// unless opt.Standardize says so, and opt.Kernels is not used. The model
// predicts from cross-Gram matrices, by PredictGram.
func FitGram(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, opt Options) (*Model, error) {
	d, c, err := gramsOf(ctx, grams, Y, opt)
	if err != nil {
		return nil, err
	}
	return c.fit(ctx, d)
}

// OneHot turns class labels into targets: Y_ik is 1 when sample i is of class k
// and else 0. The classes are sorted, as numbers when all of them are numbers.
func OneHot(labels []string) (Y *mat.Dense, classes []string) { return columns.OneHot(labels) }

// rowsOf checks the options and makes data of a table, whose targets stand for classes unless these are nil.
func rowsOf(X, Y mat.Matrix, asked Options, classes []string) (learn.Data, checked, error) {
	x := raw(X)
	t, opt, err := asked.targets(x, raw(Y), false, classes)
	if err != nil {
		return nil, opt, err
	}
	so := opt.samples()
	if rows := columns.Observed(t.y); len(rows) < t.y.Rows && x.Rows == t.y.Rows {
		l := t.y.Rows - len(t.without)
		if len(rows) < 2 {
			return nil, opt, fault.Input("targets are observed in %d of %d rows: that is not enough to learn from",
				len(rows), l)
		}
		if len(rows) < l {
			so.Columns.Notes = append(so.Columns.Notes,
				fmt.Sprintf("left out %d of %d rows, of which no target is observed", l-len(rows), l))
		}
		x = blas.TakeRows(x, rows)
		t.take(rows, &opt.CV)
	}
	y, w := t.y, t.w
	if opt.Lambda == 0 {
		var inputs, targets []string
		if so.Columns.ScaleInputs {
			x, inputs = columns.PullIn(x, opt.InputNames, "x", "input")
		}
		if so.Columns.ScaleOutputs && so.Columns.Loss.Kind == loss.Squared {
			y, targets = columns.PullIn(y, opt.OutputNames, "y", "target")
		}
		so.Columns.Notes = slices.Concat(so.Columns.Notes, inputs, targets)
	}
	d, err := samples.NewRows(x, y, w, so)
	return d, opt, err
}

// gramsOf checks the options and makes data of Gram matrices.
func gramsOf(ctx context.Context, grams []mat.Matrix, Y mat.Matrix, asked Options) (learn.Data, checked, error) {
	alive(ctx)
	t, opt, err := asked.targets(blas.General{}, raw(Y), true, nil)
	if err != nil {
		return nil, opt, err
	}
	opt.Kernels, opt.CV.Kernels = nil, nil
	Ks := raws(grams)
	if len(t.without) > 0 {
		rows := columns.Others(t.without, t.y.Rows)
		for j, K := range Ks {
			if K.Rows == t.y.Rows && K.Cols == t.y.Rows { // others are refused
				Ks[j] = columns.Take(blas.TakeRows(K, rows), rows)
			}
		}
		t.take(rows, &opt.CV)
	}
	d, err := samples.NewGrams(ctx, Ks, t.y, t.w, opt.samples())
	return d, opt, err
}

// fit closes what the options leave open and learns from the data.
func (opt checked) fit(ctx context.Context, d learn.Data) (m *Model, err error) {
	alive(ctx)
	ctx, work := phase.Counting(ctx)
	defer func() {
		if m != nil {
			m.cert.Work = Work(work())
		}
	}()
	in, cancel := opt.within(ctx)
	defer cancel()
	if opt.Open() {
		opt.CV.OfFit = true
		r, err := opt.crossValidate(in, d, nil)
		if r == nil && in.Err() != nil && ctx.Err() == nil {
			least := opt
			least.Budget = 1 // for one setting
			r, err = least.crossValidate(ctx, d, nil)
		}
		if r == nil || err != nil && in.Err() == nil {
			return nil, opt.late(ctx, nil, err)
		}
		opt = r.bestOptions()
	} else if m := d.Abilities().InMemory; m != nil {
		if err := m.Winsorize(in, opt.Kernels); err != nil {
			return nil, opt.late(ctx, nil, err)
		}
	}
	return opt.timely(ctx, in, d)
}

// solve learns from the data with nothing left open.
func (opt *checked) solve(ctx context.Context, d learn.Data) (*Model, error) {
	if opt.LearnNoise {
		return opt.solveNoisy(ctx, d)
	}
	folds, err := opt.withoutFolds(ctx, d)
	if err != nil {
		return nil, err
	}
	share := 1.
	if opt.IntervalFolds >= 0 && folds == nil {
		share = fitShare
	}
	m, err := opt.growing(ctx, d, share)
	if m == nil {
		return nil, err
	}
	if m.fitted().Folds = folds; folds == nil && err == nil {
		m.fitted().Folds, err = opt.outOfFold(ctx, d, m)
		if errors.Is(err, context.DeadlineExceeded) {
			m.fitted().Warnings = append(m.fitted().Warnings, "no models are kept for intervals: there was no time")
			if opt.IntervalFolds == 0 {
				err = nil
			}
		}
	}
	if m.fitted().LogOdds() && m.fitted().HasFolds() {
		m.fitted().Calibrate()
	}
	return m, err
}

// Open reports whether a fit chooses λ, and what else is not given, by cross-validation.
func (opt *Options) Open() bool { return opt.Lambda == 0 && opt.Learn != learn.Likelihood }

// crossValidate compares the settings that the options leave open. ranks share the folds.
func (opt checked) crossValidate(ctx context.Context, d learn.Data, ranks stream.Ranks) (*CVResult, error) {
	alive(ctx)
	if opt.Learn == learn.Likelihood {
		return nil, fault.Input("cross-validation compares values of λ, which a fit by likelihood does not have: fit " +
			"it without each part of the rows, and predict these")
	}
	if opt.CV.OfFit {
		l, _ := d.Size()
		opt.CV = opt.CV.ForFit(l)
	}
	job := choose.Job{Options: opt.CV, Setting: opt.setting(), Method: opt.method(), Ranks: ranks}
	if end, bounded := ctx.Deadline(); bounded && opt.CV.OfFit {
		left := time.Until(end)
		job.Until = end.Add(-time.Duration((1 - choiceShare) * float64(left)))
	} else if opt.Budget > 0 {
		job.Until = time.Now().Add(time.Duration(opt.Budget))
	}
	if opt.Budget > 0 {
		job.Budget = time.Duration((1 - choiceShare) * float64(opt.Budget))
	}
	if opt.axis != nil && opt.OutputKernel == "" {
		job.OutputKernels = defaults.OutputKernels()
	}
	r, err := choose.Run(ctx, d, job)
	if r == nil {
		return nil, err
	}
	return &CVResult{*r, d, opt}, err
}

// alive panics on a nil context, which nothing below looks for.
func alive(ctx context.Context) {
	if ctx == nil {
		panic("iokl: a nil context")
	}
}

// dims are those of m, 0×0 for nil and nil pointers.
func dims(m mat.Matrix) (r, c int) {
	if v := reflect.ValueOf(m); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return 0, 0
	}
	return m.Dims()
}

// raw is m as a row-major matrix, empty for nil; it may share m's memory.
func raw(m mat.Matrix) blas.General {
	r, c := dims(m)
	if r == 0 || c == 0 {
		return blas.General{}
	}
	return blas.Raw(m)
}

func raws(ms []mat.Matrix) []blas.General {
	list := make([]blas.General, len(ms))
	for j, m := range ms {
		list[j] = raw(m)
	}
	return list
}

// withoutFolds fits the setting without each fold of data whose folds are dealt, before a fit to
// all of them uses them up.
func (opt *checked) withoutFolds(ctx context.Context, d learn.Data) ([]model.Fold, error) {
	f := d.Abilities().Folded
	if f == nil || opt.IntervalFolds < 1 {
		return nil, nil
	}
	method := opt.method()
	method.Say("learning without each of %d folds", opt.IntervalFolds)
	in, cancel := phase.Share(ctx, 1-fitShare)
	defer cancel()
	folds, err := method.WithoutFolds(in, f, opt.setting(), opt.IntervalFolds)
	if in.Err() != nil {
		return nil, nil // the fit to all rows is still the result
	}
	return folds, err
}

// outOfFold fits the models without each fold that the options ask for, or that a fit of m keeps by default: one that
// chooses its setting, and one by the logistic loss, which calibrates its probabilities on them.
func (opt *checked) outOfFold(ctx context.Context, d learn.Data, m *Model) ([]model.Fold, error) {
	parts := d.Abilities().InMemory
	k := opt.IntervalFolds
	if parts == nil || k < 0 {
		return nil, nil
	}
	own := k > 0 && opt.compared != nil && !opt.oneSetting // each fold chooses its setting
	l, n := d.Size()
	if k == 0 {
		k = opt.CV.ForFit(l).Folds
		wanted := opt.compared != nil || opt.lead().Kind == loss.Logistic
		if !opt.oneSetting && (!wanted || opt.CV.TimeOrdered || l > defaults.IntervalSamples ||
			float64(k)*float64(l)*float64(len(m.InputNames())+2*n) > defaults.IntervalNumbers) {
			return nil, nil
		}
	}
	env := opt.env()
	plan, err := d.Plan(ctx, opt.Kernels, opt.Learn, true)
	if err != nil {
		return nil, err
	}
	atOnce := max(1, min(par.Threads(), int(float64(env.Limit())/max(plan.Bytes, 1))))
	folding := learn.Folding{Groups: opt.CV.Groups, Seed: opt.Seed}
	folding.Folds = min(k, folding.MostFolds(l))
	folds, err := learn.OutOfFold(ctx, parts, folding, atOnce, func(ctx context.Context, d learn.Data,
		rows []int,
	) (*model.Model, error) {
		sub := *opt
		if own {
			sub = opt.compared.asked
			sub.CV.Groups = columns.Pick(sub.CV.Groups, rows)
			sub.CV.Folds = min(sub.CV.Folds, learn.Folding{Groups: sub.CV.Groups}.MostFolds(len(rows)))
		}
		sub.IntervalFolds, sub.Global, sub.classes, sub.LearnNoise = -1, false, nil, false
		sub.Checkpoint, sub.Trace, sub.Notify, sub.Watch = "", nil, nil, nil
		sub.Tol, sub.Budget = max(opt.Tol, defaults.CompareTol), 0
		m, err := sub.fit(ctx, d)
		if m == nil || err != nil && !errors.Is(err, bcd.ErrNotConverged) {
			return nil, err
		}
		return m.fitted(), ctx.Err() // which may have ended after the fit
	})
	if opt.IntervalFolds == 0 && !opt.oneSetting && errors.Is(err, fault.ErrInput) {
		env.Say("no models are kept for intervals: %v", err)
		return nil, nil
	}
	return folds, err
}

// noiseRounds is how often the noise is learned and the targets are weighted by it.
const noiseRounds = 2

// solveNoisy is solve with targets weighted by 1/σ̂²(x). σ̂² is learned from the errors of models without each fold,
// the first of which weigh all targets alike. k folds are the same in all rounds.
func (opt checked) solveNoisy(ctx context.Context, d learn.Data) (*Model, error) {
	given := d.Abilities().Table
	if given == nil {
		return nil, fault.Input("the noise is learned for rows in memory")
	}
	rows := given
	keep, method := opt.IntervalFolds, opt.method()
	opt.LearnNoise, opt.oneSetting, opt.IntervalFolds = false, true, max(keep, 0)
	var spread *model.Model
	in, cancel := phase.Share(ctx, noiseShare)
	defer cancel()
	for round := range noiseRounds {
		method.Say("learning the noise, round %d of %d", round+1, noiseRounds)
		known, weighed, err := opt.noise(in, given, rows)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			break
		}
		if err != nil {
			return nil, err
		}
		spread, rows = known, weighed
	}
	opt.IntervalFolds, opt.oneSetting = keep, keep == 0
	m, err := opt.solve(ctx, rows)
	if m != nil && spread == nil {
		m.fitted().Warnings = append(m.fitted().Warnings, "the noise is not learned: there was no time for it")
		return m, cmp.Or(err, context.DeadlineExceeded)
	}
	if m != nil {
		if m.fitted().Spread = spread; m.fitted().Folds == nil {
			spread.Folds = nil
		}
		_, _, W := given.Matrices() // what the noise makes of these is told by spread
		for k := range m.fitted().Folds {
			f := &m.fitted().Folds[k]
			if f.W = W; W.Data != nil {
				f.W = blas.TakeRows(W, f.Rows)
			}
		}
	}
	return m, err
}

// noise learns the deviations of the noise from the errors of models without each fold of the rows, and weighs the
// given ones by them.
func (opt *checked) noise(
	ctx context.Context, given, rows learn.Table,
) (spread *model.Model, weighed learn.Table, err error) {
	folds, err := opt.outOfFold(ctx, rows, nil)
	if err != nil {
		return nil, nil, err
	}
	if spread, err = opt.spread(ctx, given, folds); err != nil {
		return nil, nil, err
	}
	weighed, err = opt.weighed(ctx, given, spread)
	return spread, weighed, err
}

// spread learns the logarithm of the squared errors of the folds as a function of the inputs of d. Its model keeps
// models without the same folds, and is shifted so that squared errors have the mean that it tells.
func (opt *checked) spread(ctx context.Context, d learn.Table, folds []model.Fold) (*model.Model, error) {
	asked := opt.Options
	if opt.compared != nil {
		asked = opt.compared.asked.Options
	}
	v := Options{
		Kernels: asked.Kernels, Groups: asked.Groups, Standardize: "y", Seed: opt.Seed, Precision: opt.Precision,
		MaxBytes: opt.MaxBytes, Backend: opt.Backend, InputNames: opt.InputNames, OutputNames: opt.OutputNames,
		InputSchema: opt.InputSchema, IntervalFolds: len(folds),
		CV: CVOptions{Groups: opt.CV.Groups, FoldsBy: opt.CV.FoldsBy, Folds: asked.CV.Folds},
	}
	if opt.columns().ScaleInputs {
		v.Standardize = "x,y"
	}
	if v.Kernels != nil {
		v.Learn = learn.Nothing
	}
	c, err := v.check(false, nil)
	if err != nil {
		return nil, err
	}
	c.oneSetting = true
	X, Y, W := d.Matrices()
	so := c.samples()
	so.Content = d.Content() // for the same folds
	data, err := samples.NewRows(X, logSquares(folds, Y, W), W, so)
	if err != nil {
		return nil, err
	}
	m, err := c.fit(ctx, data)
	if err != nil {
		return nil, err
	}
	m.fitted().Warnings = nil
	calibrate(m.fitted())
	return m.fitted(), nil
}

// weighed is the data d with targets weighted by the inverse of the variance, times the mean variance: λ, which is in
// proportion to the variance, is then for the same prior of functions as where all weights are 1.
func (opt *checked) weighed(ctx context.Context, d learn.Table, spread *model.Model) (learn.Table, error) {
	X, Y, W := d.Matrices()
	sigma := blas.NewGeneral(Y.Rows, Y.Cols)
	if err := spread.Deviations(ctx, sigma, X); err != nil {
		return nil, err
	}
	w, err := opt.precision(sigma, Y, W)
	if err != nil {
		return nil, err
	}
	variance, cells := 0.0, 0.0
	for _, v := range w.Data {
		if v > 0 {
			variance, cells = variance+1/v, cells+1
		}
	}
	blas.Scal(variance/cells, w.Data)
	multiply(w, W)
	return d.Weighed(w)
}

package iokl

import (
	"cmp"
	"context"
	"errors"
	"time"

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
)

// fit closes what the options leave open and learns from the data.
func (opt checked) fit(ctx context.Context, d learn.Data) (m *Model, err error) {
	memory := d.Abilities().InMemory
	ctx, work := phase.Counting(ctx)
	defer func() {
		if m != nil && memory != nil {
			m.cert.Work = Work(work())
		}
	}()
	if memory == nil && opt.Open() {
		r, err := opt.crossValidate(ctx, d, false)
		if r == nil || err != nil && ctx.Err() == nil {
			return nil, err
		}
		return r.Fit(ctx)
	}
	in, cancel := opt.within(ctx)
	defer cancel()
	if opt.Open() {
		r, err := opt.crossValidate(in, d, true)
		if r == nil && in.Err() != nil && ctx.Err() == nil {
			least := opt
			least.Budget = 1 // for one setting
			r, err = least.crossValidate(ctx, d, true)
		}
		if r == nil || err != nil && in.Err() == nil {
			return nil, opt.late(ctx, nil, err)
		}
		opt = r.bestOptions()
	} else if memory != nil {
		if err := memory.Winsorize(in, opt.Kernels); err != nil {
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
func (opt *Options) Open() bool { return opt.Lambda == 0 && opt.Learn != LearnLikelihood }

// crossValidate compares the settings that the options leave open; ofFit in as many folds, and so much of the time, as
// a fit takes for it.
func (opt checked) crossValidate(ctx context.Context, d learn.Data, ofFit bool) (*CVResult, error) {
	if opt.Learn == LearnLikelihood {
		return nil, fault.Input("cross-validation compares values of λ, which a fit by likelihood does not have: fit " +
			"it without each part of the rows, and predict these")
	}
	if ofFit {
		l, _ := d.Size()
		opt.CV = opt.CV.ForFit(l)
	}
	job := choose.Job{
		Options: opt.CV.choose(), Setting: opt.setting(), Method: opt.method(), Ranks: opt.ranks,
	}
	if end, bounded := ctx.Deadline(); bounded && ofFit {
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
	return opt.result(r, d), err
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
	plan, err := d.Plan(ctx, opt.Kernels, learn.Learned(opt.Learn), true)
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
		Kernels: asked.Kernels, Groups: asked.Groups, Standardize: ScaleTargets, Seed: opt.Seed,
		Precision: opt.Precision, MaxBytes: opt.MaxBytes, Backend: opt.Backend, InputNames: opt.InputNames,
		OutputNames: opt.OutputNames, InputSchema: opt.InputSchema, IntervalFolds: len(folds),
		CV: CVOptions{Groups: opt.CV.Groups, FoldsBy: opt.CV.FoldsBy, Folds: asked.CV.Folds},
	}
	if opt.columns().ScaleInputs {
		v.Standardize = ScaleBoth
	}
	if v.Kernels != nil {
		v.Learn = LearnNothing
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

package iokl

import (
	"context"
	"errors"
	"time"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/choose"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/loss"
)

// fit closes what the options leave open and learns from the data.
func (opt checked) fit(ctx context.Context, d learn.Data) (m *Model, err error) {
	memory := d.Parts
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

// solve learns from the data with nothing left open, and keeps held-out predictions.
func (opt *checked) solve(ctx context.Context, d learn.Data) (*Model, error) {
	if opt.LearnNoise {
		return opt.solveNoisy(ctx, d)
	}
	folds, err := opt.withoutFolds(ctx, d)
	if err != nil {
		return nil, err
	}
	share := 1.
	if opt.refitsFolds() && folds == nil {
		share = fitShare
	}
	m, err := opt.growing(ctx, d, share)
	if m == nil || err != nil && !errors.Is(err, bcd.ErrNotConverged) {
		return m, err
	}
	if folds == nil && err == nil {
		if folds, err = opt.outOfFold(ctx, d, m); errors.Is(err, context.DeadlineExceeded) {
			m.fitted().Warnings = append(m.fitted().Warnings, "held-out predictions are not kept: there was no time")
			if opt.IntervalFolds == 0 {
				err = nil
			}
		}
	}
	opt.hold(m, folds)
	return m, err
}

// hold makes m keep what was predicted for rows without them: by models without each of some folds, and these where
// interval folds were asked for, or else by the folds that chose the setting.
func (opt *checked) hold(m *Model, folds []model.Fold) {
	l := m.fitted()
	if opt.IntervalFolds > 0 {
		l.Folds = folds
	}
	if c := opt.compared; folds == nil && opt.IntervalFolds >= 0 && c != nil && m.cert.Samples == c.samples {
		folds = c.held
	}
	if h := model.Join(folds, opt.Seed); h != nil && l.Held == nil {
		l.Held = h
		if c := opt.compared; c != nil {
			l.HoldMeans(c.found.Means)
		}
	}
	if l.LogOdds() && l.Held != nil {
		l.Calibrate()
	}
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
	if d.Folded == nil || opt.IntervalFolds < 1 {
		return nil, nil
	}
	method := opt.method()
	method.Say("learning without each of %d folds", opt.IntervalFolds)
	in, cancel := phase.Share(ctx, 1-fitShare)
	defer cancel()
	folds, err := method.WithoutFolds(in, d, opt.setting(), opt.IntervalFolds)
	if in.Err() != nil {
		return nil, nil // the fit to all rows is still the result
	}
	return folds, err
}

// refitsFolds reports whether the setting is fitted again without each fold: where models of folds are asked for, and
// for losses other than the squared one, and Gram matrices, of which the model keeps nothing that tells it later.
func (opt *checked) refitsFolds() bool {
	return opt.IntervalFolds > 0 || opt.IntervalFolds == 0 && (opt.oneSetting ||
		(opt.compared == nil || opt.compared.held == nil) && opt.lead().Kind != loss.Squared)
}

// outOfFold predicts each fold of the samples by a fit to the others: with the setting, where models of folds are
// asked for or several quantiles are learned, or at the weights and L of m where it could not be told later from what
// m keeps. There are none where the folds that chose the setting tell it.
func (opt *checked) outOfFold(ctx context.Context, d learn.Data, m *Model) ([]model.Fold, error) {
	if d.Parts == nil || opt.IntervalFolds < 0 || m != nil && m.cert.Samples != size(d) {
		return nil, nil
	}
	folding := learn.Folding{
		Folds: opt.IntervalFolds, Groups: opt.CV.Groups, TimeOrdered: opt.CV.TimeOrdered, Seed: opt.Seed,
	}
	if folding.Folds == 0 {
		folding.Folds = opt.CV.ForFit(size(d)).Folds
	}
	folding.Folds = min(folding.Folds, folding.MostFolds(size(d)))
	if opt.IntervalFolds == 0 && !opt.oneSetting {
		switch l := m.fitted(); {
		case opt.compared != nil && opt.compared.held != nil || l.Held != nil || l.RefitsLater():
			return nil, nil
		case len(l.Out.Quantiles) < 2:
			method := opt.method()
			method.Say("predicting each of %d folds from the others", folding.Folds)
			folds, err := method.HoldFolds(ctx, d, opt.setting(), l, m.cert.Lambda*float64(m.cert.Samples), folding)
			if errors.Is(err, fault.ErrInput) {
				method.Say("no held-out predictions are kept: %v", err)
				return nil, nil
			}
			return folds, err
		}
	}
	own := opt.IntervalFolds > 0 && opt.compared != nil && !opt.oneSetting // each fold chooses its setting
	env := opt.env()
	plan, err := d.Plan(ctx, opt.Kernels, learn.Learned(opt.Learn), true)
	if err != nil {
		return nil, err
	}
	atOnce := max(1, min(par.Threads(), int(float64(env.Limit())/max(plan.Bytes, 1))))
	folds, err := learn.OutOfFold(ctx, d, folding, atOnce, func(ctx context.Context, d learn.Data,
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
		env.Say("no held-out predictions are kept: %v", err)
		return nil, nil
	}
	return folds, err
}

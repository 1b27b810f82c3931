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

// outOfFold fits the models without each fold that the options ask for, or that a fit of m keeps by default: one that
// chooses its setting, and one by the logistic loss, which calibrates its probabilities on them.
func (opt *checked) outOfFold(ctx context.Context, d learn.Data, m *Model) ([]model.Fold, error) {
	k := opt.IntervalFolds
	if d.Parts == nil || k < 0 {
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
		env.Say("no models are kept for intervals: %v", err)
		return nil, nil
	}
	return folds, err
}

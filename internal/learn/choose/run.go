// This file runs a race, or two for a loss other than the squared one.

package choose

import (
	"cmp"
	"context"
	"time"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/loss"
)

// Run compares settings by the race. The result does not depend on how many folds run at once.
//
// When the budget is spent, or the context is cancelled, Run returns the result of the rung that was going on where
// folds of it are complete, or else of the rung before; with the error of the context, if that was cancelled, and
// then nil where nothing was compared yet.
func Run(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	r := &race{Job: job, all: d, data: d}
	if learn.LossOf(d).Kind != loss.Squared {
		r.Setting.Losses = nil // the lead decides
		if r.kernelsOpen() {
			return byLoss(ctx, d.Offers().Table, r.Job)
		}
		if err := d.Offers().InMemory.Winsorize(ctx, r.Setting.Kernels); err != nil {
			return nil, err
		}
	}
	return r.decide(ctx)
}

// decide is Run by one race.
func (s *race) decide(ctx context.Context) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	limited, cancel := ctx, func() {}
	if s.Budget > 0 {
		s.deadline = time.Now().Add(s.Budget)
		limited, cancel = context.WithDeadline(ctx, s.deadline)
	}
	defer cancel()
	s.Method.Tol, s.Method.Trace = s.Tol, nil
	compare := s.run
	if s.LeaveOneOut {
		compare = s.leaveOneOut
	}
	var err error
	phase.In(limited, phase.Choice, func(ctx context.Context) { err = compare(ctx) })
	if limited.Err() == nil || ctx.Err() != nil && s.best == nil {
		return s.best, err
	}
	end := context.WithoutCancel(ctx)
	if ctx.Err() == nil { // the budget is spent
		end = ctx
		if err = nil; s.best == nil {
			if err := s.least(ctx); err != nil {
				return nil, err
			}
		}
		p := s.best.Chosen()
		const spent = "the time for choosing settings is spent: the best of those compared on %d rows is taken, %s " +
			"%.4g, kernels %s"
		s.Method.Say(spent, s.best.samples, s.Metric, p.Mean, Brief(p.Kernels))
	}
	return s.best, cmp.Or(s.extend(end), err)
}

// lossSamples is how many samples, at most, values of λ are compared on by a loss: a fit takes several Newton steps
// there, each as long as a decomposition, which half of the samples have in an eighth of the time.
const lossSamples = MostSamples / 2

// byLoss finds the kernels, and what is learned on them, by the race with squared errors, whose decompositions serve
// all λ, and then λ by the loss on at most lossSamples samples.
func byLoss(ctx context.Context, d learn.Table, job Job) (*Result, error) {
	job.Method.Say("kernels are compared by squared errors, since one decomposition of these serves all λ, and then λ "+
		"by the loss %s", d.Loss())
	if err := d.Winsorize(ctx, nil); err != nil {
		return nil, err
	}
	squares, err := d.ByLoss(loss.Loss{})
	if err != nil {
		return nil, err
	}
	first := job
	if first.Metric != "accuracy" {
		first.Metric = ""
	}
	first.Budget, first.Lambdas = job.Budget/2, nil
	if first.Setting.Model == "" && first.Models == nil {
		// Fits of a sum by huber may stop at a gap of .07: the systems of their steps are not solved.
		first.Setting.Model = learn.Product
	}
	best, err := (&race{Job: first, all: squares, data: squares}).decide(ctx)
	if err != nil {
		return nil, err
	}
	p := best.Chosen()
	d.Follow(squares)
	if err := d.Winsorize(ctx, p.Kernels); err != nil {
		return nil, err
	}
	second := job
	second.Budget, second.Kernels, second.Models = job.Budget/2, nil, nil
	second.Setting.Kernels, second.Setting.Learn, second.Setting.Model = p.Kernels, p.Learn, p.Model
	if second.Setting.Regularizer == nil {
		second.Setting.Norm = p.Norm
	}
	second.Norms, second.Repeats = nil, 1
	l, _ := d.Size()
	part, rows := learn.Data(d), []int(nil)
	if some := (&race{Job: job}).draw(l, min(l, lossSamples)); some != nil && job.Lambdas == nil {
		rows = some
		if part, err = d.Sample(rows); err != nil {
			return nil, err
		}
		second.Groups = learn.Pick(job.Groups, rows)
	}
	r, err := (&race{Job: second, all: part, data: part}).decide(ctx)
	if r == nil || rows == nil {
		return r, err
	}
	for i := range r.Points { // μ = λl stays
		r.Points[i].Lambda *= float64(len(rows)) / float64(l)
	}
	return r, cmp.Or(err, ctx.Err())
}

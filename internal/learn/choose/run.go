// Stages of a choice: the time is divided, what a part of the data chose is taken to all of it, and other losses
// compare λ by other losses than the squared one.

package choose

import (
	"cmp"
	"context"
	"time"

	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/loss"
)

// Run compares settings by the race. The result does not depend on how many folds run at once.
//
// When it is time, or the context ends, Run returns the result of the rung that was going on where folds of it are
// complete, or else of the rung before; with the error of the context, if that has ended, and then nil where nothing
// was compared yet. What is chosen has exact kernels then, whether all samples can be fitted with these or not.
func Run(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	s := &race{Job: job, all: d, data: d}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Method.Tol, s.Method.Trace = s.Tol, nil
	open, stages := s.kernelsOpen(), []func(context.Context) error{s.run}
	switch byLoss := d.Loss().Kind != loss.Squared; {
	case byLoss:
		if err := d.Parts.Winsorize(ctx, s.Setting.Kernels); err != nil {
			return nil, err
		}
		if open {
			asked := s.Job
			if err := s.bySquares(); err != nil {
				return nil, err
			}
			stages = append(stages, func(ctx context.Context) error { return s.byLoss(ctx, d, &asked) })
		}
	case s.LeaveOneOut && open:
		stages = append(stages, s.leaveOneOut)
	case s.LeaveOneOut:
		stages[0] = s.leaveOneOut
	}
	var err error
	for k, work := range stages {
		until := s.Until
		if k+1 < len(stages) && !until.IsZero() {
			until = until.Add(-time.Until(until) / 2)
		}
		if err = s.within(ctx, until, work); err != nil || ctx.Err() != nil {
			break
		}
	}
	if s.best != nil {
		s.best.cut = s.cut
	}
	return s.best, err
}

// within does a part of the comparison until it is time. If the time or ctx has ended it, the best so far becomes a
// setting of all samples.
func (s *race) within(ctx context.Context, until time.Time, work func(context.Context) error) (err error) {
	limited, cancel := ctx, func() {}
	if !until.IsZero() {
		limited, cancel = context.WithDeadline(ctx, until)
	}
	defer cancel()
	phase.In(limited, phase.Choice, func(ctx context.Context) { err = work(ctx) })
	if s.best != nil && !s.LeaveOneOut {
		s.best.Held = s.predictions(s.best.Chosen())
	}
	if limited.Err() == nil || ctx.Err() != nil && s.best == nil {
		return err
	}
	if ctx.Err() == nil { // the time is spent
		if err = nil; s.best == nil {
			if err := s.atLeast(ctx); err != nil {
				return err
			}
		}
		s.cut, s.best.cut = true, true
		s.Method.Say("%s", s.best.Cut())
	}
	return cmp.Or(s.extend(ctx), err)
}

// finish compares the leader and the leader among fixed weights on all samples and targets. Paths begin two values
// above the largest λ within one standard error of the best. With exact kernels one fold chooses λ, and the other folds
// measure the error there, unless they hide cells, of which one fold has many, and fits take long.
//
// Where kernels interpolate without harm, all small values of λ are alike on few samples, and the best of them by so
// little that it says nothing of more samples, which lie closer: a path that falls from the largest ends before systems
// of small λ, which are ill conditioned.
func (s *race) finish(ctx context.Context) error {
	s.follow()
	l, n := s.all.Size()
	if _, some := s.data.Size(); s.size == l && some == n {
		return nil
	}
	list, features, err := s.affordable(ctx)
	if err != nil {
		return err
	}
	s.arms = nil
	for _, i := range list {
		p := s.best.Points[i]
		a := p.arm
		if a.closed = false; s.size < l {
			a.keep(s.best.Points[s.steadier(s.best.Points, i)].at-2*beside, len(a.lambdas))
		} else {
			a.keep(p.at, p.at+1)
		}
		s.arms = append(s.arms, a)
	}
	d, exact := s.all, features == nil
	if !exact {
		s.arms[0].Kernels = features
		if s.Metric != "accuracy" && !s.TimeOrdered {
			if d, err = s.table().Sums(ctx, features, s.folding()); err != nil {
				return err
			}
		}
	}
	s.Repeats = 1
	if err := s.take(d, l); err != nil {
		return err
	}
	to := 1
	if !exact {
		to = s.folds
	}
	if err := s.compare(ctx, 0, to); err != nil || !exact || s.fills() {
		return err
	}
	for _, a := range s.arms {
		a.keep(a.at, a.at+1)
	}
	return s.compare(ctx, 1, s.folds)
}

// affordable lists the best point and the best of fixed weights, if memory and the budget allow exact kernels of both,
// or the latter alone, which takes less. Else it is the former with explicit features of its kernels.
func (s *race) affordable(ctx context.Context) (list []int, features []string, err error) {
	points := s.best.Points
	list = []int{s.best.Best}
	if i := s.fixed(points, func(*Point) bool { return true }); i >= 0 && points[s.best.Best].Learn.Weights() {
		list = append(list, i)
	}
	for k, i := range list {
		p := points[i]
		kernels, err := s.table().Affordable(ctx, p.Kernels, p.Learn, s.Folds, s.Budget)
		if err != nil || dictionary.Exact(kernels) {
			return list[k:], nil, err
		}
		if k == 0 {
			features = kernels
		}
	}
	return list[:1], features, nil
}

// follow makes fits to all samples start from the lengths of columns that the last rung learned, but not from those of
// fewer samples that λ was compared on by a loss.
func (s *race) follow() {
	if t := s.table(); t != nil && (s.floor == 0 || s.data == s.all) {
		t.Follow(s.data.Table)
	}
}

// extend makes the best setting of a part of the samples or targets one of all, with the same μ = λl.
func (s *race) extend(ctx context.Context) error {
	r := s.best
	if r.whole {
		return nil
	}
	r.whole = true
	s.follow()
	l, n := s.all.Size()
	if r.samples < l && s.kernelsOpen() && s.floor == 0 {
		list, features, err := s.affordable(ctx)
		switch {
		case err == nil:
			r.Best = list[0]
			if features != nil {
				r.Points[r.Best].Kernels = features
			}
		case ctx.Err() == nil:
			return err
		}
	}
	for i := range r.Points {
		if s.Lambdas == nil {
			r.Points[i].Lambda *= float64(r.samples) / float64(l)
		}
	}
	p := &r.Points[r.Best]
	if p.Learn == learn.Nothing && s.Setting.Learn != "" {
		p.Learn = s.Setting.Learn
	}
	p.OutputKernel = cmp.Or(p.OutputKernel, s.Setting.OutputKernel)
	if s.Setting.Model == learn.Sum {
		p.Model = learn.Sum
	}
	if _, some := s.data.Size(); some < n {
		r.Means = nil
	}
	return nil
}

// lossSamples is how many samples, at most, values of λ are compared on by a loss: a fit takes several Newton steps
// there, each as long as a decomposition, which half of the samples have in an eighth of the time.
const lossSamples = MostSamples / 2

// bySquares makes the race one by squared errors, whose decompositions serve all λ.
func (s *race) bySquares() (err error) {
	s.Method.Say("kernels are compared by squared errors, since one decomposition of these serves all λ, and then λ "+
		"by the loss %s", s.all.Loss())
	s.all, err = s.all.Parts.ByLoss(loss.Loss{})
	if s.data, s.Lambdas, s.Setting.Losses = s.all, nil, nil; s.Metric != "accuracy" {
		s.Metric = "nmse"
	}
	return err
}

// byLoss compares values of λ by the loss of the data, as it was asked for, with what the race by squared errors chose.
func (s *race) byLoss(ctx context.Context, d learn.Data, asked *Job) error {
	s.best.Held, s.held = nil, held{} // by squares
	size, _ := d.Size()
	s.floor = s.best.Chosen().Lambda * float64(size)
	a := s.leader()
	if s.Lambdas = asked.Lambdas; s.Lambdas == nil {
		size = min(size, lossSamples)
	} else {
		a.lambdas, a.given, a.to = s.Lambdas, true, len(s.Lambdas)
	}
	s.floor /= float64(size)
	squares := s.all
	s.all, s.Metric, s.Repeats, a.Losses = d, asked.Metric, 1, asked.Setting.Losses
	s.Setting.Losses = a.Losses
	s.table().Follow(squares.Table)
	if err := s.all.Parts.Winsorize(ctx, a.Kernels); err != nil {
		return err
	}
	if err := s.take(d, size); err != nil {
		return err
	}
	if err := s.compare(ctx, 0, s.folds); err != nil {
		return err
	}
	return s.extend(ctx)
}

// leader makes the arm of the best point the only one, with all of its path.
func (s *race) leader() *arm {
	p := s.best.Chosen()
	a := p.arm
	a.Kernels, a.closed, a.from, a.to = p.Kernels, false, 0, len(a.lambdas)
	s.arms = []*arm{a}
	return a
}

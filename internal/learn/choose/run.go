// This file runs a race, or two for a loss other than the squared one, and takes what it found on a part of the data to
// all of it.

package choose

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/loss"
)

// Run compares settings by the race. The result does not depend on how many folds run at once.
//
// When it is time, or the context ends, Run returns the result of the rung that was going on where folds of it are
// complete, or else of the rung before; with the error of the context, if that has ended, and then nil where nothing
// was compared yet. What is chosen has exact kernels then, whether all samples can be fitted with these or not.
func Run(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	r := &race{Job: job, all: d, data: d}
	if d.Loss().Kind != loss.Squared {
		if r.Setting.Losses = learn.Ends(r.Setting.Losses); r.Metric != "" && r.Metric != learn.LossMetric {
			r.Setting.Losses = nil
		}
		if r.kernelsOpen() {
			return byLoss(ctx, d, r.Job)
		}
		if err := d.Parts.Winsorize(ctx, r.Setting.Kernels); err != nil {
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
	if !s.Until.IsZero() {
		limited, cancel = context.WithDeadline(ctx, s.Until)
	}
	defer cancel()
	s.Method.Tol, s.Method.Trace = s.Tol, nil
	compare := s.run
	if s.LeaveOneOut {
		compare = s.leaveOneOut
	}
	var err error
	phase.In(limited, phase.Choice, func(ctx context.Context) { err = compare(ctx) })
	if s.best != nil && !s.LeaveOneOut {
		s.best.Held = s.predictions(s.best.Chosen())
	}
	if limited.Err() == nil || ctx.Err() != nil && s.best == nil {
		return s.best, err
	}
	if ctx.Err() == nil { // the time is spent
		if err = nil; s.best == nil {
			if s.floor > 0 {
				return nil, nil // squared errors have chosen a λ
			}
			if err := s.least(ctx); err != nil {
				return nil, err
			}
		}
		s.best.cut = true
		s.Method.Say("%s", s.best.Cut())
	}
	return s.best, cmp.Or(s.extend(ctx), err)
}

// lossSamples is how many samples, at most, values of λ are compared on by a loss: a fit takes several Newton steps
// there, each as long as a decomposition, which half of the samples have in an eighth of the time.
const lossSamples = MostSamples / 2

// byLoss finds the kernels, and what is learned on them, by the race with squared errors, whose decompositions serve
// all λ, and then λ by the loss on at most lossSamples samples.
func byLoss(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	job.Method.Say("kernels are compared by squared errors, since one decomposition of these serves all λ, and then λ "+
		"by the loss %s", d.Loss())
	if err := d.Parts.Winsorize(ctx, nil); err != nil {
		return nil, err
	}
	squares, err := d.Parts.ByLoss(loss.Loss{})
	if err != nil {
		return nil, err
	}
	first := job
	if first.Metric != "accuracy" {
		first.Metric = ""
	}
	first.Lambdas, first.Setting.Losses = nil, nil
	if !job.Until.IsZero() {
		first.Until = job.Until.Add(-time.Until(job.Until) / 2)
	}
	best, err := (&race{Job: first, all: squares, data: squares}).decide(ctx)
	if best == nil || err != nil {
		return best, err
	}
	p := best.Chosen()
	best.Held = nil // by squares
	d.Table.Follow(squares.Table)
	if err := d.Parts.Winsorize(ctx, p.Kernels); err != nil {
		return ifEnded(ctx, best), err
	}
	second := job
	second.Kernels, second.Models = nil, nil
	second.Setting.Kernels, second.Setting.Learn, second.Setting.Model = p.Kernels, p.Learn, p.Model
	if second.Setting.Regularizer == nil {
		second.Setting.Norm = p.Norm
	}
	second.Norms, second.Repeats = nil, 1
	l, _ := d.Size()
	part, rows := d, []int(nil)
	if some := (&race{Job: job}).draw(l, min(l, lossSamples)); some != nil && job.Lambdas == nil {
		rows = some
		if part, err = d.Parts.Sample(rows); err != nil {
			return nil, err
		}
		second.Groups = columns.Pick(job.Groups, rows)
	}
	size, _ := part.Size()
	r, err := (&race{Job: second, all: part, data: part, floor: p.Lambda * float64(l) / float64(size)}).decide(ctx)
	if r == nil {
		if best.cut = true; err == nil {
			return best, nil
		}
		return ifEnded(ctx, best), err
	}
	if r.cut = r.cut || best.cut; rows == nil {
		return r, err
	}
	r.Held = nil              // of some of the samples
	for i := range r.Points { // μ = λl stays
		r.Points[i].Lambda *= float64(len(rows)) / float64(l)
	}
	return r, cmp.Or(err, ctx.Err())
}

// ifEnded is what there is to return where ctx has ended, and else nil.
func ifEnded(ctx context.Context, so *Result) *Result {
	if ctx.Err() == nil {
		return nil
	}
	return so
}

// finish compares the leader and the leader among fixed weights on all samples, or all targets: with exact kernels
// where time and memory allow, of which one fold chooses λ, and explicit features else, where only the leader is
// left. Where cells of many targets are missing there is no other fold: a fit takes long.
func (s *race) finish(ctx context.Context, r rung) error {
	p := s.best.Chosen()
	kernels, err := s.affordable(ctx, &p)
	if err != nil {
		return err
	}
	exact := dictionary.Exact(kernels)
	s.rank()
	s.arms = s.leaders(&p, exact)
	open := r.samples > s.size && !s.holed()
	for _, a := range s.arms {
		a.closed = false
		switch a.keep(2 * beside); {
		case s.holed():
			a.keep(beside)
		case open: // features want less of a penalty than their kernels, and exact kernels end at their best
			a.fall(min(s.largest(a), a.at-2*beside))
		default:
			a.keep(0)
		}
	}
	if !exact {
		s.arms[0].Kernels = kernels
	}
	d := s.all
	if l, n := d.Size(); r.targets < n {
		if d, err = s.table().Part(s.draw(l, l), s.draw(n, r.targets)); err != nil {
			return err
		}
	}
	if !exact && s.Metric != "accuracy" && !s.TimeOrdered {
		if d, err = d.Table.Sums(ctx, kernels, s.folding()); err != nil {
			return err
		}
	}
	s.Repeats, s.whole = 1, exact && open
	if err := s.take(d, r); err != nil {
		return err
	}
	to := s.folds
	if exact {
		to = 1
	}
	if err := s.compare(ctx, 0, to); err != nil || s.holed() {
		return err
	}
	s.rank()
	more := false
	for _, a := range s.arms {
		more = open && a.widen() || more
	}
	if more {
		if err := s.compare(ctx, 0, to); err != nil {
			return err
		}
		s.rank()
	}
	if !exact {
		return nil
	}
	for _, a := range s.arms {
		if a.at >= 0 {
			a.keep(0)
		}
	}
	return s.compare(ctx, to, s.folds)
}

// largest is the largest λ of the arm with an error within one standard error of its best. Where kernels interpolate
// without harm, all small values are alike on few samples, and the best of them by so little that it says nothing of
// more samples, which lie closer: among these a path that falls from the largest ends before systems of small λ, which
// are ill conditioned.
func (s *race) largest(a *arm) int {
	points, best := s.best.Points, a.point(a.lambdas[a.at])
	i := slices.IndexFunc(points, func(p Point) bool { return p.Lambda == best.Lambda && p.sameBut(&best) })
	return slices.Index(a.lambdas, points[s.steadier(points, i)].Lambda)
}

// leaders are the arm of the point, with its λ as the best, and the best arm of fixed weights, if both may be exact.
func (s *race) leaders(p *Point, exact bool) (list []*arm) {
	for _, a := range s.arms {
		if q := a.point(p.Lambda); q.sameBut(p) {
			a.at = slices.Index(a.lambdas, p.Lambda)
			list = slices.Insert(list, 0, a)
		} else if exact && len(list) < 2 && p.Learn != learn.Nothing && a.Learn == learn.Nothing && a.at >= 0 &&
			!slices.ContainsFunc(list, func(b *arm) bool { return b.Learn == learn.Nothing }) {
			list = append(list, a)
		}
	}
	return list
}

// affordable is the kernels of the point, or explicit features of them where exact ones take too much time or memory.
// Exact kernels take less where less is learned: before features, the best setting of which they are affordable takes
// the place of p.
func (s *race) affordable(ctx context.Context, p *Point) ([]string, error) {
	d := s.table()
	if d == nil || s.named() || !dictionary.Exact(p.Kernels) {
		return p.Kernels, nil
	}
	points := slices.DeleteFunc(slices.Clone(s.best.Points), func(q Point) bool { return !dictionary.Exact(q.Kernels) })
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(s.score(a.Folds), s.score(b.Folds)) })
	features := map[learn.Learned][]string{}
	for k, q := range slices.Insert(points, 0, *p) {
		if features[q.Learn] != nil {
			continue
		}
		kernels, err := d.Affordable(ctx, q.Kernels, q.Learn, s.Folds, s.Budget)
		if err != nil {
			return nil, err
		}
		if dictionary.Exact(kernels) {
			if k > 0 {
				s.Method.Say("exact kernels and learning %s take the place of these features", q.Learn)
			}
			*p = q
			return kernels, nil
		}
		features[q.Learn] = kernels
	}
	return features[p.Learn], nil
}

// extend makes the best setting of a part of the samples or targets one of all.
func (s *race) extend(ctx context.Context) error {
	l, n := s.all.Size()
	s.follow()
	p := &s.best.Points[s.best.Best]
	if p.Learn == learn.Nothing && s.Setting.Learn != "" {
		p.Learn = s.Setting.Learn
	}
	p.OutputKernel = cmp.Or(p.OutputKernel, s.Setting.OutputKernel)
	if s.Setting.Model == learn.Sum {
		p.Model = learn.Sum
	}
	if s.best.samples < l {
		kernels, err := s.affordable(ctx, p)
		switch {
		case err == nil:
			p.Kernels = kernels
		case ctx.Err() == nil:
			return err
		}
		if s.Lambdas == nil {
			p.Lambda *= float64(s.best.samples) / float64(l)
		}
	}
	if _, some := s.data.Size(); some < n {
		s.best.Means = nil
	}
	return nil
}

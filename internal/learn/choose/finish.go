// This file takes what the race found on a part of the data to all of it.

package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/dictionary"
)

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
		case open:
			a.in[s.largest(a)] = true
		default:
			a.keep(0)
		}
		for i := a.at; open && !exact && i < len(a.in); i++ { // features want less of a penalty than their kernels
			a.in[i] = true
		}
	}
	if !exact {
		s.arms[0].Kernels = kernels
	}
	d := s.all
	if l, n := d.Size(); r.targets < n {
		if d, err = s.all.Offers().Table.Part(s.draw(l, l), s.draw(n, r.targets)); err != nil {
			return err
		}
	}
	if !exact && s.Metric != "accuracy" && !s.TimeOrdered {
		if d, err = d.Offers().Table.Sums(ctx, kernels, s.folding()); err != nil {
			return err
		}
	}
	s.Repeats = 1
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
// more samples, which lie closer.
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
func (s *race) affordable(ctx context.Context, p *Point) ([]string, error) {
	if d := s.all.Offers().Table; d != nil && !s.named() && dictionary.Exact(p.Kernels) {
		return d.Affordable(ctx, p.Kernels, p.Learn, s.Folds, s.Budget)
	}
	return p.Kernels, nil
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
		if s.Lambdas == nil {
			p.Lambda *= float64(s.best.samples) / float64(l)
		}
		var err error
		if p.Kernels, err = s.affordable(ctx, p); err != nil {
			return err
		}
	}
	if _, some := s.data.Size(); some < n {
		s.best.Means = nil
	}
	return nil
}

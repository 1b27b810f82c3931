// This file chooses a setting on a part of many samples or targets, and λ on all of them.

package choose

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
)

// large reports whether a part of the data is to choose all but λ, and of how many
// samples and targets: there are more than time or memory allow, and the user fixed no kernels.
func (s *selection) large() (d learn.Approximator, samples, targets int, yes bool) {
	d, ok := s.data.(learn.Approximator)
	l, n := s.data.Size()
	holds := math.Sqrt(float64(s.Method.Limit()) / defaults.ChooseBytes)
	samples, targets = min(l, int(max(defaults.LeastChoose, min(defaults.ChooseSamples, holds)))), n
	if n >= 2*defaults.ChooseTargets && s.Metric != "accuracy" {
		targets = defaults.ChooseTargets
	}
	return d, samples, targets, ok && (samples < l || targets < n) && s.Kernels == nil && s.Setting.Kernels == nil
}

// chooseLarge chooses all but λ on so many random samples and targets, and λ on all of them, with
// exact kernels where time and memory allow, and explicit features else. Where the time that
// is limited ends before, or ctx does, the λ of the part is taken.
func (s *selection) chooseLarge(limited, ctx context.Context, d learn.Approximator, samples, targets int) (*Result, error) {
	l, n := d.Size()
	part, job, err := s.part(d, samples, targets)
	if err != nil {
		return nil, err
	}
	if samples < l {
		s.Method.Say("choosing kernels on %d of %d samples", samples, l)
	}
	if targets < n {
		s.Method.Say("choosing kernels on %d of %d targets", targets, n)
	}
	if job.Models == nil {
		job.Models = []string{"product"} // explicit features offer no other
	}
	job.Budget = time.Duration(defaults.PartBudget * float64(s.Budget))
	r, err := Run(ctx, part, job)
	if err != nil {
		return r, err
	}
	p := &r.Points[r.Best]
	kernels := p.Kernels
	if p.Model != "sum" { // which needs exact kernels
		if kernels, err = d.Affordable(ctx, kernels, s.Folds); err != nil {
			return r, err
		}
	}
	if r.Note != "" {
		s.note = r.Note
		s.Groups = blocks(l, s.Folds*defaults.FoldBlocks)
		s.chosen, r.Groups = s.Groups, s.Groups
	}
	job = s.Job
	job.Setting.Kernels, job.Setting.Norm, job.Setting.Learn, job.Setting.Model, job.Setting.Tau = kernels, p.Norm, p.Learn, p.Model, p.Tau
	job.Norms, job.Taus, job.Repeats, job.Budget = nil, nil, 1, 0
	open := job.Lambdas == nil
	if open {
		job.Lambdas = Carried(p.Lambda, float64(l)/float64(samples))
	}
	p.Kernels = kernels
	data := learn.Data(d)
	if !dictionary.Exact(kernels) && s.Metric != "accuracy" && !s.TimeOrdered {
		if data, err = d.Sums(limited, kernels, learn.Folding{Folds: s.Folds, Groups: s.Groups}); err != nil {
			return r, err
		}
	}
	all, err := Run(limited, data, job)
	for k := 0; k < mostBeyond && open && all != nil && err == nil; k++ {
		best := all.Points[all.Best].Lambda
		if job.Lambdas = beyond(best, job.Lambdas); job.Lambdas == nil {
			break
		}
		more, e := Run(limited, data, job)
		if e != nil || more.Points[more.Best].Lambda == best {
			break
		}
		all = more
	}
	if all == nil && limited.Err() != nil {
		all = r
	}
	return all, err
}

// mostBeyond is how often values of λ beyond the ends of a path are tried.
const mostBeyond = 3

// beyond are the best of some values of λ and three beyond it, where it is the largest or the least of them; else nil.
func beyond(best float64, lambdas []float64) (more []float64) {
	step := math.Sqrt(10)
	switch best {
	case slices.Max(lambdas):
	case slices.Min(lambdas):
		step = 1 / step
	default:
		return nil
	}
	for k := range 4 {
		more = append(more, best*math.Pow(step, float64(k)))
	}
	return more
}

// part is a random part of the data, of so many samples and targets, and what to choose on it.
func (s *selection) part(d learn.Approximator, samples, targets int) (learn.Data, Job, error) {
	l, n := d.Size()
	job, rows, columns := s.Job, []int(nil), []int(nil)
	if samples < l {
		rows = s.draw(l, samples, uint64(samples))
		job.Groups = learn.Pick(s.Groups, rows)
	}
	if targets < n {
		columns = s.draw(n, targets, uint64(targets))
	}
	part, err := d.Part(rows, columns)
	return part, job, err
}

// Carried are the values of λ to try with so many times the samples, around the best
// of a part: from the next larger one down to where λl, the weight of the penalty
// against the sum of the squared errors, is that of the part, and one step more.
func Carried(lambda, times float64) (lambdas []float64) {
	last := int(math.Ceil(2*math.Log10(times))) + 1
	for k := -1; k <= last; k++ {
		lambdas = append(lambdas, lambda*math.Pow(10, -float64(k)/2))
	}
	return lambdas
}

package choose

import (
	"context"
	"math"
	"time"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
)

// large reports whether a part of the data is to choose all but λ, and of how many
// samples: there are more than time or memory allow, and the user fixed no kernels.
func (s *selection) large() (d learn.Approximator, some int, yes bool) {
	d, ok := s.data.(learn.Approximator)
	l, _ := s.data.Size()
	holds := math.Sqrt(float64(s.Method.Limit()) / defaults.ChooseBytes)
	some = int(max(defaults.LeastChoose, min(defaults.ChooseSamples, holds)))
	return d, some, ok && l > some && s.Kernels == nil && s.Setting.Kernels == nil
}

// chooseLarge chooses all but λ on a random part of the samples, and λ on all of them, with
// exact kernels where time and memory allow, and explicit features else. Where the time that
// is limited ends before, or ctx does, the λ of the part is taken.
func (s *selection) chooseLarge(limited, ctx context.Context, d learn.Approximator, some int) (*Result, error) {
	l, _ := d.Size()
	part, job, err := s.part(d, some)
	if err != nil {
		return nil, err
	}
	s.Method.Say("choosing kernels on %d of %d samples", some, l)
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
	if job.Lambdas == nil {
		job.Lambdas = Carried(p.Lambda, float64(l)/float64(some))
	}
	p.Kernels = kernels
	data := learn.Data(d)
	if !dictionary.Exact(kernels) && s.Metric != "accuracy" && !s.TimeOrdered {
		if data, err = d.Sums(limited, kernels, learn.Folding{Folds: s.Folds, Groups: s.Groups}); err != nil {
			return r, err
		}
	}
	all, err := Run(limited, data, job)
	if all == nil && limited.Err() != nil {
		all = r
	}
	return all, err
}

// part is a random part of the data, of so many samples, and what to choose on it.
func (s *selection) part(d learn.Approximator, some int) (learn.Data, Job, error) {
	l, _ := d.Size()
	idx := s.draw(l, some, uint64(some))
	job := s.Job
	job.Groups = learn.Pick(s.Groups, idx)
	part, err := d.Sample(idx)
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

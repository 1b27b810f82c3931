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
	finalists, approximate, err := s.finalists(ctx, d, r, float64(l)/float64(samples))
	if err != nil {
		return r, err
	}
	if r.Note != "" {
		s.note = r.Note
		s.Groups = blocks(l, s.Folds*defaults.FoldBlocks)
		s.chosen, r.Groups = s.Groups, s.Groups
	}
	p := &r.Points[r.Best]
	p.Kernels = finalists[0].kernels
	data := learn.Data(d)
	if approximate && s.Metric != "accuracy" && !s.TimeOrdered {
		if data, err = d.Sums(limited, p.Kernels, learn.Folding{Folds: s.Folds, Groups: s.Groups}); err != nil {
			return r, err
		}
	}
	job = s.Job
	job.Norms, job.Taus, job.Repeats, job.Budget = nil, nil, 1, 0
	job.Setting.Kernels, job.Setting.Tau, job.given = p.Kernels, p.Tau, finalists
	all, err := Run(limited, data, job)
	for k := 0; k < mostBeyond && s.Lambdas == nil && all != nil && err == nil; k++ {
		q := &all.Points[all.Best]
		more := beyond(q.Lambda, all.along(q))
		if more == nil {
			break
		}
		job.given = []candidate{q.candidate(q.Kernels, more)}
		next, e := Run(limited, data, job)
		if e != nil || !s.worse(q.Folds, next.Points[next.Best].Folds) {
			break
		}
		all = next
	}
	if all == nil && limited.Err() != nil {
		all = r
	}
	return all, err
}

// finalists are the settings that are compared on all samples, times as many as those of the result: the best of it and,
// where exact kernels are affordable and the best learns weights or L, the best that learns neither.
// What is learned pays on other numbers of samples than those it was chosen on.
func (s *selection) finalists(ctx context.Context, d learn.Approximator, r *Result, times float64) (list []candidate, approximate bool, err error) {
	p := r.Points[r.Best]
	kernels := p.Kernels
	if p.Model != "sum" { // which needs exact kernels
		if kernels, err = d.Affordable(ctx, kernels, s.Folds); err != nil {
			return nil, false, err
		}
		approximate = !dictionary.Exact(kernels)
	}
	list = []candidate{p.candidate(kernels, s.carried(p, times))}
	least := math.Inf(1)
	for _, q := range r.Points {
		if v := s.score(q.Folds); q.Learn == "none" && p.Learn != "none" && q.Tau == p.Tau && v < least && !approximate {
			least = v
			list = append(list[:1], q.candidate(q.Kernels, s.carried(q, times)))
		}
	}
	return list, approximate, nil
}

// carried are the values of λ to try with so many times the samples.
func (s *selection) carried(p Point, times float64) []float64 {
	if s.Lambdas != nil {
		return s.Lambdas
	}
	return Carried(p.Lambda, times)
}

// candidate is the setting of the point on these kernels, with these values of λ.
func (p *Point) candidate(kernels []string, lambdas []float64) candidate {
	return candidate{kernels: kernels, norms: []string{p.Norm}, learn: []string{p.Learn}, model: p.Model, lambdas: lambdas}
}

// along are the values of λ of all points that differ from p in λ alone.
func (r *Result) along(p *Point) (lambdas []float64) {
	for _, q := range r.Points {
		if p.sameBut(&q) {
			lambdas = append(lambdas, q.Lambda)
		}
	}
	return lambdas
}

// mostBeyond is how often values of λ beyond the ends of a path are tried, as long as they are better beyond the noise between folds.
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

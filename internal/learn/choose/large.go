// This file chooses a setting on a part of many samples or targets, and λ on all of them.

package choose

import (
	"cmp"
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

// chooseLarge chooses all but λ on so many random samples and targets, λ on all samples, with
// exact kernels where time and memory allow, and explicit features else, and on all targets which of them
// are learned. The best λ hardly depends on how many targets share r directions: L of trace n gives each direction
// n/r, and the variance of the signal along it grows with n as well. Where the time that
// is limited ends before, or ctx does, what was chosen before is taken.
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
		job.Models = []string{"product"} // a sum takes too long for what it gains
	}
	job.Budget = time.Duration(defaults.PartBudget * float64(s.Budget))
	r, err := Run(ctx, part, job)
	if err != nil {
		return s.ofPart(r, targets, n), err
	}
	best := r.Points[r.Best]
	if best.Kernels, err = d.Affordable(ctx, best.Kernels, s.Folds); err != nil {
		return s.ofPart(r, targets, n), err
	}
	r.Points[r.Best].Kernels = best.Kernels
	if r.Note != "" {
		s.note = r.Note
		s.Groups = blocks(l, s.Folds*defaults.FoldBlocks)
		s.chosen, r.Groups = s.Groups, s.Groups
	}
	job = s.Job
	job.Norms, job.Taus, job.Repeats, job.Budget = nil, nil, 1, 0
	job.Setting.Kernels, job.Setting.Tau = best.Kernels, best.Tau
	approximate := !dictionary.Exact(best.Kernels)
	if samples < l || approximate {
		times := float64(l) / float64(samples)
		job.given = s.finalists(r, func(p Point) []float64 { return Carried(p.Lambda, times) })
		if part, _, err = s.part(d, l, targets); err != nil {
			return s.ofPart(r, targets, n), err
		}
		next, err := s.chooseLambda(limited, part, job)
		if err != nil {
			return s.ofPart(cmp.Or(next, r), targets, n), err
		}
		r = next
	}
	if targets == n {
		return r, nil
	}
	job.given = s.finalists(r, func(p Point) []float64 { return []float64{p.Lambda} })
	data, err := s.inSums(limited, d, &job)
	if err != nil {
		return s.ofPart(r, targets, n), err
	}
	all, err := Run(limited, data, job)
	if all == nil {
		all = s.ofPart(r, targets, n)
	}
	return all, err
}

// ofPart is a result for n targets that so many of them gave: all are predicted by their mean, or none.
func (s *selection) ofPart(r *Result, targets, n int) *Result {
	if r != nil && targets < n {
		lost := len(r.Means) == targets
		if r.Means = nil; lost {
			r.Means = upTo(n)
		}
	}
	return r
}

// inSums is the data with the kernels of the job, where these are explicit features as sums over one pass.
func (s *selection) inSums(ctx context.Context, d learn.Data, job *Job) (learn.Data, error) {
	if dictionary.Exact(job.Setting.Kernels) || s.Metric == "accuracy" || s.TimeOrdered {
		return d, nil
	}
	return d.(learn.Approximator).Sums(ctx, job.Setting.Kernels, learn.Folding{Folds: s.Folds, Groups: s.Groups})
}

// chooseLambda compares what the job gives, and values of λ beyond it as long as they are better.
func (s *selection) chooseLambda(ctx context.Context, d learn.Data, job Job) (*Result, error) {
	data, err := s.inSums(ctx, d, &job)
	if err != nil {
		return nil, err
	}
	all, err := Run(ctx, data, job)
	for k := 0; k < mostBeyond && s.Lambdas == nil && all != nil && err == nil; k++ {
		q := &all.Points[all.Best]
		more := beyond(q.Lambda, all.along(q))
		if more == nil {
			break
		}
		job.given = []candidate{q.candidate(more)}
		next, e := Run(ctx, data, job)
		if e != nil || !s.worse(q.Folds, next.Points[next.Best].Folds) {
			break
		}
		all = next
	}
	return all, err
}

// finalists are the settings that are compared on more samples or targets: the best of the result and,
// where its kernels are exact and it learns weights or L, the best that learns neither.
// What is learned pays on other numbers of samples than those it was chosen on. The values of λ are those that
// the user gave, or that lambdas tells.
func (s *selection) finalists(r *Result, lambdas func(Point) []float64) []candidate {
	with := func(p Point) candidate {
		if s.Lambdas != nil {
			return p.candidate(s.Lambdas)
		}
		return p.candidate(lambdas(p))
	}
	p := r.Points[r.Best]
	list, least := []candidate{with(p)}, math.Inf(1)
	for _, q := range r.Points {
		if v := s.score(q.Folds); q.Learn == "none" && p.Learn != "none" && q.Tau == p.Tau && v < least && dictionary.Exact(p.Kernels) {
			least = v
			list = append(list[:1], with(q))
		}
	}
	return list
}

// candidate is the setting of the point with these values of λ.
func (p *Point) candidate(lambdas []float64) candidate {
	return candidate{kernels: p.Kernels, norms: []string{p.Norm}, learn: []string{p.Learn}, model: p.Model, lambdas: lambdas}
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

// part is a random part of the data, of so many samples and targets, or the data themselves, and what to choose on it.
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
	if rows == nil && columns == nil {
		return d, job, nil
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

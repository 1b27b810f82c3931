// This file ranks settings by their errors on the folds, and gives up those that are clearly worse.

package choose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
)

// summarize makes points of the settings that all of some folds have tried, and chooses.
func (s *selection) summarize(branches []*branch, folds []int) (*Result, error) {
	if folds = s.telling(folds); len(folds) == 0 {
		return nil, fault.Input("cross-validation: no fold hides a target that the others have values of")
	}
	r := &Result{Metric: s.Metric, Folds: len(folds)}
	var errors [][]float64 // of each point, on each fold
	var means [][]int
	least := math.Inf(1)
	for _, b := range branches {
		for i, lambda := range b.lambdas {
			p := Point{Kernels: b.Kernels, Norm: b.Norm, Learn: b.Learn, Model: cmp.Or(b.Model, "product"), Tau: b.Tau, Lambda: lambda}
			for _, f := range folds {
				p.Folds = append(p.Folds, learn.Mean(b.errors[i][f]))
			}
			if slices.ContainsFunc(p.Folds, math.IsNaN) {
				continue
			}
			p.Mean, p.StdErr = meanAndError(p.Folds)
			served, worth := s.served(b.errors[i], folds)
			if v := s.score(served); v < least {
				least, r.Best = v, len(r.Points)
			}
			r.Points, errors, means = append(r.Points, p), append(errors, served), append(means, s.lost(worth))
		}
	}
	if len(r.Points) == 0 {
		return nil, fmt.Errorf("cross-validation: no setting gave finite errors on all folds")
	}
	for _, f := range folds {
		r.Constant = append(r.Constant, learn.Mean(s.constant[f]))
	}
	if s.Kernels == nil {
		r.Best = s.simplest(r.Points, errors, r.Best)
	}
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	r.Means = means[r.Best]
	return r, nil
}

// telling are those of some folds that hide a cell of a target which their training samples have values of.
func (s *selection) telling(folds []int) []int {
	return slices.DeleteFunc(slices.Clone(folds), func(f int) bool { return math.IsNaN(learn.Mean(s.constant[f])) })
}

// served is the metric, on each of some telling folds, of a setting that predicts the targets for which it
// is better than a model without kernels, which predicts the others. It is nil where a fold has
// no errors. worth says which targets the setting predicts: those for which it is better by
// defaults.Hopeless standard errors, or by one where it is better by Hopeless for all together.
func (s *selection) served(each [][]float64, folds []int) (errors []float64, worth []bool) {
	worth, folds = make([]bool, len(s.constant[folds[0]])), s.telling(folds)
	if slices.ContainsFunc(folds, func(f int) bool { return each[f] == nil }) {
		return nil, worth
	}
	enough := defaults.Hopeless
	if s.advantage(folds, func(f int) (a, b float64) { return learn.Mean(each[f]), learn.Mean(s.constant[f]) }) > enough {
		enough = 1
	}
	for k := range worth {
		worth[k] = s.advantage(folds, func(f int) (a, b float64) { return each[f][k], s.constant[f][k] }) > enough
	}
	for _, f := range folds {
		mixed := slices.Clone(s.constant[f])
		for k, e := range each[f] {
			if worth[k] {
				mixed[k] = e
			}
		}
		errors = append(errors, learn.Mean(mixed))
	}
	return errors, worth
}

// advantage is by how many standard errors of the difference the errors a are less than b, where both are known.
// Folds share training samples: with J folds, each of which tests the part p/(1+p) of the
// samples, the variance of the mean is (1/J + p) times that of a difference.
// (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003.)
func (s *selection) advantage(folds []int, errors func(f int) (a, b float64)) float64 {
	var d []float64
	for _, f := range folds {
		a, b := errors(f)
		if v := s.value(b) - s.value(a); !math.IsNaN(v) {
			d = append(d, v)
		}
	}
	switch len(d) {
	case 0:
		return 0
	case 1:
		return math.Inf(int(math.Copysign(1, d[0])))
	}
	mean, sd := stat.MeanStdDev(d, nil)
	if mean == 0 {
		return 0
	}
	return mean / (sd * math.Sqrt(1/float64(len(d))+1/float64(max(s.round()-1, 1))))
}

// lost lists the targets that are not worth learning. Accuracy is of all together.
func (s *selection) lost(worth []bool) (targets []int) {
	_, n := s.data.Size()
	for k := range n {
		if !worth[min(k, len(worth)-1)] {
			targets = append(targets, k)
		}
	}
	return targets
}

// score is what settings are compared by: the mean over the folds of the
// logarithm of the error, or of the error itself where larger is better. A fold
// that is hard for all settings then counts as much as one that is easy. It is
// +Inf when an error is not known.
func (s *selection) score(folds []float64) float64 {
	var sum float64
	for _, e := range folds {
		sum += s.value(e)
	}
	if len(folds) == 0 || math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum / float64(len(folds))
}

// value is what score averages.
func (s *selection) value(e float64) float64 {
	if s.Metric == "accuracy" {
		return -e
	}
	return math.Log(math.Max(e, math.SmallestNonzeroFloat64))
}

// simplest is, of the points that are worse than the best by at most one standard error of the difference, the best of
// those with fixed weights, or else, unless the caller asked which model is better, of those with one L. errors are those
// of each point on each fold.
func (s *selection) simplest(points []Point, errors [][]float64, best int) int {
	rank := func(i int) int {
		switch set := (learn.Setting{Learn: points[i].Learn}); {
		case points[i].Model == "sum" && s.Models == nil:
			return 2
		case set.Learns("eta"):
			return 1
		}
		return 0
	}
	simplest, folds := best, upTo(len(errors[best]))
	for i := range points {
		simpler := cmp.Or(cmp.Compare(rank(i), rank(simplest)), cmp.Compare(s.score(errors[i]), s.score(errors[simplest]))) < 0
		if simpler && s.advantage(folds, func(f int) (a, b float64) { return errors[best][f], errors[i][f] }) <= 1 {
			simplest = i
		}
	}
	return simplest
}

// steadier is the point of largest λ on the branch of the best that is within its standard error.
func (s *selection) steadier(points []Point, best int) int {
	b := points[best]
	at := best
	for i, p := range points {
		if p.sameBut(&b) && p.Lambda > points[at].Lambda && math.Abs(p.Mean-b.Mean) <= b.StdErr {
			at = i
		}
	}
	return at
}

// sameBut reports whether the settings are the same but for λ.
func (p *Point) sameBut(q *Point) bool {
	return slices.Equal(p.Kernels, q.Kernels) && p.Norm == q.Norm && p.Learn == q.Learn && p.Model == q.Model && p.Tau == q.Tau
}

// meanAndError is the mean and its standard error, 0 for a single number. It is computed of numbers
// up to 1, whose squares do not overflow.
func meanAndError(v []float64) (mean, se float64) {
	if len(v) == 1 {
		return v[0], 0
	}
	_, e := math.Frexp(floats.Norm(v, math.Inf(1)))
	small := make([]float64, len(v))
	for i, x := range v {
		small[i] = math.Ldexp(x, -e)
	}
	mean, sd := stat.MeanStdDev(small, nil)
	return math.Ldexp(mean, e), math.Ldexp(stat.StdErr(sd, float64(len(v))), e)
}

// soFar summarizes the folds that are complete, or where none is and nothing was compared
// before, those that have errors; nil where no setting has been tried on all of them.
func (s *selection) soFar(branches []*branch, complete []bool) *Result {
	known := func(f int) bool {
		return slices.ContainsFunc(branches, func(b *branch) bool {
			return slices.ContainsFunc(b.errors, func(e [][]float64) bool { return e[f] != nil })
		})
	}
	var folds, begun []int
	for f, done := range complete {
		if done {
			folds = append(folds, f)
		}
		if known(f) {
			begun = append(begun, f)
		}
	}
	if folds == nil && s.last == nil {
		folds = begun
	}
	if folds == nil {
		return nil
	}
	r, err := s.summarize(branches, folds)
	if err != nil {
		return nil
	}
	return r
}

// narrow drops the branches, and values of λ, that the first folds show to be worse.
func (s *selection) narrow(branches []*branch, folds int) {
	first := upTo(folds)
	at := make([]int, len(branches)) // of the best λ of each branch
	errors := make([][]float64, len(branches))
	best := -1
	for k, b := range branches {
		at[k], b.score = -1, math.Inf(1)
		for i := range b.lambdas {
			e, _ := s.served(b.errors[i], first)
			if v := s.score(e); v < b.score {
				at[k], b.score, errors[k] = i, v, e
			}
		}
		if at[k] >= 0 && (best < 0 || b.score < branches[best].score) {
			best = k
		}
	}
	if best < 0 {
		return
	}
	for k, b := range branches {
		lost := at[k] < 0 || s.worse(errors[k], errors[best])
		for i := range b.dropped {
			b.dropped[i] = b.dropped[i] || lost || i < at[k]-defaults.Beside || i > at[k]+defaults.Beside
		}
	}
}

// worse reports whether the errors a exceed b by more than the noise between folds.
func (s *selection) worse(a, b []float64) bool {
	d := make([]float64, len(a))
	for f := range d {
		d[f] = s.value(a[f]) - s.value(b[f])
	}
	mean, se := meanAndError(d)
	return mean > defaults.Slack && mean > defaults.Hopeless*se
}

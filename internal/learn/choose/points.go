// Scores of arms on the folds, tests of differences, and the last rule.

package choose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/fault"
)

// summarize makes points of the settings that all of some folds have tried, finds the best λ of each arm, and chooses.
func (s *race) summarize(folds []int) (*Result, error) {
	if folds = s.informative(folds); len(folds) == 0 {
		return nil, fault.Input("cross-validation: no fold hides a target that the others have values of")
	}
	r := &Result{Metric: s.Metric, Folds: len(folds), samples: s.size}
	for _, f := range folds {
		r.Constant += learn.Mean(s.constant[f]) / float64(len(folds))
	}
	for _, a := range s.arms {
		a.at, a.score, a.folds = -1, math.Inf(1), nil
		for i, lambda := range a.lambdas {
			p := a.point(lambda)
			for _, f := range folds {
				p.Folds = append(p.Folds, learn.Mean(a.errors[i][f]))
			}
			if slices.ContainsFunc(p.Folds, math.IsNaN) {
				continue
			}
			p.arm, p.at = a, i
			p.Mean, p.StdErr = meanAndError(p.Folds)
			p.mixed, p.means = s.withMeans(a.errors[i], folds)
			if v := s.score(p.mixed); v < a.score {
				a.at, a.score, a.folds = i, v, p.mixed
			}
			r.Points = append(r.Points, p)
		}
	}
	if len(r.Points) == 0 {
		return nil, fmt.Errorf("cross-validation: no setting gave finite errors on all folds")
	}
	r.Best = s.least(r.Points)
	if s.Kernels == nil {
		r.Best = s.simplest(r.Points, r.Best)
	}
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	r.Means = r.Chosen().means
	return r, nil
}

// order compares points by their scores, and by those of the errors themselves where the mean predicts all targets of
// both.
func (s *race) order(p, q *Point) int {
	return cmp.Or(cmp.Compare(s.score(p.mixed), s.score(q.mixed)), cmp.Compare(s.score(p.Folds), s.score(q.Folds)))
}

// least is the point of the best score.
func (s *race) least(points []Point) (best int) {
	for i := range points {
		if s.order(&points[i], &points[best]) < 0 {
			best = i
		}
	}
	return best
}

// informative are those of some folds that hide a cell of a target which their training samples have values of.
func (s *race) informative(folds []int) []int {
	return slices.DeleteFunc(slices.Clone(folds), func(f int) bool { return math.IsNaN(learn.Mean(s.constant[f])) })
}

// withMeans is the metric, on each of some informative folds, of a setting that predicts the targets for which it
// is better than the mean of the training targets, which predicts the others. It lists these others. A setting predicts
// the targets for which it is better by doubt standard errors, or by closeCall of them where the mean over all targets
// is better by doubt. Folds that hide cells have few of each target: it predicts all targets where that mean is.
func (s *race) withMeans(each [][]float64, folds []int) (errors []float64, means []int) {
	better := func(of func(errors []float64) float64, standardErrors float64) bool {
		var a, b []float64
		for _, f := range folds {
			a, b = append(a, of(s.constant[f])), append(b, of(each[f]))
		}
		return s.worse(a, b, standardErrors)
	}
	enough, together := doubt, better(learn.Mean, doubt)
	if together {
		enough = closeCall
	}
	predicted := make([]bool, len(s.constant[folds[0]]))
	for k := range predicted {
		predicted[k] = s.fills() && together || better(func(errors []float64) float64 { return errors[k] }, enough)
	}
	for _, f := range folds {
		mixed := slices.Clone(s.constant[f])
		for k, e := range each[f] {
			if predicted[k] {
				mixed[k] = e
			}
		}
		errors = append(errors, learn.Mean(mixed))
	}
	_, n := s.data.Size()
	for k := range n {
		if !predicted[min(k, len(predicted)-1)] { // the accuracy is of all targets together
			means = append(means, k)
		}
	}
	return errors, means
}

// worse reports whether the errors a of folds exceed b by more than so many standard errors of the difference, where
// both are known; of one fold there is no standard error.
// Folds share training samples: with J folds, each of which tests the part p/(1+p) of the
// samples, the variance of the mean is (1/J + p) times that of a difference.
// (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003.)
func (s *race) worse(a, b []float64, standardErrors float64) bool {
	var d []float64
	for f := range a {
		if v := s.value(a[f]) - s.value(b[f]); !math.IsNaN(v) {
			d = append(d, v)
		}
	}
	switch len(d) {
	case 0:
		return false
	case 1:
		return d[0] > 0
	}
	mean, sd := stat.MeanStdDev(d, nil)
	return mean > standardErrors*sd*math.Sqrt(1/float64(len(d))+1/float64(max(s.folds/max(s.Repeats, 1)-1, 1)))
}

// score is what settings are compared by: the mean over the folds of the
// logarithm of the error, or of the error itself where larger is better. A fold
// that is hard for all settings then counts as much as one that is easy. It is
// +Inf when an error is not known.
func (s *race) score(folds []float64) float64 {
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
func (s *race) value(e float64) float64 {
	if s.Metric == "accuracy" {
		return -e
	}
	return math.Log(math.Max(e, math.SmallestNonzeroFloat64))
}

// simplest is the last rule: of the points that are worse than the best by at most one standard error of the
// difference, the best of those with fixed weights.
func (s *race) simplest(points []Point, best int) int {
	if !points[best].Learn.Weights() {
		return best
	}
	fixed := s.fixed(points, func(p *Point) bool { return !s.worse(p.mixed, points[best].mixed, closeCall) })
	if fixed < 0 {
		return best
	}
	return fixed
}

// fixed is the best of some points with fixed weights; -1 for none.
func (s *race) fixed(points []Point, some func(*Point) bool) int {
	best := -1
	for i := range points {
		p := &points[i]
		if !p.Learn.Weights() && (best < 0 || s.order(p, &points[best]) < 0) && some(p) {
			best = i
		}
	}
	return best
}

// steadier is the point of largest λ on the path of the best that is within its standard error.
func (s *race) steadier(points []Point, best int) int {
	b := points[best]
	at := best
	for i, p := range points {
		if p.arm == b.arm && p.Lambda > points[at].Lambda && math.Abs(p.Mean-b.Mean) <= b.StdErr {
			at = i
		}
	}
	return at
}

// sameBut reports whether the settings are the same but for λ.
func (p *Point) sameBut(q *Point) bool {
	return slices.Equal(p.Kernels, q.Kernels) && p.Norm == q.Norm && p.Learn == q.Learn && p.Model == q.Model &&
		p.Tau == q.Tau && p.OutputKernel == q.OutputKernel
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

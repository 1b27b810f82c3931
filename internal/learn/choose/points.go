package choose

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/internal/learn/defaults"
)

// summarize makes points of the settings that all of some folds have tried, and chooses.
func (s *selection) summarize(branches []*branch, folds []int) (*Result, error) {
	r := &Result{Metric: s.Metric, Folds: len(folds)}
	for _, b := range branches {
		for i, lambda := range b.lambdas {
			p := Point{Kernels: b.Kernels, Norm: b.Norm, Learn: b.Learn, Tau: b.Tau, Lambda: lambda}
			for _, f := range folds {
				p.Folds = append(p.Folds, b.errors[i][f])
			}
			if slices.ContainsFunc(p.Folds, math.IsNaN) {
				continue
			}
			p.Mean, p.StdErr = meanAndError(p.Folds)
			r.Points = append(r.Points, p)
		}
	}
	if len(r.Points) == 0 {
		return nil, fmt.Errorf("cross-validation: no setting gave finite errors on all folds")
	}
	for i, p := range r.Points {
		if s.score(p.Folds) < s.score(r.Points[r.Best].Folds) {
			r.Best = i
		}
	}
	if s.OneSE {
		r.Best = s.steadier(r.Points, r.Best)
	}
	return r, nil
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
	if math.IsNaN(sum) {
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

// steadier is the point of largest λ on the branch of the best that is within its standard error.
func (s *selection) steadier(points []Point, best int) int {
	b := points[best]
	at := best
	for i, p := range points {
		same := slices.Equal(p.Kernels, b.Kernels) && p.Norm == b.Norm && p.Learn == b.Learn && p.Tau == b.Tau
		if same && p.Lambda > points[at].Lambda && math.Abs(p.Mean-b.Mean) <= b.StdErr {
			at = i
		}
	}
	return at
}

// meanAndError is the mean and its standard error, 0 for a single number.
func meanAndError(v []float64) (mean, se float64) {
	if len(v) == 1 {
		return v[0], 0
	}
	mean, sd := stat.MeanStdDev(v, nil)
	return mean, stat.StdErr(sd, float64(len(v)))
}

// soFar summarizes the folds that are complete, or where none is, those that have
// errors; nil where no setting has been tried on all of them.
func (s *selection) soFar(branches []*branch, complete []bool) *Result {
	known := func(f int) bool {
		return slices.ContainsFunc(branches, func(b *branch) bool {
			return slices.ContainsFunc(b.errors, func(e []float64) bool { return !math.IsNaN(e[f]) })
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
	if folds == nil {
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
	at := make([]int, len(branches)) // of the best λ of each branch
	best := -1
	score := func(k, i int) float64 { return s.score(branches[k].errors[i][:folds]) }
	for k, b := range branches {
		at[k] = -1
		for i := range b.lambdas {
			if v := score(k, i); !math.IsInf(v, 1) && (at[k] < 0 || v < score(k, at[k])) {
				at[k] = i
			}
		}
		if at[k] >= 0 && (best < 0 || score(k, at[k]) < score(best, at[best])) {
			best = k
		}
	}
	if best < 0 {
		return
	}
	for k, b := range branches {
		lost := at[k] < 0 || s.worse(b.errors[at[k]][:folds], branches[best].errors[at[best]][:folds])
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

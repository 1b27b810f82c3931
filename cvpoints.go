package iokl

import (
	"fmt"
	"math"
	"slices"
)

// summarize makes points of the settings that all folds have tried, and chooses.
func (g *grid) summarize(branches []*branch) (*CVResult, error) {
	r := &CVResult{Metric: g.Metric, Folds: len(g.splits)}
	for _, b := range branches {
		for i, lambda := range b.lambdas {
			if slices.ContainsFunc(b.errors[i], math.IsNaN) {
				continue
			}
			p := CVPoint{Kernels: b.kernels, Norm: b.norm, Learn: b.learn, Tau: b.tau, Lambda: lambda, Folds: b.errors[i]}
			p.Mean, p.StdErr = meanAndError(p.Folds)
			r.Points = append(r.Points, p)
		}
	}
	if len(r.Points) == 0 {
		return nil, fmt.Errorf("cross-validation: no setting gave finite errors on all folds")
	}
	for i, p := range r.Points {
		if g.score(p.Folds) < g.score(r.Points[r.Best].Folds) {
			r.Best = i
		}
	}
	if g.OneSE {
		r.Best = g.steadier(r.Points, r.Best)
	}
	return r, nil
}

// score is what settings are compared by: the mean over the folds of the
// logarithm of the error, or of the error itself where larger is better. A fold
// that is hard for all settings then counts as much as one that is easy. It is
// +Inf when an error is not known.
func (g *grid) score(folds []float64) float64 {
	var sum float64
	for _, e := range folds {
		sum += g.value(e)
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum / float64(len(folds))
}

// value is what score averages.
func (g *grid) value(e float64) float64 {
	if g.Metric == "accuracy" {
		return -e
	}
	return math.Log(math.Max(e, math.SmallestNonzeroFloat64))
}

// steadier is the point of largest λ on the branch of the best that is within its standard error.
func (g *grid) steadier(points []CVPoint, best int) int {
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

func meanAndError(v []float64) (mean, se float64) {
	k := float64(len(v))
	for _, x := range v {
		mean += x / k
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / k / max(k-1, 1))
}

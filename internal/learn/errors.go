// Errors of predictions.

package learn

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/model"
)

// Errors are those of predictions on samples that were left out, or on cells of their
// targets. Missing targets do not count; a target of which none is observed is left out of averages.
type Errors struct {
	// NMSE is the mean over the learned targets of the squared error divided by the
	// variance of the training targets, or of another loss divided by that of the best constant: 1 for a constant
	// guess.
	NMSE     float64
	Relative []float64 // what NMSE is the mean of, for each target; NaN for those that are not learned or observed
	MSE      []float64 // mean squared error of each target, NaN where none is observed
	// of each row of the fold, its part of the sum of which NMSE is the mean; NaN where targets are missing
	Rows []float64
	// Held is the predictions that the errors are of, beside the targets, of samples in memory; else nil.
	Held     *model.Fold
	Accuracy float64 // share of fully observed rows whose largest predicted output is the largest target
}

// Average is the first of some errors with the mean of the relative errors of all.
func Average(all []Errors) Errors {
	e := all[0]
	if len(all) > 1 {
		e.Held = nil // of one of the losses
	}
	e.Relative = make([]float64, len(e.Relative))
	for _, one := range all {
		blas.Axpy(1/float64(len(all)), one.Relative, e.Relative)
	}
	e.NMSE = Mean(e.Relative)
	return e
}

// Metrics are what settings can be compared by, averages over the targets; SumMetrics
// are those that sums over a stream tell.
var (
	Metrics    = []string{"nmse", "mse", "rmse", "accuracy", LossMetric}
	SumMetrics = Metrics[:3]
)

// LossMetric is the loss that was asked for, relative to that of the best constant: for the squared loss nmse.
const LossMetric = "loss"

// Each is what a metric of Metrics averages: an error for each target, NaN where that
// target does not count, or the accuracy alone.
func (e *Errors) Each(metric string) []float64 {
	switch metric {
	case "nmse", LossMetric:
		return e.Relative
	case "accuracy":
		return []float64{e.Accuracy}
	case "mse":
		return e.MSE
	}
	root := make([]float64, len(e.MSE))
	for j, v := range e.MSE {
		root[j] = math.Sqrt(v)
	}
	return root
}

// Mean is the mean of the values that are not NaN, NaN where all are.
func Mean(values []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	var sum float64
	for _, v := range known {
		sum += v / float64(len(known))
	}
	if len(known) == 0 {
		return math.NaN()
	}
	return sum
}

// Compare is the mean squared error of each column of F against the observed cells of Y with the weights W,
// NaN where there are none, and the accuracy on rows without a missing one, by their weights.
func Compare(F, Y, W blas.General) (mse []float64, accuracy float64) {
	mse = make([]float64, Y.Cols)
	count := make([]float64, Y.Cols)
	var right, rows float64
	for i := range Y.Rows {
		f, y := blas.Row(F, i), blas.Row(Y, i)
		whole, weight := true, 0.0
		for j, v := range y {
			w := columns.WeightAt(W, i, j)
			if math.IsNaN(v) || w == 0 {
				whole = false
				continue
			}
			mse[j] += w * ((f[j] - v) * (f[j] - v))
			count[j] += w
			weight += w / float64(len(y))
		}
		if !whole {
			continue
		}
		if rows += weight; floats.MaxIdx(f) == floats.MaxIdx(y) {
			right += weight
		}
	}
	for j := range mse {
		mse[j] /= count[j]
	}
	return mse, right / max(rows, math.SmallestNonzeroFloat64)
}

// Judge compares predictions F of a model that learned the targets of out with what was
// observed, at the weights W.
func Judge(F, Y, W blas.General, out *columns.Outputs) Errors {
	var e Errors
	e.MSE, e.Accuracy = Compare(F, Y, W)
	e.Rows = make([]float64, Y.Rows)
	e.Relative = slices.Repeat([]float64{math.NaN()}, Y.Cols)
	sum, count := make([]float64, Y.Cols), make([]float64, Y.Cols)
	for i := range Y.Rows {
		f, y := blas.Row(F, i), blas.Row(Y, i)
		for _, j := range out.Live {
			w := columns.WeightAt(W, i, j)
			if math.IsNaN(y[j]) || w == 0 {
				e.Rows[i] = math.NaN()
				continue
			}
			v := w * out.Relative(j, y[j], f[j])
			sum[j] += v
			count[j] += w
			e.Rows[i] += v / float64(len(out.Live))
		}
	}
	for _, j := range out.Live {
		e.Relative[j] = sum[j] / count[j]
	}
	e.NMSE = Mean(e.Relative)
	return e
}

package learn

import (
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
)

// Errors are those of predictions on samples that were left out.
type Errors struct {
	// NMSE is the mean over the learned targets of the squared error divided by the
	// variance of the training targets: 1 for a constant guess.
	NMSE     float64
	Relative []float64 // what NMSE is the mean of, for each target; NaN for those that are not learned
	MSE      []float64 // mean squared error of each target
	Accuracy float64   // share of rows whose largest predicted output is the largest target
}

// Unknown are the errors of what could not be solved.
func Unknown() Errors {
	return Errors{NMSE: math.NaN(), Accuracy: math.NaN()}
}

// Metrics are what settings can be compared by, averages over the targets; SumMetrics
// are those that sums over a stream tell.
var (
	Metrics    = []string{"nmse", "mse", "rmse", "accuracy"}
	SumMetrics = Metrics[:3]
)

// Each is what a metric of Metrics averages: an error for each target, NaN where that
// target does not count, or the accuracy alone.
func (e *Errors) Each(metric string) []float64 {
	switch metric {
	case "nmse":
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

// Compare is the mean squared error of each column of F against Y, and the accuracy.
func Compare(F, Y blas.General) (mse []float64, accuracy float64) {
	mse = make([]float64, Y.Cols)
	right := 0
	for i := range Y.Rows {
		f, y := blas.Row(F, i), blas.Row(Y, i)
		for j, v := range y {
			mse[j] += (f[j] - v) * (f[j] - v)
		}
		if Largest(f) == Largest(y) {
			right++
		}
	}
	for j := range mse {
		mse[j] /= float64(Y.Rows)
	}
	return mse, float64(right) / float64(max(Y.Rows, 1))
}

// Largest is the index of the first largest element.
func Largest(row []float64) int {
	best := 0
	for j, v := range row {
		if v > row[best] {
			best = j
		}
	}
	return best
}

// Judge compares predictions F of a model that learned the scaled targets train with
// what was observed.
func Judge(F, Y, train blas.General, out *columns.Outputs) Errors {
	var e Errors
	e.MSE, e.Accuracy = Compare(F, Y)
	e.Relative = slices.Repeat([]float64{math.NaN()}, Y.Cols)
	deviation := columns.Measure(train).Scale
	for k, j := range out.Live {
		unit := deviation[k]
		if out.Scaler != nil {
			unit *= out.Scaler.Scale[j]
		}
		var se float64
		for i := range Y.Rows {
			d := (F.Data[i*F.Stride+j] - Y.Data[i*Y.Stride+j]) / unit
			se += d * d
		}
		e.Relative[j] = se / float64(Y.Rows)
		e.NMSE += e.Relative[j] / float64(len(out.Live))
	}
	return e
}

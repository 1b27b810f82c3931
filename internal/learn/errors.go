package learn

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
)

// Errors are those of predictions on samples that were left out.
type Errors struct {
	// NMSE is the mean over the learned targets of the squared error divided by the
	// variance of the training targets: 1 for a constant guess.
	NMSE     float64
	MSE      []float64 // mean squared error of each target
	Accuracy float64   // share of rows whose largest predicted output is the largest target
}

// Unknown are the errors of what could not be solved.
func Unknown() Errors {
	return Errors{NMSE: math.NaN(), MSE: []float64{math.NaN()}, Accuracy: math.NaN()}
}

// Metrics are what settings can be compared by, averages over the targets; SumMetrics
// are those that sums over a stream tell.
var (
	Metrics    = []string{"nmse", "mse", "rmse", "accuracy"}
	SumMetrics = Metrics[:3]
)

// Metric is one of Metrics.
func (e *Errors) Metric(name string) float64 {
	switch name {
	case "nmse":
		return e.NMSE
	case "accuracy":
		return e.Accuracy
	}
	var sum float64
	for _, v := range e.MSE {
		if name == "rmse" {
			v = math.Sqrt(v)
		}
		sum += v / float64(len(e.MSE))
	}
	return sum
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
		e.NMSE += se / float64(Y.Rows) / float64(len(out.Live))
	}
	return e
}

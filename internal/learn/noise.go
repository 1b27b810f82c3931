package learn

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/model"
)

// LogSquares are the logarithms of the squared errors of held-out rows on the targets Y (l×n) with the weights W, NaN
// for cells missing or of weight 0. An error below 1/l of the root mean square of its target counts as that: about
// the smallest of l normal errors, where zeros come from rounded targets.
func LogSquares(h *model.HeldOut, Y, W blas.General) blas.General {
	l, n := Y.Rows, Y.Cols
	E := blas.NewGeneral(l, n)
	sum, count := make([]float64, n), make([]float64, n)
	for k, i := range h.Rows {
		for j, y := range blas.Row(h.Y, k) {
			e := y - h.F.Data[k*h.F.Stride+j]
			if columns.WeightAt(W, i, j) == 0 {
				e = math.NaN()
			}
			if E.Data[i*n+j] = e * e; !math.IsNaN(e) {
				sum[j], count[j] = sum[j]+e*e, count[j]+1
			}
		}
	}
	for i, e := range E.Data {
		if least := sum[i%n] / count[i%n] / float64(l*l); least > 0 && !math.IsNaN(e) {
			E.Data[i] = math.Log(max(e, least))
		}
	}
	return E
}

// CalibrateNoise adds a constant to the logarithms of each variance, which makes the mean of the squared errors over
// their variance 1 where both are held out.
func CalibrateNoise(m *model.Model) {
	n := len(m.Out.Names)
	sum, count := make([]float64, n), make([]float64, n)
	for i := range m.Held.Y.Rows {
		for j, y := range blas.Row(m.Held.Y, i) {
			if !math.IsNaN(y) {
				sum[j], count[j] = sum[j]+math.Exp(y-m.Held.F.Data[i*m.Held.F.Stride+j]), count[j]+1
			}
		}
	}
	shift := make([]float64, n)
	for j := range shift {
		if count[j] > 0 {
			shift[j] = math.Log(sum[j] / count[j])
		}
	}
	m.Out.Shift(shift)
	for i := range m.Held.F.Data {
		m.Held.F.Data[i] += shift[i%n]
	}
	for _, f := range m.Folds {
		f.Out.Shift(shift)
		for i := range f.F.Data {
			f.F.Data[i] += shift[i%n]
		}
	}
}

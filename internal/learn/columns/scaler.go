package columns

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// Scaler is the affine map z = (x − Mean)/Scale of each column, with its exact inverse.
type Scaler struct {
	Mean  []float64 `json:"mean"`
	Scale []float64 `json:"scale"` // > 0
	// Constant marks columns in which all present values are equal. They carry no
	// information: inputs of this kind become 0, outputs are predicted as Mean.
	Constant []bool `json:"constant"`

	low, high []float64 // least and largest values; nil where they were not measured
}

// Measure measures the columns of a, ignoring NaN; the scale is the standard
// deviation (divisor l).
func Measure(a blas.General) *Scaler {
	s := &Scaler{Mean: make([]float64, a.Cols), Scale: make([]float64, a.Cols), Constant: make([]bool, a.Cols)}
	s.low, s.high = slices.Repeat([]float64{math.Inf(1)}, a.Cols), slices.Repeat([]float64{math.Inf(-1)}, a.Cols)
	for j := range a.Cols {
		s.Mean[j], s.Scale[j], s.Constant[j] = moments(a, j)
	}
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			if !math.IsNaN(v) {
				s.low[j], s.high[j] = math.Min(s.low[j], v), math.Max(s.high[j], v)
			}
		}
	}
	return s
}

// moments are the mean, the standard deviation and whether column j is constant.
// The values are taken relative to the first, so that a large offset costs no digits.
func moments(a blas.General, j int) (mean, sd float64, constant bool) {
	first, sum, count := math.NaN(), 0.0, 0
	lo, hi := math.Inf(1), math.Inf(-1)
	each := func(f func(v float64)) {
		for i := range a.Rows {
			if v := a.Data[i*a.Stride+j]; !math.IsNaN(v) {
				f(v)
			}
		}
	}
	each(func(v float64) {
		if count == 0 {
			first = v
		}
		lo, hi = math.Min(lo, v), math.Max(hi, v)
		sum += v - first
		count++
	})
	if count == 0 {
		return 0, 1, true
	}
	if lo == hi {
		return first, 1, true
	}
	shift := sum / float64(count)
	_, exponent := math.Frexp(max(hi-lo, 0x1p-1000))
	unit := math.Ldexp(1, -exponent) // a power of two, exact: squares neither overflow nor vanish
	var ss float64
	each(func(v float64) { d := (v - first - shift) * unit; ss += d * d })
	sd = math.Sqrt(ss/float64(count)) / unit
	if !(sd > 0) || math.IsInf(sd, 0) {
		return first + shift, 1, !(sd > 0)
	}
	return first + shift, sd, false
}

// Apply overwrites each row of a by its scaled values.
func (s *Scaler) Apply(a blas.General) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j, v := range row {
			if s.Constant[j] {
				row[j] = 0
			} else {
				row[j] = (v - s.Mean[j]) / s.Scale[j]
			}
		}
	}
}

// Invert undoes Apply.
func (s *Scaler) Invert(a blas.General) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j, v := range row {
			if s.Constant[j] {
				row[j] = s.Mean[j]
			} else {
				row[j] = v*s.Scale[j] + s.Mean[j]
			}
		}
	}
}

// Check validates a scaler read from a file.
func (s *Scaler) Check(cols int) error {
	if len(s.Mean) != cols || len(s.Scale) != cols || len(s.Constant) != cols {
		return fmt.Errorf("the scaler is for %d columns, not %d", len(s.Mean), cols)
	}
	for j, v := range s.Scale {
		if !(v > 0) || math.IsInf(v, 0) || math.IsNaN(s.Mean[j]) || math.IsInf(s.Mean[j], 0) {
			return fmt.Errorf("column %d has mean %g and scale %g", j, s.Mean[j], v)
		}
	}
	return nil
}

// limits are the ends of the range of every column, moved out by its width; nil where the range was not
// measured. Constant columns and ranges beyond float64 have none.
func (s *Scaler) limits() (low, high []float64) {
	for j, lo := range s.low {
		hi := s.high[j]
		width := hi - lo
		if !(width > 0) || math.IsInf(hi+width, 0) || math.IsInf(lo-width, 0) {
			width = math.MaxFloat64
			lo, hi = 0, 0
		}
		low, high = append(low, lo-width), append(high, hi+width)
	}
	return low, high
}

// clamp moves values into the limits.
func clamp(a blas.General, low, high []float64) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j := range low {
			row[j] = max(low[j], min(row[j], high[j]))
		}
	}
}

// fill replaces missing cells (NaN) by the column's mean and returns how many there were in each column.
func fill(a blas.General, mean []float64) []int {
	count := make([]int, a.Cols)
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j, v := range row {
			if math.IsNaN(v) {
				row[j] = mean[j]
				count[j]++
			}
		}
	}
	return count
}

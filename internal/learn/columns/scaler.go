// Moments, scales and limits of the columns of a table.

package columns

import (
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
)

// Scaler is the affine map z = (x − Mean)/Scale of each column, with its exact inverse.
type Scaler struct {
	Mean  []float64 `json:"mean"`
	Scale []float64 `json:"scale"` // > 0
	// Constant marks columns in which all present values are equal. They carry no
	// information: inputs of this kind become 0, outputs are predicted as Mean.
	Constant []bool `json:"constant"`
	Missing  []int  `json:"-"` // numbers of NaN; nil where they were not counted

	low, high []float64 // least and largest values; nil where they were not measured
}

// Measure is MeasureWeighted at weights 1.
func Measure(a blas.General) *Scaler { return MeasureWeighted(a, blas.General{}) }

// MeasureWeighted measures the columns of a, ignoring NaN and cells of weight 0; the scale is the standard
// deviation (divisor the sum of the weights). Values are taken relative to the first of their column, so that a
// large offset costs no digits. W has weights of the cells of a or, with one column, of its rows; without Data
// they are 1.
func MeasureWeighted(a, W blas.General) *Scaler {
	s := &Scaler{Mean: make([]float64, a.Cols), Scale: make([]float64, a.Cols), Constant: make([]bool, a.Cols)}
	s.Missing = make([]int, a.Cols)
	s.low, s.high = slices.Repeat([]float64{math.Inf(1)}, a.Cols), slices.Repeat([]float64{math.Inf(-1)}, a.Cols)
	first, sum, count := make([]float64, a.Cols), make([]float64, a.Cols), make([]float64, a.Cols)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			if math.IsNaN(v) {
				s.Missing[j]++
				continue
			}
			w := WeightAt(W, i, j)
			if w == 0 {
				continue
			}
			if count[j] == 0 {
				first[j] = v
			}
			s.low[j], s.high[j] = min(s.low[j], v), max(s.high[j], v)
			sum[j] += w * (v - first[j])
			count[j] += w
		}
	}
	unit, squares := make([]float64, a.Cols), make([]float64, a.Cols)
	for j := range unit {
		_, exponent := math.Frexp(max(s.high[j]-s.low[j], 0x1p-1000))
		unit[j] = math.Ldexp(1, -exponent) // a power of two, exact: squares neither overflow nor vanish
		if count[j] > 0 {
			sum[j] /= count[j]
		}
	}
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			if w := WeightAt(W, i, j); w > 0 && !math.IsNaN(v) {
				d := (v - first[j] - sum[j]) * unit[j]
				squares[j] += w * (d * d)
			}
		}
	}
	for j := range unit {
		s.Mean[j], s.Scale[j] = first[j]+sum[j], math.Sqrt(squares[j]/count[j])/unit[j]
		if !(s.low[j] < s.high[j]) {
			s.Mean[j], s.Scale[j] = first[j], 0
		}
		s.Constant[j] = !(s.Scale[j] > 0)
		if s.Constant[j] || math.IsInf(s.Scale[j], 0) {
			s.Scale[j] = 1
		}
	}
	return s
}

// Varying lists the columns that are not constant.
func (s *Scaler) Varying() (vary []int) {
	for j, constant := range s.Constant {
		if !constant {
			vary = append(vary, j)
		}
	}
	return vary
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

// checkRange refuses columns whose range is beyond float64.
func (s *Scaler) checkRange(what string, names []string) error {
	for j, lo := range s.low {
		if hi := s.high[j]; math.IsInf(hi-lo, 1) && !math.IsInf(hi, 0) && !math.IsInf(lo, 0) {
			return fault.Input("%s column %s runs from %.3g to %.3g, a width beyond double precision: rescale it", what,
				names[j], lo, s.high[j])
		}
	}
	return nil
}

// empty reports whether no column has a value.
func (s *Scaler) empty() bool {
	return len(s.low) > 0 && !slices.ContainsFunc(s.low, func(lo float64) bool { return !math.IsInf(lo, 1) })
}

// PullIn moves isolated values, such as failed readings, towards the others: a model that interpolates the samples
// would predict the neighbours of such a sample by it. A column has isolated values where at most one in
// defaults.SomeSamples lies beyond a gap of defaults.IsolatedRanges times the range of all others. They become the end
// of that range. NaN stays. The result is a itself where there are none; notes name their columns, by the letter where
// there are no names, and ask whether a value beyond such a gap that many samples have stands for a missing one.
func PullIn(a blas.General, names []string, letter, what string) (b blas.General, notes []string) {
	low, high := make([]float64, a.Cols), make([]float64, a.Cols)
	moved, total, column := make([]bool, a.Cols), 0, make([]float64, 0, a.Rows)
	names, err := named(names, a.Cols, letter, what)
	if err != nil {
		return a, nil
	}
	for j := range a.Cols {
		column = column[:0]
		for i := range a.Rows {
			if v := a.Data[i*a.Stride+j]; !math.IsNaN(v) {
				column = append(column, v)
			}
		}
		slices.Sort(column)
		from, to := bulk(column)
		low[j], high[j] = math.Inf(-1), math.Inf(1)
		count := from + len(column) - 1 - to
		if v, n := repeated(column[from : to+1]); n > 0 {
			notes = append(notes, fmt.Sprintf("%s column %s holds %v %d times, far from all other values: are these "+
				"missing values (--na)?", what, names[j], v, n))
		}
		if count == 0 {
			continue
		}
		low[j], high[j], moved[j] = column[from], column[to], true
		total += count
	}
	if total == 0 {
		return a, notes
	}
	b = blas.Like(a)
	for i := range a.Rows {
		for j := range a.Cols {
			b.Data[i*b.Stride+j] = max(low[j], min(a.Data[i*a.Stride+j], high[j]))
		}
	}
	values := "values"
	if total == 1 {
		values = "value"
	}
	return b, append(notes, fmt.Sprintf("moved %d isolated %s towards the others, in %s", total, values,
		list(what+" column", chosen(names, moved))))
}

// repeated is the least or the greatest of ascending values, and how often it is there, where that is more than once
// and it lies beyond a gap of defaults.IsolatedRanges times the range of all others.
func repeated(v []float64) (value float64, count int) {
	if len(v) == 0 {
		return 0, 0
	}
	for _, value := range []float64{v[0], v[len(v)-1]} {
		others := slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return x == value })
		count := len(v) - len(others)
		if count < 2 || len(others) == 0 {
			continue
		}
		low, high := others[0], others[len(others)-1]
		if high > low && max(low-value, value-high) > defaults.IsolatedRanges*(high-low) {
			return value, count
		}
	}
	return 0, 0
}

// bulk is the places of the first and the last of the ascending values that are not isolated.
func bulk(v []float64) (from, to int) {
	most := len(v) / defaults.SomeSamples
	if most == 0 || math.IsInf(v[0], 0) || math.IsInf(v[len(v)-1], 0) {
		return 0, len(v) - 1
	}
	from, to = most, len(v)-1-most
	apart := func(gap float64) bool {
		width := v[to] - v[from]
		return width > 0 && gap > defaults.IsolatedRanges*width
	}
	for from > 0 && !apart(v[from]-v[from-1]) {
		from--
	}
	for to < len(v)-1 && !apart(v[to+1]-v[to]) {
		to++
	}
	return from, to
}

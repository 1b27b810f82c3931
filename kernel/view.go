// Selection, scaling and linear combination of the columns that a kernel is a function of.

package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/formula"
)

// view is what a kernel sees of the inputs: some of the columns or their ranks, scaled, or
// linear combinations of them.
type view struct {
	columns    []int       // nil means all
	knots      [][]float64 // that each of them is ranked among; nil, of one or all: their values
	scale      []float64   // of each of them; nil means 1
	directions [][]float64 // coefficients of each combination; nil: the columns themselves
}

func (k *Kernel) view() view {
	g := k.group()
	return g.view()
}

// group is the columns of the kernel by its name.
func (k *Kernel) group() Group {
	return Group{Name: k.Name, Columns: k.Columns, Knots: k.Knots, Scale: k.Scale, Directions: k.Directions}
}

func nilIfEmpty[T any](v []T) []T {
	if len(v) == 0 {
		return nil
	}
	return v
}

// Dim is the number of features that the kernel is a function of.
func (k *Kernel) Dim() int { return k.view().dim(k.Inputs) }

func (v view) dim(inputs int) int {
	switch {
	case v.directions != nil:
		return len(v.directions)
	case v.columns != nil:
		return len(v.columns)
	}
	return inputs
}

func (v view) same(w view) bool {
	return slices.Equal(v.columns, w.columns) && slices.Equal(v.scale, w.scale) &&
		slices.EqualFunc(v.knots, w.knots, slices.Equal[[]float64]) &&
		slices.EqualFunc(v.directions, w.directions, slices.Equal[[]float64])
}

// Features returns the features that the kernel is a function of, for the rows of X (l×d): l×Dim. It is X itself where
// these are all columns, unscaled.
func (k *Kernel) Features(X blas.General) blas.General { return k.view().of(X) }

func (v view) of(X blas.General) blas.General { return v.in(new(blas.General), X) }

// in is of, in the memory of scratch.
func (v view) in(scratch *blas.General, X blas.General) blas.General {
	if v.columns == nil && v.knots == nil && v.scale == nil && v.directions == nil {
		return X
	}
	S := v.picked(scratch, X)
	if v.directions == nil {
		return S
	}
	Z := blas.NewGeneral(S.Rows, len(v.directions))
	for i := range S.Rows { // one row like the other, however many there are
		for r, row := range v.directions {
			Z.Data[i*Z.Stride+r] = blas.Dot(blas.Row(S, i), row)
		}
	}
	return Z
}

// picked is the columns or their ranks, scaled, in the memory of scratch where that is not X itself.
func (v view) picked(scratch *blas.General, X blas.General) blas.General {
	if v.columns == nil && v.knots == nil && v.scale == nil {
		return X
	}
	width := X.Cols
	if v.columns != nil {
		width = len(v.columns)
	}
	S := blas.Reshape(*scratch, X.Rows, width)
	*scratch = S
	for i := range X.Rows {
		from, to := blas.Row(X, i), blas.Row(S, i)
		if v.columns == nil {
			copy(to, from)
		}
		for c, col := range v.columns {
			to[c] = from[col]
		}
	}
	for c, knots := range v.knots { // column by column, whose knots then stay in the first-level cache
		for i := 0; i < X.Rows && knots != nil; i++ {
			at := &S.Data[i*S.Stride+c]
			*at = formula.Rank(knots, *at)
		}
	}
	for i := 0; i < X.Rows && v.scale != nil; i++ {
		to := blas.Row(S, i)
		for c, s := range v.scale {
			to[c] *= s
		}
	}
	return S
}

// check checks knots, factors and directions for d columns.
func (v view) check(d int) error {
	if v.knots != nil && len(v.knots) != d {
		return fmt.Errorf("knots of %d columns for %d columns", len(v.knots), d)
	}
	for c, knots := range v.knots {
		if knots != nil && (len(knots) == 0 || !slices.IsSorted(knots) || math.IsNaN(knots[0]) ||
			math.IsInf(knots[len(knots)-1]-knots[0], 0)) {
			return fmt.Errorf("knots of column %d: numbers in ascending order are needed", c+1)
		}
	}
	if v.scale != nil && len(v.scale) != d {
		return fmt.Errorf("%d factors for %d columns", len(v.scale), d)
	}
	for c, s := range v.scale {
		if !(s >= 0) || math.IsInf(s, 0) {
			return fmt.Errorf("factor %d is %g", c+1, s)
		}
	}
	if v.scale != nil && !slices.ContainsFunc(v.scale, func(s float64) bool { return s > 0 }) {
		return errors.New("all factors are 0")
	}
	for r, row := range v.directions {
		if len(row) != d {
			return fmt.Errorf("direction %d has %d coefficients for %d columns", r+1, len(row), d)
		}
		for _, c := range row {
			if math.IsNaN(c) || math.IsInf(c, 0) {
				return fmt.Errorf("direction %d holds %g", r+1, c)
			}
		}
	}
	return nil
}

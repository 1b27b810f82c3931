// This file picks, scales and combines the columns that a kernel looks at.

package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// view is what a kernel sees of the inputs: some of the columns, scaled, or
// linear combinations of them.
type view struct {
	columns    []int       // nil means all
	scale      []float64   // of each of them; nil means 1
	directions [][]float64 // coefficients of each combination; nil: the columns themselves
}

func (k *Kernel) view() view {
	return view{nilIfEmpty(k.Columns), nilIfEmpty(k.Scale), nilIfEmpty(k.Directions)}
}

func nilIfEmpty[T any](v []T) []T {
	if len(v) == 0 {
		return nil
	}
	return v
}

// Dim is the number of features the kernel looks at.
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
		slices.EqualFunc(v.directions, w.directions, slices.Equal[[]float64])
}

// Features is what the kernel sees of the rows of X (l×d): l×Dim, X itself where
// that is all of it as it is.
func (k *Kernel) Features(X blas.General) blas.General { return k.view().of(X) }

func (v view) of(X blas.General) blas.General {
	if v.columns == nil && v.scale == nil && v.directions == nil {
		return X
	}
	S := v.picked(X)
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

// picked is the columns, scaled.
func (v view) picked(X blas.General) blas.General {
	if v.columns == nil && v.scale == nil {
		return X
	}
	width := X.Cols
	if v.columns != nil {
		width = len(v.columns)
	}
	S := blas.NewGeneral(X.Rows, width)
	for i := range X.Rows {
		from, to := blas.Row(X, i), blas.Row(S, i)
		if v.columns == nil {
			copy(to, from)
		}
		for c, col := range v.columns {
			to[c] = from[col]
		}
		for c, s := range v.scale {
			to[c] *= s
		}
	}
	return S
}

// check checks factors and directions for d columns.
func (v view) check(d int) error {
	if err := checkScale(v.scale, d); err != nil {
		return err
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

// checkScale checks the factors of d columns; none at all is 1 for each.
func checkScale(scale []float64, d int) error {
	if scale == nil {
		return nil
	}
	if len(scale) != d {
		return fmt.Errorf("%d factors for %d columns", len(scale), d)
	}
	positive := false
	for c, v := range scale {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("factor %d is %g", c+1, v)
		}
		positive = positive || v > 0
	}
	if !positive {
		return errors.New("all factors are 0")
	}
	return nil
}

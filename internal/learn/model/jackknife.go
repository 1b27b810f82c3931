package model

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
)

// jackknife are the intervals of jackknife+ around the predictions F. They are those of held-out residuals of many
// rows, since a refit without one of them moves a prediction by far less than that, and where there are no closed
// forms of refits: by losses other than the squared one, and of models that keep no targets or kernels.
func (m *Model) jackknife(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	if m.In == nil || m.Out.Loss != "" || m.Spread != nil {
		return m.around(ctx, F, lo, hi, x, q)
	}
	k, err := m.uncertain(ctx)
	if err != nil {
		return err
	}
	of, closed := k.posterior.(refits)
	if !closed || !k.closed {
		return m.around(ctx, F, lo, hi, x, q)
	}
	sizes, count, err := k.sizes(m, q)
	if err != nil {
		return err
	}
	ranks := make([]int, len(count))
	for j, c := range count {
		if ranks[j], err = rank(q.Level, c); err != nil {
			return err
		}
	}
	return m.slabs(ctx, x, of.rowsAtOnce(), func(first int, Z blas.General) error {
		scale := blas.NewGeneral(Z.Rows, k.R.Cols)
		if q.Local {
			if err := k.deviation(ctx, scale, Z); err != nil {
				return err
			}
			k.rest(scale)
		}
		return of.changes(ctx, Z, func(i int, moved blas.General) {
			k.rest(moved)
			a, b := blas.Row(lo, first+i), blas.Row(hi, first+i)
			copy(a, blas.Row(F, first+i))
			copy(b, a)
			low, high := make([]float64, 0, moved.Rows), make([]float64, 0, moved.Rows)
			for c, j := range m.Out.Live {
				low, high = low[:0], high[:0]
				width := math.Hypot(scale.Data[i*scale.Stride+c], 1/math.Sqrt(columns.WeightAt(q.weights, first+i, j)))
				for p := range moved.Rows {
					change, size := moved.Data[p*moved.Stride+c], width*sizes.Data[p*sizes.Stride+c]
					if !math.IsNaN(size) { // −f₋ₚ(x) + size, f₋ₚ(x) + size, beside f(x)
						low, high = append(low, size+change), append(high, size-change)
					}
				}
				a[j] -= m.unit(j) * order.Select(low, ranks[c]-1)
				b[j] += m.unit(j) * order.Select(high, ranks[c]-1)
			}
		})
	})
}

// sizes are the residuals without each row in the units that q compares them in, NaN where a target is missing, and how
// many of each output there are.
func (k *known) sizes(m *Model, q Interval) (S blas.General, count []int, err error) {
	S, count = blas.Clone(k.R), make([]int, k.R.Cols)
	W := m.W
	if k.rows != nil {
		W = m.Out.Weights(m.Held.W)
	}
	for i := range S.Rows {
		row := blas.Row(S, i)
		for j, r := range row {
			unit := 1 / math.Sqrt(columns.WeightAt(W, i, j))
			if q.Local {
				unit = k.D.Data[i*k.D.Stride+j]
			}
			if row[j] = math.Abs(r) / unit; !math.IsNaN(r) {
				count[j]++
			}
		}
	}
	if S.Rows == 0 {
		return S, count, fault.Input("the model keeps no residuals")
	}
	if q.Joint {
		join([]blas.General{S})
	}
	return S, count, nil
}

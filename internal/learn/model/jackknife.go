// This file makes intervals of the residuals without each row.

package model

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
)

// smoothers is how many numbers the smoothers of a slab of new points take, 32 MiB.
const smoothers = 1 << 22

// jackknife are the intervals of jackknife+ around the predictions F.
func (m *Model) jackknife(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	if m.Y.Rows > 0 && !m.AllTargets() {
		return fault.Input("jackknife+ is for targets without missing cells and weights: use cv+")
	}
	c, err := m.withTargets(m.uncertain(ctx))
	if err != nil {
		return err
	}
	at, err := rank(q.Level, c.R.Rows)
	if err != nil {
		return err
	}
	S := c.sizes(q)
	if c.near != nil {
		return m.around(ctx, c, S, at, F, lo, hi, x, q)
	}
	r := m.L.Rank()
	slab := max(1, min(SlabRows, smoothers/(max(r, 1)*c.l)))
	return m.slabs(ctx, x, slab, func(first int, Z blas.General) error {
		rows := Z.Rows
		W := blas.NewGeneral(rows, c.R.Rows)
		scale, err := c.scales(ctx, Z, q, first)
		if err != nil {
			return err
		}
		if err := c.cross.Sum(W, Z); err != nil {
			return fault.From(err)
		}
		U := blas.NewGeneral(r*rows, c.l)
		c.lo.Smoothers(U, W)
		par.For(rows, func(i int) {
			a, b := blas.Row(lo, first+i), blas.Row(hi, first+i)
			copy(a, blas.Row(F, first+i))
			copy(b, a)
			moved := blas.NewGeneral(c.R.Rows, c.R.Cols)
			c.lo.Changes(moved, U, i)
			c.rest(moved)
			low, high := make([]float64, c.R.Rows), make([]float64, c.R.Rows)
			for k, j := range m.Out.Live {
				for p := range low {
					change, size := moved.Data[p*moved.Stride+k], scale.Data[i*scale.Stride+k]*S.Data[p*S.Stride+k]
					low[p], high[p] = size+change, size-change // −f₋ₚ(x) + size, f₋ₚ(x) + size, beside f(x)
				}
				a[j] -= m.unit(j) * order.Select(low, at-1)
				b[j] += m.unit(j) * order.Select(high, at-1)
			}
		})
		return ctx.Err()
	})
}

// scales are what sizes are multiplied by at the rows of Z, of which the first has this number.
func (c *closed) scales(ctx context.Context, Z blas.General, q Interval, first int) (blas.General, error) {
	scale := blas.NewGeneral(Z.Rows, c.R.Cols)
	if q.Local {
		if err := c.deviation(ctx, scale, Z); err != nil {
			return scale, err
		}
	}
	for i, v := range scale.Data {
		scale.Data[i] = math.Hypot(1, v)
	}
	q.widen(scale, first)
	return scale, nil
}

// around are the intervals of a model of many rows: F and on both sides the size of rank at among S, since a refit
// without one of many rows moves a prediction by far less than that.
func (m *Model) around(
	ctx context.Context, c *closed, S blas.General, at int, F, lo, hi, x blas.General, q Interval,
) error {
	width := make([]float64, S.Cols)
	for k, j := range m.Out.Live {
		width[k] = m.unit(j) * order.Select(columns.Take(S, []int{k}).Data, at-1)
	}
	blas.Copy(lo, F)
	blas.Copy(hi, F)
	return m.slabs(ctx, x, SlabRows, func(first int, Z blas.General) error {
		scale, err := c.scales(ctx, Z, q, first)
		if err != nil {
			return err
		}
		for i := range Z.Rows {
			a, b := blas.Row(lo, first+i), blas.Row(hi, first+i)
			for k, j := range m.Out.Live {
				w := width[k] * scale.Data[i*scale.Stride+k]
				a[j], b[j] = a[j]-w, b[j]+w
			}
		}
		return nil
	})
}

// sizes are the sizes of the residuals, as q compares them.
func (c *closed) sizes(q Interval) blas.General {
	S := blas.Clone(c.R)
	for i, v := range S.Data {
		S.Data[i] = math.Abs(v)
		if q.Local {
			S.Data[i] /= c.D.Data[i]
		}
	}
	if q.Joint {
		join([]blas.General{S})
	}
	return S
}

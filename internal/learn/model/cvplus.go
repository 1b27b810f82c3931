package model

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
)

// Fold is a model that was learned without some of the samples, and what it predicts for them.
type Fold struct {
	*Model
	Rows []int // samples left out
	// the target of each of their outputs, NaN where missing, and the predictions, in the units of the data
	Y, F blas.General
	W    blas.General // weights of Y, by cells or rows; without Data 1
}

// FoldOf is the fold of m in which part, a model of the other rows, predicts the given ones.
func (m *Model) FoldOf(ctx context.Context, part *Model, rows []int) (Fold, error) {
	f := Fold{Model: part.Compact(), Rows: rows}
	f.Warnings = nil
	f.Y, f.F = blas.NewGeneral(len(rows), len(m.Out.Names)), blas.NewGeneral(len(rows), len(m.Out.Names))
	m.Out.Restore(f.Y, blas.TakeRows(m.Y, rows))
	return f, f.Predict(ctx, f.F, m.inputs(rows))
}

// blockRows is how many new points CV+ takes at a time: loading each model into the caches costs little beside them.
const blockRows = 4 * SlabRows

// crossIntervals are those of CV+.
func (m *Model) crossIntervals(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	for at := 0; at < x.Rows; at += blockRows {
		rows := min(blockRows, x.Rows-at)
		view := func(a blas.General) blas.General { return blas.View(a, at, 0, rows, a.Cols) }
		predictions, units := make([]blas.General, len(m.Folds)), make([]blas.General, len(m.Folds))
		for k, f := range m.Folds {
			predictions[k], units[k] = blas.NewGeneral(rows, F.Cols), blas.NewGeneral(rows, F.Cols)
			if err := f.Predict(ctx, predictions[k], view(x)); err != nil {
				return err
			}
			if err := m.foldUnits(ctx, k, units[k], view(x), q); err != nil {
				return err
			}
		}
		if err := m.combine(ctx, view(F), view(lo), view(hi), predictions, units, at, q); err != nil {
			return err
		}
	}
	return nil
}

// combine makes the intervals of CV+ of the predictions F, from row first on of those asked for, of the predictions of
// the folds and what their residuals are multiplied by, 1 for nil.
func (m *Model) combine(
	ctx context.Context, F, lo, hi blas.General, predictions, units []blas.General, first int, q Interval,
) error {
	sizes, err := m.foldSizes(ctx, q)
	if err != nil {
		return err
	}
	values, masses := make([][][]float64, F.Cols), make([][]float64, F.Cols) // of each output and fold
	ranks := make([]int, F.Cols)
	for j := range F.Cols {
		count := 0
		var weighted blas.General
		for k, f := range m.Folds {
			v, w := column(sizes[k], f.W, j, j)
			values[j], masses[j] = append(values[j], v), append(masses[j], w...)
			count += len(v)
			if f.W.Data != nil {
				weighted = f.W
			}
		}
		masses[j] = meanOne(masses[j], weighted)
		if ranks[j], err = rank(q.Level, count); err != nil {
			return err
		}
	}
	par.For(F.Rows, func(i int) {
		var ends, w []float64
		end := func(j int, sign float64) float64 {
			ends = ends[:0]
			if w = nil; masses[j] != nil {
				w = append(w, masses[j]...)
			}
			for k, list := range values[j] {
				f, u := predictions[k].Data[i*predictions[k].Stride+j], 1.
				if units != nil {
					u = units[k].Data[i*units[k].Stride+j]
				}
				u /= math.Sqrt(columns.WeightAt(q.weights, first+i, j))
				for _, v := range list {
					ends = append(ends, sign*f+u*v)
				}
			}
			return sign * ofRank(ends, w, ranks[j])
		}
		for j := range F.Cols {
			lo.Data[i*lo.Stride+j], hi.Data[i*hi.Stride+j] = end(j, -1), end(j, 1)
		}
	})
	return ctx.Err()
}

// foldSizes are the residuals of the folds in the units that q compares them in.
func (m *Model) foldSizes(ctx context.Context, q Interval) ([]blas.General, error) {
	sizes := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		sizes[k] = scores(f.F, f.Y, sides{each: 1})
		U := blas.NewGeneral(f.F.Rows, f.F.Cols)
		var err error
		if m.Spread != nil {
			blas.Copy(U, m.Spread.Folds[k].F)
			Deviations(U)
		} else if X := blas.NewGeneral(0, 0); q.Local || m.In != nil {
			if q.Local {
				X = m.inputs(f.Rows)
			}
			err = m.foldUnits(ctx, k, U, X, q)
		} else {
			blas.Fill(U, 1)
		}
		if err != nil {
			return nil, err
		}
		for i := range U.Rows { // of errors whose variance is in proportion to 1/w
			row := blas.Row(U, i)
			for j := range row {
				row[j] /= math.Sqrt(columns.WeightAt(f.W, i, j))
			}
		}
		floats.Div(sizes[k].Data, U.Data)
	}
	if q.Joint {
		join(sizes)
	}
	return sizes, nil
}

// foldUnits writes to dst (t×n) what intervals of the model without fold k are in proportion to at the rows of x, for
// weights of 1.
func (m *Model) foldUnits(ctx context.Context, k int, dst, x blas.General, q Interval) error {
	blas.Zero(dst)
	switch {
	case m.Spread != nil:
		return m.Spread.Folds[k].Deviations(ctx, dst, x)
	case q.Local:
		of, err := m.Folds[k].uncertain(ctx)
		if err != nil {
			return err
		}
		if err := m.Folds[k].deviations(ctx, of, dst, x, nil); err != nil {
			return err
		}
	}
	for i := range dst.Rows {
		row := blas.Row(dst, i)
		for j, v := range row {
			row[j] = math.Hypot(1, v)
		}
	}
	return nil
}

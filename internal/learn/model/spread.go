// This file has noise that varies with the inputs: a model of the logarithm of its variance.

package model

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
)

// Deviations writes the standard deviations exp(f/2) to dst (t×n), f being what m predicts for the rows of x: the
// logarithm of the variance.
func (m *Model) Deviations(ctx context.Context, dst, x blas.General) error {
	err := m.Predict(ctx, dst, x)
	deviations(dst)
	return err
}

// deviations turns logarithms of variances into standard deviations, in place.
func deviations(a blas.General) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j, v := range row {
			row[j] = math.Exp(v / 2)
		}
	}
}

// scaled reports whether intervals of CV+ are of several widths.
func (m *Model) scaled(q Interval) bool { return q.Local || m.Spread != nil }

// foldWidths writes to dst (t×n) what intervals of the model without fold k are in proportion to at the rows of x.
func (m *Model) foldWidths(ctx context.Context, k int, dst, x blas.General) error {
	if m.Spread != nil {
		return m.Spread.Folds[k].Deviations(ctx, dst, x)
	}
	return m.Folds[k].widths(ctx, dst, x)
}

// heldOutWidths are those of foldWidths at the samples left out of fold k.
func (m *Model) heldOutWidths(ctx context.Context, k int) (blas.General, error) {
	if m.Spread != nil {
		w := blas.Clone(m.Spread.Folds[k].F)
		deviations(w)
		return w, nil
	}
	f := m.Folds[k]
	w := blas.NewGeneral(f.Y.Rows, f.Y.Cols)
	return w, f.widths(ctx, w, m.inputs(f.Rows))
}

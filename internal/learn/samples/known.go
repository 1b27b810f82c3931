// This file makes a training set of rows that a model was learned from.

package samples

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// Known is the training set of the rows Z, Y, inputs as the kernels of m see them and targets as m learns them, with
// the weights W. Scales, kernels and their lengths are those of m; kernels that are centred are so on these rows. K is
// the sum of the kernels, nil for their Gram matrices.
func Known(
	ctx context.Context, m *model.Model, Z, Y, W blas.General, K linop.Sum, opt Options,
) (learn.Training, error) {
	t := &training{
		opt: &opt, in: m.In, out: m.Out, names: m.Names, Z: Z, Y: Y, W: W, w: W, dict: slices.Clone(m.Dictionary()),
		warnings: m.Warnings, known: K,
	}
	if K != nil {
		return t, nil
	}
	p := opt.gramPlan(len(t.dict), Y.Rows, Z.Cols, Y.Cols)
	if err := opt.Announce(p); err != nil {
		return nil, err
	}
	t.held = p.Held
	var err error
	t.grams, err = t.dict.Grams(ctx, Z, kernel.GramOptions{Precision: opt.Precision, Backend: opt.Backend})
	return t, fault.From(err)
}

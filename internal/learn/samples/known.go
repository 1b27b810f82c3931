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
// the sum of the kernels, which holds so many bytes, nil for their Gram matrices.
func Known(
	ctx context.Context, m *model.Model, Z, Y, W blas.General, K linop.Sum, held float64, opt Options,
) (learn.Training, error) {
	t := &training{
		opt: &opt, in: m.In, out: m.Out, names: m.Names, Z: Z, Y: Y, W: W, w: W, dict: slices.Clone(m.Dictionary()),
		warnings: m.Warnings, known: K, held: held,
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

// WeightedGram is K_η on the rows Z for n targets, and the bytes that it and solving with it hold.
func WeightedGram(
	ctx context.Context, dict kernel.Dictionary, eta []float64, Z blas.General, n int, opt Options,
) (K *linop.Gram, held float64, err error) {
	p := opt.sumPlan(len(dict), Z.Rows, Z.Cols, n)
	if err := opt.Announce(p); err != nil {
		return nil, 0, err
	}
	P, err := dict.WeightedGram(ctx, Z, eta, kernel.GramOptions{Precision: opt.Precision, Backend: opt.Backend})
	if err != nil {
		return nil, 0, fault.From(err)
	}
	return linop.NewGram(P, opt.Backend), p.Held, nil
}

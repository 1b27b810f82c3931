package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/par"
)

// Parts is Data of which models of a part can predict the rest.
type Parts interface {
	Sampler
	// HeldOut returns the targets of the samples to test on, and what m, a model of the
	// part to train on, predicts for them.
	HeldOut(ctx context.Context, m *model.Model, s Split) (Y, F blas.General, err error)
}

// OutOfFold fits one model without each fold of the samples, and predicts the fold by
// it. All that fit does is done to the part of the data that is not in the fold. As
// many folds as atOnce run in parallel; the result does not depend on it.
func OutOfFold(ctx context.Context, d Parts, p Folding, atOnce int, fit func(ctx context.Context, d Data, rows []int) (*model.Model, error)) ([]model.Fold, error) {
	l, _ := d.Size()
	splits, err := p.Deal(l)
	if err != nil {
		return nil, err
	}
	folds, fail := make([]model.Fold, len(splits)), make([]error, len(splits))
	one := func(k int) error {
		part, err := d.Sample(splits[k].Train)
		if err != nil {
			return err
		}
		m, err := fit(ctx, part, splits[k].Train)
		if err != nil {
			return err
		}
		m.Y, m.Warnings = blas.General{}, nil
		f := model.Fold{Model: m, Rows: splits[k].Test}
		f.Y, f.F, err = d.HeldOut(ctx, m, splits[k])
		folds[k] = f
		return err
	}
	for lo := 0; lo < len(splits); lo += atOnce {
		par.For(min(atOnce, len(splits)-lo), func(i int) {
			if err := one(lo + i); err != nil {
				fail[lo+i] = fmt.Errorf("fold %d: %w", lo+i+1, err)
			}
		})
		if err := cmp.Or(ctx.Err(), cmp.Or(fail...)); err != nil {
			return nil, fault.From(err)
		}
	}
	return folds, nil
}

// This file fits models without each fold, and predicts the samples left out.

package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/par"
)

// OutOfFold fits one model without each fold of the samples, and predicts the fold by
// it. All that fit does is done to the part of the data that is not in the fold. As
// many folds as atOnce run in parallel; the result does not depend on it.
func OutOfFold(
	ctx context.Context, d InMemory, p Folding, atOnce int, fit func(ctx context.Context, d Data,
		rows []int) (*model.Model, error),
) ([]model.Fold, error) {
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
		m = m.Compact()
		m.Warnings = nil
		f := model.Fold{Model: m, Rows: splits[k].Test}
		f.Y, f.F, err = d.HeldOut(ctx, m, splits[k])
		folds[k] = f
		return err
	}
	for lo := 0; lo < len(splits); lo += atOnce {
		par.For(min(atOnce, len(splits)-lo), func(i int) {
			if err := one(lo + i); err != nil {
				fail[lo+i] = fmt.Errorf("interval fold %d: %w", lo+i+1, err)
			}
		})
		if err := cmp.Or(ctx.Err(), cmp.Or(fail...)); err != nil {
			return nil, fault.From(err)
		}
	}
	return folds, nil
}

// WithoutFolds fits the setting without each of so many folds of the data, and predicts its kept samples.
func (m *Method) WithoutFolds(ctx context.Context, d Folded, s Setting, folds int) ([]model.Fold, error) {
	list := make([]model.Fold, folds)
	for k := range list {
		t, err := d.Train(ctx, s.Kernels, s.Learn, k)
		if err != nil {
			return nil, fmt.Errorf("fold %d: %w", k+1, err)
		}
		p, so, err := m.problem(t, &s)
		if err != nil {
			return nil, err
		}
		so.Tol, so.Trace = max(so.Tol, defaults.CompareTol), nil
		res, err := bcd.Solve(ctx, p, so)
		if res == nil || ctx.Err() != nil {
			return nil, fault.From(cmp.Or(err, ctx.Err()))
		}
		f := model.Fold{Model: t.Model(res)}
		f.Warnings = nil
		f.UseMeans(s.Means)
		if f.Rows, f.Y, f.F, err = d.HeldOut(ctx, f.Model, k); err != nil {
			return nil, fmt.Errorf("fold %d: %w", k+1, err)
		}
		list[k] = f
	}
	return list, nil
}

package iokl

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/samples"
)

// noiseRounds is how often the noise is learned and the targets are weighted by it.
const noiseRounds = 2

// solveNoisy is solve with targets weighted by 1/σ̂²(x). σ̂² is learned from the errors of models without each fold,
// the first of which weigh all targets alike. k folds are the same in all rounds.
func (opt checked) solveNoisy(ctx context.Context, d learn.Data) (*Model, error) {
	if d.Table == nil {
		return nil, fault.Input("the noise is learned for rows in memory")
	}
	rows := d
	keep, method := opt.IntervalFolds, opt.method()
	opt.LearnNoise, opt.oneSetting, opt.IntervalFolds = false, true, max(keep, 0)
	var spread *model.Model
	in, cancel := phase.Share(ctx, noiseShare)
	defer cancel()
	for round := range noiseRounds {
		method.Say("learning the noise, round %d of %d", round+1, noiseRounds)
		known, weighed, err := opt.noise(in, d, rows)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			break
		}
		if err != nil {
			return nil, err
		}
		spread, rows = known, weighed
	}
	opt.IntervalFolds, opt.oneSetting = keep, keep == 0
	m, err := opt.solve(ctx, rows)
	if m != nil && spread == nil {
		m.fitted().Warnings = append(m.fitted().Warnings, "the noise is not learned: there was no time for it")
		return m, cmp.Or(err, context.DeadlineExceeded)
	}
	if m != nil {
		l := m.fitted()
		if l.Spread = spread; l.Folds == nil {
			spread.Folds = nil
		}
		_, _, W := d.Table.Matrices() // what the noise makes of these is told by spread
		of := func(rows []int) blas.General {
			if W.Data == nil {
				return W
			}
			return blas.TakeRows(W, rows)
		}
		for k := range l.Folds {
			l.Folds[k].W = of(l.Folds[k].Rows)
		}
		if l.Held != nil {
			l.Held.W = of(l.Held.Rows)
			if slices.Equal(l.Held.Rows, spread.Held.Rows) {
				l.Held.D = blas.Clone(spread.Held.F)
				model.Deviations(l.Held.D)
			}
		}
		spread.Held = nil
	}
	return m, err
}

// noise learns the deviations of the noise from the errors of models without each fold of the rows, and weighs the
// given ones by them.
func (opt *checked) noise(
	ctx context.Context, given, rows learn.Data,
) (spread *model.Model, weighed learn.Data, err error) {
	folds, err := opt.outOfFold(ctx, rows, nil)
	if err != nil {
		return nil, weighed, err
	}
	if spread, err = opt.spread(ctx, given, model.Join(folds, opt.Seed)); err != nil {
		return nil, weighed, err
	}
	weighed, err = opt.weighed(ctx, given, spread)
	return spread, weighed, err
}

// spread learns the logarithm of the squared errors of held-out rows as a function of the inputs of d. Its model keeps
// models without the same folds, and is shifted so that squared errors have the mean that it tells.
func (opt *checked) spread(ctx context.Context, d learn.Data, held *model.HeldOut) (*model.Model, error) {
	asked := opt.Options
	if opt.compared != nil {
		asked = opt.compared.asked.Options
	}
	v := Options{
		Kernels: asked.Kernels, Groups: asked.Groups, Standardize: ScaleTargets, Seed: opt.Seed,
		Precision: opt.Precision, MaxBytes: opt.MaxBytes, Backend: opt.Backend, InputNames: opt.InputNames,
		OutputNames: opt.OutputNames, InputSchema: opt.InputSchema, IntervalFolds: held.Folds,
		CV: CVOptions{Groups: opt.CV.Groups, FoldsBy: opt.CV.FoldsBy, Folds: asked.CV.Folds},
	}
	if opt.columns().ScaleInputs {
		v.Standardize = ScaleBoth
	}
	if v.Kernels != nil {
		v.Learn = LearnNothing
	}
	c, err := v.check(false, nil)
	if err != nil {
		return nil, err
	}
	c.oneSetting = true
	X, Y, W := d.Table.Matrices()
	so := c.samples()
	so.Content = d.Parts.Content() // for the same folds
	data, err := samples.NewRows(X, learn.LogSquares(held, Y, W), W, so)
	if err != nil {
		return nil, err
	}
	m, err := c.fit(ctx, data.Data())
	if err != nil {
		return nil, err
	}
	m.fitted().Warnings = nil
	learn.CalibrateNoise(m.fitted())
	return m.fitted(), nil
}

// weighed is the data d with targets weighted by the inverse of the variance, times the mean variance: λ, which is in
// proportion to the variance, is then for the same prior of functions as where all weights are 1.
func (opt *checked) weighed(ctx context.Context, d learn.Data, spread *model.Model) (learn.Data, error) {
	X, Y, W := d.Table.Matrices()
	sigma := blas.NewGeneral(Y.Rows, Y.Cols)
	if err := spread.Deviations(ctx, sigma, X); err != nil {
		return learn.Data{}, err
	}
	w, err := columns.Precision(sigma, Y, W, opt.columns().ScaleOutputs)
	if err != nil {
		return learn.Data{}, err
	}
	variance, cells := 0.0, 0.0
	for _, v := range w.Data {
		if v > 0 {
			variance, cells = variance+1/v, cells+1
		}
	}
	blas.Scal(variance/cells, w.Data)
	columns.Multiply(w, W)
	return d.Table.Weighed(w)
}

// PredictNoise returns the standard deviation of the noise (t×n) at the rows of X, in the units of the targets, of a
// model of Options.LearnNoise. Models of other options are [ErrInput].
func (m *Model) PredictNoise(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	alive(ctx)
	if !m.LearnedNoise() {
		return nil, fault.Input("the model has one level of noise for each target: it did not learn the noise")
	}
	return m.forRows(ctx, X, func(dst, x blas.General) error { return m.fitted().Spread.Deviations(ctx, dst, x) })
}

// LearnedNoise reports whether the model learned how the noise varies with the inputs.
func (m *Model) LearnedNoise() bool { return m.fitted().Spread != nil }

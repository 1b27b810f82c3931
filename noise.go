// This file learns how the noise of the targets varies with the inputs (mathematics.md §15).

package iokl

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/loss"
)

// noiseRounds is how often the noise is learned and the targets are weighted by it.
const noiseRounds = 2

// checkNoise refuses what learning the noise does not go with.
func (opt *Options) checkNoise(gram bool) error {
	switch {
	case !opt.LearnNoise:
	case gram:
		return fault.Input("the noise is learned as a function of inputs, which Gram matrices do not tell")
	case opt.Noise != nil:
		return fault.Input("the noise is either given or learned")
	case opt.losses[0].Kind != loss.Squared && opt.losses[0].Kind != loss.Huber:
		return fault.Input("the noise is learned of errors by the losses squared and huber, not %s", opt.Loss)
	case opt.Learn == learn.Likelihood:
		return fault.Input("a fit by likelihood has one variance for each target: the noise is learned without it")
	case opt.classes != nil:
		return fault.Input("classes have no noise to learn")
	case opt.CV.TimeOrdered:
		return fault.Input("the noise is learned on folds of rows in no order, not on a series in the order of time")
	}
	return nil
}

// solveNoisy is solve with targets weighted by 1/σ̂²(x). σ̂² is learned from the errors of models without each fold,
// the first of which weigh all targets alike. k folds are the same in all rounds.
func (opt Options) solveNoisy(ctx context.Context, d learn.Data) (*Model, error) {
	rows, ok := d.(*samples.Rows)
	if !ok {
		return nil, fault.Input("the noise is learned for rows in memory")
	}
	opt.LearnNoise = false
	l, _ := d.Size()
	fixed := opt.fixed(max(opt.IntervalFolds, 0))
	if fixed.IntervalFolds == 0 {
		fixed.IntervalFolds = opt.CV.ForFit(l).Folds
	}
	method := opt.method()
	var spread *model.Model
	for round := range noiseRounds {
		method.Say("learning the noise, round %d of %d", round+1, noiseRounds)
		folds, err := fixed.outOfFold(ctx, rows, nil)
		if err != nil {
			return nil, err
		}
		if spread, err = opt.spread(ctx, d.(*samples.Rows), folds); err != nil {
			return nil, err
		}
		if rows, err = opt.weighed(ctx, d.(*samples.Rows), spread); err != nil {
			return nil, err
		}
	}
	if opt.IntervalFolds == 0 {
		opt = fixed
	}
	m, err := opt.solve(ctx, rows)
	if m != nil {
		if m.learned.Spread = spread; m.learned.Folds == nil {
			spread.Folds = nil
		}
	}
	return m, err
}

// fixed is the options, with nothing open, that keep models without each of so many folds at the same setting.
func (opt Options) fixed(folds int) Options {
	if opt.compared != nil {
		at := opt
		opt.compared = &comparison{asked: at, found: at.compared.found}
	}
	opt.IntervalFolds = folds
	return opt
}

// spread learns the logarithm of the squared errors of the folds as a function of the inputs of d. Its model keeps
// models without the same folds, and is shifted so that squared errors have the mean that it tells.
func (opt *Options) spread(ctx context.Context, d *samples.Rows, folds []model.Fold) (*model.Model, error) {
	asked := *opt
	if opt.compared != nil {
		asked = opt.compared.asked
	}
	l, _ := d.Size()
	v := Options{
		Kernels: asked.Kernels, Groups: asked.Groups, Standardize: "y", Seed: opt.Seed, Precision: opt.Precision,
		MaxBytes: opt.MaxBytes, Backend: opt.Backend, InputNames: opt.InputNames, OutputNames: opt.OutputNames,
		InputSchema: opt.InputSchema, Budget: asked.Budget,
		CV: CVOptions{Groups: opt.CV.Groups, FoldsBy: opt.CV.FoldsBy, Folds: asked.CV.Folds}.ForFit(l),
	}
	if opt.columns().ScaleInputs {
		v.Standardize = "x,y"
	}
	if v.Kernels != nil {
		v.Learn = learn.Nothing
	}
	v, err := v.check(false)
	if err != nil {
		return nil, err
	}
	X, _, W := d.Table()
	data, err := samples.NewRows(X, logSquares(d, folds), W, v.samples())
	if err != nil {
		return nil, err
	}
	r, err := v.crossValidate(ctx, data, nil)
	if err != nil {
		return nil, err
	}
	chosen := r.bestOptions().fixed(len(folds))
	m, err := chosen.solve(ctx, data)
	if err != nil {
		return nil, err
	}
	m.learned.Warnings = nil
	calibrate(m.learned)
	return m.learned, nil
}

// logSquares are the logarithms of the squared errors of the folds (l×n), NaN for cells missing or of weight 0. An
// error below 1/l of the root mean square of its target counts as that: about the smallest of l normal errors, where
// zeros come from rounded targets.
func logSquares(d *samples.Rows, folds []model.Fold) blas.General {
	_, _, W := d.Table()
	l, n := d.Size()
	E := blas.NewGeneral(l, n)
	sum, count := make([]float64, n), make([]float64, n)
	for _, f := range folds {
		for k, i := range f.Rows {
			for j, y := range blas.Row(f.Y, k) {
				e := y - f.F.Data[k*f.F.Stride+j]
				if columns.WeightAt(W, i, j) == 0 {
					e = math.NaN()
				}
				if E.Data[i*n+j] = e * e; !math.IsNaN(e) {
					sum[j], count[j] = sum[j]+e*e, count[j]+1
				}
			}
		}
	}
	for i, e := range E.Data {
		if least := sum[i%n] / count[i%n] / float64(l*l); least > 0 && !math.IsNaN(e) {
			E.Data[i] = math.Log(max(e, least))
		}
	}
	return E
}

// calibrate adds a constant to the logarithms of each variance, which makes the mean of the squared errors over their
// variance 1 where both are held out.
func calibrate(m *model.Model) {
	n := len(m.Out.Names)
	sum, count := make([]float64, n), make([]float64, n)
	for _, f := range m.Folds {
		for i := range f.Y.Rows {
			for j, y := range blas.Row(f.Y, i) {
				if !math.IsNaN(y) {
					sum[j], count[j] = sum[j]+math.Exp(y-f.F.Data[i*f.F.Stride+j]), count[j]+1
				}
			}
		}
	}
	shift := make([]float64, n)
	for j := range shift {
		if count[j] > 0 {
			shift[j] = math.Log(sum[j] / count[j])
		}
	}
	m.Out.Shift(shift)
	for _, f := range m.Folds {
		f.Out.Shift(shift)
		for i := range f.F.Data {
			f.F.Data[i] += shift[i%n]
		}
	}
}

// weighed is the data d with targets weighted by the inverse of the variance, times the mean variance: λ, which is in
// proportion to the variance, is then for the same prior of functions as where all weights are 1.
func (opt *Options) weighed(ctx context.Context, d *samples.Rows, spread *model.Model) (*samples.Rows, error) {
	X, Y, W := d.Table()
	sigma := blas.NewGeneral(Y.Rows, Y.Cols)
	if err := spread.Deviations(ctx, sigma, X); err != nil {
		return nil, err
	}
	w, err := opt.precision(sigma, Y, W)
	if err != nil {
		return nil, err
	}
	variance, cells := 0.0, 0.0
	for _, v := range w.Data {
		if v > 0 {
			variance, cells = variance+1/v, cells+1
		}
	}
	blas.Scal(variance/cells, w.Data)
	multiply(w, W)
	return d.Weighed(w)
}

// PredictNoise returns the standard deviation of the noise (t×n) at the rows of X, in the units of the targets, of a
// model of Options.LearnNoise. Models of other options are [ErrInput].
func (m *Model) PredictNoise(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	t, _ := X.Dims()
	switch {
	case t == 0:
		return nil, fault.Input("no rows to predict")
	case !m.LearnedNoise():
		return nil, fault.Input("the model has one level of noise for each target: it did not learn the noise")
	}
	dst := mat.NewDense(t, len(m.learned.Out.Names), nil)
	var err error
	phase.Apart(phase.Predict, func() { err = m.learned.Spread.Deviations(ctx, dst.RawMatrix(), raw(X)) })
	return dst, err
}

// LearnedNoise reports whether the model learned how the noise varies with the inputs.
func (m *Model) LearnedNoise() bool { return m.learned.Spread != nil }

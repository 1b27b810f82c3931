package iokl

import (
	"cmp"
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
)

// IntervalOptions of [Model.PredictInterval]. The zero value is useful.
type IntervalOptions struct {
	Level float64 `json:"level,omitzero"` // share of new targets that the intervals are to hold; 0 means 0.9
	// Method is "held-out", the default, "cv+" or "jackknife+", or of models by several quantiles "conformal".
	//
	// held-out adds to both sides of the prediction the quantile of the held-out residuals ([Model.HeldOut]) that makes
	// intervals hold about Level of new targets, for rows that are drawn alike. It costs no more than the prediction
	// where widths are not local.
	//
	// cv+ takes the models of the option IntervalFolds. For rows that are drawn alike and
	// in no order, its intervals hold at least 2·Level − 1 − √(2/l) of new targets, whatever their
	// distribution; in practice about Level. Folds of a stream share the scales, widths and landmarks of its survey.
	//
	// jackknife+ takes refits without each row in closed form, at the kernels, weights and L
	// that all rows chose: its bound, 2·Level − 1, is conditional on these. It
	// costs 2·l²·n operations a row. Where there is no closed form for many rows, it is held-out.
	//
	// conformal takes the two quantiles of the model whose distance is nearest to Level, and adds on both sides what
	// makes intervals hold Level of the held-out targets. Their width follows the noise.
	Method IntervalMethod `json:"method,omitempty"`
	// widths in proportion to the posterior deviation with noise: wider where data are thin
	Local bool `json:"local,omitempty"`
	Joint bool `json:"joint,omitempty"` // Level is for all outputs of a row together
	// Weights are those of the rows (t×1) or targets (t×n) that are predicted, as those of a fit: widths are in
	// proportion to 1/√w. nil means 1, and so does a weight that is 0 or NaN. A model that was fitted with weights
	// takes its residuals times √w, each with the mass w.
	Weights mat.Matrix `json:"-"`
}

// interval are the options as package model takes them.
func (opt IntervalOptions) interval() model.Interval {
	return model.Interval{
		Level: opt.Level, Method: string(opt.Method), Local: opt.Local, Joint: opt.Joint, Weights: opt.Weights,
	}
}

// Intervals are predictions, t×n, and the ends of the intervals of targets: t×n too but for several quantiles, of which
// each target has one interval.
type Intervals struct {
	Predictions, Low, High *mat.Dense
}

// PredictInterval predicts the targets for the rows of X, and intervals that hold them with
// a probability. It works through blocks of rows. Models without what the method takes, and levels that
// the number of residuals does not allow, are [ErrInput].
func (m *Model) PredictInterval(ctx context.Context, X mat.Matrix, opt IntervalOptions) (*Intervals, error) {
	r := new(Intervals)
	var err error
	r.Predictions, err = m.forRows(ctx, X, func(F, x blas.General) error {
		lo, hi := blas.NewGeneral(x.Rows, m.targets()), blas.NewGeneral(x.Rows, m.targets())
		r.Low, r.High = blas.Dense(lo), blas.Dense(hi)
		return m.fitted().Intervals(ctx, F, lo, hi, x, opt.interval())
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// forRows is what f writes of every output for the rows of X.
func (m *Model) forRows(
	ctx context.Context, X mat.Matrix, f func(dst, x blas.General) error,
) (*mat.Dense, error) {
	alive(ctx)
	x := raw(X)
	if x.Rows == 0 {
		return nil, fault.Input("no rows to predict")
	}
	dst := mat.NewDense(x.Rows, len(m.fitted().Out.Names), nil)
	var err error
	if phase.Apart(phase.Predict, func() { err = f(dst.RawMatrix(), x) }); err != nil {
		return nil, err
	}
	return dst, nil
}

// targets is the number of targets, each of which has an output for every quantile.
func (m *Model) targets() int {
	return len(m.fitted().Out.Names) / max(1, len(m.fitted().Out.Quantiles))
}

// Quantiles are the τ of the loss of the model, ascending, for each of which a target has an output; nil for other
// losses.
func (m *Model) Quantiles() []float64 { return slices.Clone(m.fitted().Out.Quantiles) }

// PredictIntervalGram is PredictInterval, by cv+, of a model of Gram matrices from the
// cross-Gram matrices (t×l) of all m kernels.
func (m *Model) PredictIntervalGram(
	ctx context.Context, KX []mat.Matrix, opt IntervalOptions,
) (r *Intervals, err error) {
	alive(ctx)
	phase.Apart(phase.Predict, func() {
		var F, lo, hi blas.General
		if F, lo, hi, err = m.fitted().PredictGramIntervals(ctx, raws(KX), opt.interval()); err == nil {
			r = &Intervals{blas.Dense(F), blas.Dense(lo), blas.Dense(hi)}
		}
	})
	return r, err
}

// PredictDeviation returns the posterior standard deviation (t×n) of the outputs at the rows of X, in
// their units: that of the Gaussian process with covariance (σ²/μ)·K_η⊗L, μ = λl, and noise of
// variance σ², which comes from the residuals of each output without each row. It
// says where data are thin, and does not count the noise (docs/mathematics-data.md §13).
//
// It is exact for at most 2000 rows of complete targets, for at most 4096 observed cells where targets are missing or
// have weights or each kernel has an L of its own, and for explicit features of complete targets. Beyond 2000 rows its
// square is that given the 64 rows that,
// one by one, explain most of the variance at a row of X, times the share that makes the effective degrees of freedom
// of the training rows those of all rows, and times a factor for the log density of training rows without themselves:
// of the powers of 2 within a standard error of the best, the one nearest to 1. Of more cells it is that of 64 random
// functions from the process, which tell it to 9 %, for at most 8192 rows. By the losses huber and logistic it is that
// of Laplace's approximation. Models of Gram matrices, which do not say k(x,x), and by the loss of quantiles, which has
// no curvature, are [ErrInput].
func (m *Model) PredictDeviation(ctx context.Context, X mat.Matrix) (*mat.Dense, error) {
	return m.forRows(ctx, X, func(dst, x blas.General) error { return m.fitted().Deviation(ctx, dst, x) })
}

// Noise returns the standard deviation σ of the noise of every output, in its units and for a weight of 1, that the
// deviations of [Model.PredictDeviation] are for: a new target lies about its prediction with variance σ² plus the
// square of the deviation.
func (m *Model) Noise(ctx context.Context) (sigma []float64, err error) {
	alive(ctx)
	phase.Apart(phase.Predict, func() { sigma, err = m.fitted().NoiseLevels(ctx) })
	return sigma, err
}

// Distances returns how far each row of X is from the nearest training row, the inputs standardised
// where the fit did so. Models that keep no training inputs, those of explicit features and of Gram matrices, are
// [ErrInput].
func (m *Model) Distances(ctx context.Context, X mat.Matrix) ([]float64, error) {
	alive(ctx)
	x := raw(X)
	if x.Rows == 0 {
		return nil, fault.Input("no rows to predict")
	}
	dst := make([]float64, x.Rows)
	if err := m.fitted().Distances(ctx, dst, x); err != nil {
		return nil, err
	}
	return dst, nil
}

// IntervalFolds is the number of folds that the model keeps models without, for intervals
// by cv+; 0 when it keeps none.
func (m *Model) IntervalFolds() int { return len(m.fitted().Folds) }

// ClassSets are predictions of classes.
type ClassSets struct {
	Outputs       *mat.Dense // of the model, t×n
	Classes       []string   // of the largest output
	Sets          [][]string // classes that a row may be of, the one predicted among them
	Probabilities *mat.Dense // of each class, t×n
}

// PredictSets predicts for each row of X the set of the classes that it may be of, which
// holds its class with probability level, and a probability of each class: the classes whose outputs lie as near to
// the largest as those of the share level of the held-out rows do. Probabilities are those of PredictProba.
// The model must come from FitClasses.
func (m *Model) PredictSets(ctx context.Context, X mat.Matrix, level float64) (*ClassSets, error) {
	var sets *model.Sets
	F, err := m.forRows(ctx, X, func(dst, x blas.General) (err error) {
		sets, err = m.fitted().ClassSets(ctx, dst, x, cmp.Or(level, defaults.IntervalLevel))
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &ClassSets{Outputs: F, Probabilities: blas.Dense(sets.P)}
	for i, in := range sets.In {
		var set []string
		for k, name := range m.fitted().Out.Classes {
			if in[k] {
				set = append(set, name)
			}
		}
		r.Classes = append(r.Classes, m.fitted().Out.Classes[floats.MaxIdx(r.Outputs.RawRowView(i))])
		r.Sets = append(r.Sets, set)
	}
	return r, nil
}

// Influence is what training rows change in one prediction.
type Influence struct {
	Rows    []int      // the numbers of the training rows, ascending
	Changes *mat.Dense // of each row (len(Rows)×n), in the units of the targets
}

// Influence returns what training rows change in the prediction for the one row X: the prediction, less that of a refit
// without the training row at the same kernels, weights and L. It is of all training rows, or of those that a model of
// explicit features keeps, at most 4000.
func (m *Model) Influence(ctx context.Context, X mat.Matrix) (*Influence, error) {
	alive(ctx)
	learned := m.fitted()
	if t, _ := dims(X); t != 1 {
		return nil, fault.Input("influences on %d predictions: they are asked for one at a time", t)
	}
	D, rows, err := learned.Influence(ctx, raw(X))
	if err != nil {
		return nil, err
	}
	return &Influence{rows, blas.Dense(D)}, nil
}

// LeaveOneOut is what refits without each training row tell, in closed form, at the kernels, weights,
// L and μ = λl of the model (l×n each).
type LeaveOneOut struct {
	Residuals  *mat.Dense // target less the prediction without the row
	Deviations *mat.Dense // their standard deviations in the Gaussian process of PredictDeviation, the noise counted
	Leverages  *mat.Dense // derivative of the fitted value by its target, between 0 and 1
	Freedom    float64    // effective degrees of freedom, the sum of the leverages
}

// LeaveOneOut refits the model without each of its training rows, or of those that a model of explicit features keeps.
// It costs one decomposition of K_η, about 10·l³ operations, or one factor of the covariance of at most 4096 observed
// cells. Models of Gram matrices and of losses other than the squared one are [ErrInput].
func (m *Model) LeaveOneOut(ctx context.Context) (*LeaveOneOut, error) {
	alive(ctx)
	r, err := m.fitted().LeaveOut(ctx)
	return (*LeaveOneOut)(r), err
}

// HeldOut are training targets beside predictions of models that had not seen them, in the units of the targets.
type HeldOut struct {
	Rows                 []int      // numbers of the training rows, ascending
	Targets, Predictions *mat.Dense // of the rows; a missing target is NaN
	Weights              *mat.Dense // of the targets; nil where all are 1
	Folds                int        // models without each of which predict; 0 for refits without each row
	// of each class, or of the targets 1 by the logistic loss, as [Model.PredictProba] has them; nil for other models
	Probabilities *mat.Dense
	Uncalibrated  *mat.Dense // by the logistic loss, those without calibration; nil for other losses
}

// KeepsHeldOut reports whether HeldOut takes seconds at most: the fit has kept its predictions, or refits without
// each of at most 2000 rows have a closed form.
func (m *Model) KeepsHeldOut() bool {
	l := m.fitted()
	return l.Held != nil || l.Estimate != nil && l.Y.Rows > 0 ||
		l.Coefficients() > 0 && m.cert.Samples <= defaults.IntervalSamples && l.RefitsLater()
}

// HeldOut returns what the model keeps of predictions for rows by models that had not seen them: without each of some
// folds or, for a fit that chose nothing, refits without each row as [Model.LeaveOneOut] makes them, at its cost.
// Models of neither are [ErrInput].
func (m *Model) HeldOut(ctx context.Context) (*HeldOut, error) {
	alive(ctx)
	held, err := m.fitted().HeldOut(ctx)
	if err != nil {
		return nil, err
	}
	h := &HeldOut{
		Rows: slices.Clone(held.Rows), Targets: mat.DenseCopyOf(blas.Dense(held.Y)),
		Predictions: mat.DenseCopyOf(blas.Dense(held.F)), Folds: held.Folds,
	}
	if held.W.Data != nil {
		all := blas.Like(held.Y)
		for i := range all.Rows {
			for j := range blas.Row(all, i) {
				all.Data[i*all.Stride+j] = columns.WeightAt(held.W, i, j)
			}
		}
		h.Weights = blas.Dense(all)
	}
	switch out := m.fitted().Out; {
	case m.fitted().LogOdds():
		h.Probabilities, h.Uncalibrated = mat.DenseCopyOf(h.Predictions), mat.DenseCopyOf(h.Predictions)
		out.Probabilities(h.Probabilities.RawMatrix(), out.Calibration)
		out.Probabilities(h.Uncalibrated.RawMatrix(), nil)
	case out.Classes != nil:
		h.Probabilities = blas.Dense(model.Probabilities(held.F, held.Y, held.W))
	}
	return h, nil
}

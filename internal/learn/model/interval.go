// This file has the ways to intervals, and the predictions without a fold that some of them come from.

package model

import (
	"cmp"
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
)

// Fold is a model that was learned without some of the samples, and what it predicts for them.
type Fold struct {
	*Model
	Rows []int // samples left out
	// the target of each of their outputs, NaN where missing, and the predictions, in the units of the data
	Y, F blas.General
	W    blas.General // weights of Y, by cells or rows; without Data 1
}

// The ways to intervals.
const (
	CVPlus        = "cv+"
	JackknifePlus = "jackknife+"
)

// Interval says which intervals are asked for, as IntervalOptions of the root package does.
type Interval struct {
	Level        float64 // 0 means 0.9
	Method       string
	Local, Joint bool
	Weights      mat.Matrix

	weights blas.General // those of Weights; without Data 1
}

// ends keeps what intervals derive from a model, once for all predictions.
type ends struct {
	mutex    sync.Mutex
	lists    map[compared][]residuals // of CV+
	closed   *closed
	estimate *closed // by neighbours or random functions
}

// compared is what residuals depend on as an Interval compares them.
type compared struct {
	local, joint bool
	level        float64 // of quantiles, which it chooses
}

// residuals are the sizes of the residuals of one target, by fold as a [list] has them.
type residuals struct {
	folds []steps
	count int
}

// rank is that of the end of an interval among the residuals, from 1:
// ⌈level·(count + 1)⌉ (Barber, Candès, Ramdas, Tibshirani, doi:10.1214/20-AOS1965).
func rank(level float64, count int) (int, error) {
	r := order.IntervalRank(level, count)
	if r > count {
		return 0, fault.Input("%d residuals are too few for intervals of level %g: at least %g are needed", count,
			level, math.Ceil(level/(1-level)))
	}
	return r, nil
}

// weigh checks the weights of so many rows and targets.
func (q *Interval) weigh(rows, targets int) error {
	if q.Weights == nil {
		return nil
	}
	w := mat.DenseCopyOf(q.Weights).RawMatrix()
	if w.Rows != rows || w.Cols != 1 && w.Cols != targets {
		return fault.Input("the weights are %d×%d: want %d×1, one of each row to predict, or %d×%d, one of each target",
			w.Rows, w.Cols, rows, rows, targets)
	}
	for i, v := range w.Data {
		switch {
		case v < 0 || math.IsInf(v, 1):
			return fault.Input("the weight in row %d, column %d is %g: it must be finite and not negative", i/w.Cols+1,
				i%w.Cols+1, v)
		case !(v > 0):
			w.Data[i] = 1
		}
	}
	q.weights = w
	return nil
}

// widen multiplies what sizes are multiplied by at rows from first on by 1/√w.
func (q *Interval) widen(scale blas.General, first int) {
	if q.weights.Data == nil {
		return
	}
	for i := range scale.Rows {
		row := blas.Row(scale, i)
		for j := range row {
			row[j] /= math.Sqrt(columns.WeightAt(q.weights, first+i, j))
		}
	}
}

// HasFolds reports whether the model can give intervals of CV+.
func (m *Model) HasFolds() bool { return len(m.Folds) > 0 }

// Closed reports whether the model gives intervals of jackknife+, from what it keeps of its rows.
func (m *Model) Closed() bool { return m.oneL() != nil && m.AllTargets() }

// method is the way to the intervals asked for.
func (m *Model) method(q *Interval) error {
	if q.Level = cmp.Or(q.Level, defaults.IntervalLevel); !(q.Level > 0 && q.Level < 1) {
		return fault.Input("intervals of level %g: it must lie between 0 and 1", q.Level)
	}
	if m.Out.Quantiles != nil {
		return m.conformal(q)
	}
	closed := m.Closed()
	if q.Method == "" && !m.HasFolds() && closed {
		q.Method = JackknifePlus
	}
	if err := fault.Choice("kind of interval", &q.Method, []string{CVPlus, JackknifePlus}); err != nil {
		return err
	}
	if q.Local && m.Spread != nil {
		return fault.Input("the noise was learned, and widths of intervals follow it: leave out local widths")
	}
	if q.Method == CVPlus && !m.HasFolds() {
		other := ""
		if closed {
			other = ", or ask for " + JackknifePlus
		}
		return fault.Input("the model keeps no models of folds: fit it with interval folds%s", other)
	}
	return nil
}

// intervals is the way to intervals of the targets of so many rows.
func (m *Model) intervals(q *Interval, rows int) error {
	if err := q.weigh(rows, len(m.Out.Names)/max(1, len(m.Out.Quantiles))); err != nil {
		return err
	}
	if m.LogOdds() {
		return fault.Input("the outputs are log odds by the loss logistic, and a target is none: ask for " +
			"probabilities or, of classes, for sets of them")
	}
	return m.method(q)
}

// Intervals writes the predictions for the rows of x to F (t×n), and the ends of the intervals of targets to lo and hi
// (t×n, for quantiles t×n/q), by slabs of rows.
func (m *Model) Intervals(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	if err := m.intervals(&q, x.Rows); err != nil {
		return err
	}
	if m.In == nil {
		return fault.Input("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	if q.Method != JackknifePlus {
		return m.crossIntervals(ctx, F, lo, hi, x, q)
	}
	if err := m.Predict(ctx, F, x); err != nil {
		return err
	}
	if err := m.jackknife(ctx, F, lo, hi, x, q); err != nil {
		return err
	}
	include(lo, hi, F)
	return nil
}

// include widens intervals that do not hold the prediction, which loses no coverage.
func include(lo, hi, F blas.General) {
	for i := range F.Rows {
		a, b := blas.Row(lo, i), blas.Row(hi, i)
		for j, f := range blas.Row(F, i) {
			a[j], b[j] = min(a[j], f), max(b[j], f)
		}
	}
}

// inputs are training inputs as they were before they were scaled, to rounding.
func (m *Model) inputs(rows []int) blas.General {
	X := blas.NewGeneral(0, len(m.In.Names))
	if Z := m.Inputs(); Z.Rows > 0 {
		X = blas.TakeRows(Z, rows)
		if m.In.Scaler != nil {
			m.In.Scaler.Invert(X)
		}
	}
	return X
}

// PredictGramIntervals are Intervals from cross-Gram matrices, as for PredictGram.
func (m *Model) PredictGramIntervals(
	ctx context.Context, cross []blas.General, q Interval,
) (F, lo, hi blas.General, err error) {
	rows := 0
	if len(cross) > 0 {
		rows = cross[0].Rows
	}
	if err := m.intervals(&q, rows); err != nil {
		return F, lo, hi, err
	}
	if q.Method == JackknifePlus || q.Local {
		return F, lo, hi, fault.Input("a model of Gram matrices has intervals by %s, of widths that are not local",
			CVPlus)
	}
	if len(cross) != len(m.Eta) {
		return F, lo, hi, fault.Input("%d cross-Gram matrices for %d kernels: intervals take all of them", len(cross),
			len(m.Eta))
	}
	if F, err = m.PredictGram(cross); err != nil {
		return F, lo, hi, err
	}
	searches, err := m.searches(ctx, q, F.Rows)
	if err != nil {
		return F, lo, hi, err
	}
	by := m.sides(q.Level)
	lo, hi = blas.NewGeneral(F.Rows, F.Cols/by.each), blas.NewGeneral(F.Rows, F.Cols/by.each)
	predictions := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		if predictions[k], err = f.PredictGram(f.kept(m, cross)); err != nil {
			return F, lo, hi, err
		}
	}
	var scales []blas.General
	for range m.Folds {
		if q.weights.Data != nil {
			scale := blas.NewGeneral(F.Rows, F.Cols)
			blas.Fill(scale, 1)
			q.widen(scale, 0)
			scales = append(scales, scale)
		}
	}
	combine(by, F, lo, hi, searches, predictions, scales)
	return F, lo, hi, ctx.Err()
}

// kept are the columns of cross-Gram matrices that belong to the samples of the fold's model.
func (f *Fold) kept(m *Model, cross []blas.General) []blas.General {
	own := columns.Others(f.Rows, coefficients(m.Basis))
	part := make([]blas.General, len(cross))
	for j, K := range cross {
		part[j] = columns.Take(K, own)
	}
	return part
}

// HeldOut are training targets and what was predicted for them by models that had not seen them: those without a
// fold, or refits without each row, at the kernels, weights and L that all rows chose, where no folds are kept. A
// missing target is NaN. W are the weights, of cells or rows, without Data 1. folds is 0 for refits.
func (m *Model) HeldOut(ctx context.Context) (Y, F, W blas.General, folds int, err error) {
	if m.HasFolds() {
		Y, F, W = m.heldOutOfFolds()
		return Y, F, W, len(m.Folds), nil
	}
	n := len(m.Out.Names)
	r, err := m.LeaveOut(ctx)
	if err != nil {
		return Y, F, W, 0, err
	}
	R := r.Residuals.RawMatrix()
	Y, F = blas.NewGeneral(m.Y.Rows, n), blas.NewGeneral(m.Y.Rows, n)
	m.Out.Restore(Y, m.Y)
	for i, v := range Y.Data {
		F.Data[i] = v - R.Data[i]
	}
	return Y, F, W, 0, nil
}

// heldOutOfFolds are HeldOut of the folds.
func (m *Model) heldOutOfFolds() (Y, F, W blas.General) {
	for _, f := range m.Folds {
		Y, F = columns.Under(Y, f.Y), columns.Under(F, f.F)
		if f.W.Data != nil {
			W = columns.Under(W, f.W)
		}
	}
	return Y, F, W
}

package model

import (
	"cmp"
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
)

// The ways to intervals.
const (
	Split         = "held-out"   // around the prediction, by a quantile of held-out residuals
	CVPlus        = "cv+"        // by the models without each fold
	JackknifePlus = "jackknife+" // by refits without each row in closed form
	// Conformal is Split of two quantiles that the model predicts, with the score max(q_lo − y, y − q_hi) in the place
	// of a residual (Romano, Patterson, Candès, doi:10.48550/arXiv.1905.03222).
	Conformal = "conformal"
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
	mutex     sync.Mutex
	widths    map[compared][]float64 // of intervals around predictions
	exact     *known
	estimate  *known // by neighbours or random functions
	quadratic *Model
	held      *HeldOut // refits without each row, of a model that keeps no others
}

// compared is what widths depend on.
type compared struct {
	local, joint bool
	level        float64
}

// sides are the outputs of which intervals are made: of target j output each·j + low below and each·j + high above.
type sides struct{ each, low, high int }

// sides are those of intervals of the level: of quantiles the pair whose distance is nearest to it, of several such
// pairs the most symmetric one.
func (m *Model) sides(level float64) sides {
	tau := m.Out.Quantiles
	if tau == nil {
		return sides{each: 1}
	}
	s, best, skew := sides{each: len(tau)}, math.Inf(1), math.Inf(1)
	for a := range tau {
		for b := a + 1; b < len(tau); b++ {
			off, lean := math.Abs(tau[b]-tau[a]-level), math.Abs(tau[b]+tau[a]-1)
			const same = 1e-9 // of numbers that differ by rounding
			if off < best-same || off < best+same && lean < skew {
				s.low, s.high, best, skew = a, b, off, lean
			}
		}
	}
	return s
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

// ofRank is the least of some values at or below which there is so much of their masses, which have the mean 1; nil
// masses are 1 each.
func ofRank(values, masses []float64, rank int) float64 {
	if masses == nil {
		return order.Select(values, rank-1)
	}
	stat.SortWeighted(values, masses)
	const roundoff = 1e-9 // of sums of masses, relative
	var sum float64
	for i, w := range masses {
		if sum += w; sum >= float64(rank)-roundoff*float64(len(values)) {
			return values[i]
		}
	}
	return values[len(values)-1]
}

// meanOne scales masses to the mean 1; nil where W has no Data.
func meanOne(masses []float64, W blas.General) []float64 {
	if W.Data == nil {
		return nil
	}
	floats.Scale(float64(len(masses))/floats.Sum(masses), masses)
	return masses
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

// HasFolds reports whether the model can give intervals of CV+.
func (m *Model) HasFolds() bool { return len(m.Folds) > 0 }

// check completes q for intervals of the targets of so many rows.
func (m *Model) check(q *Interval, rows int) error {
	if err := q.weigh(rows, len(m.Out.Names)/max(1, len(m.Out.Quantiles))); err != nil {
		return err
	}
	if q.Level = cmp.Or(q.Level, defaults.IntervalLevel); !(q.Level > 0 && q.Level < 1) {
		return fault.Input("intervals of level %g: it must lie between 0 and 1", q.Level)
	}
	ways := []string{Split, CVPlus, JackknifePlus}
	if m.Out.Quantiles != nil {
		ways = []string{Conformal, JackknifePlus}
	}
	if err := fault.Choice("kind of interval", &q.Method, ways); err != nil {
		return err
	}
	switch {
	case m.Out.Quantiles != nil && len(m.Out.Quantiles) < 2:
		return fault.Input("intervals lie between two quantiles, and the model has the loss %s alone: fit it by "+
			"quantile:0.05,0.95 or another list", m.Out.Loss)
	case q.Method == CVPlus && !m.HasFolds():
		return fault.Input("the model keeps no models of folds: fit it with interval folds, or leave out %s", CVPlus)
	case m.In == nil && q.Local:
		return fault.Input("cross-Gram matrices do not say k(x,x), the variance before any row is known: a model of " +
			"Gram matrices has intervals of widths that are not local")
	}
	return nil
}

// Intervals writes the predictions for the rows of x to F (t×n), and the ends of the intervals of targets to lo and hi
// (t×n, for quantiles t×n/q), by slabs of rows.
func (m *Model) Intervals(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	if m.In == nil {
		return fault.Input("the model was fitted on Gram matrices: it predicts from cross-Gram matrices")
	}
	if err := m.check(&q, x.Rows); err != nil {
		return err
	}
	if err := m.Predict(ctx, F, x); err != nil {
		return err
	}
	way := m.around
	switch q.Method {
	case CVPlus:
		way = m.crossIntervals
	case JackknifePlus:
		way = m.jackknife
	}
	if err := way(ctx, F, lo, hi, x, q); err != nil {
		return err
	}
	if m.Out.Quantiles == nil && !m.LogOdds() {
		include(lo, hi, F)
	}
	return nil
}

// around are the intervals around the predictions F by the quantile of held-out residuals, in units of the deviation
// there where widths are local or the noise was learned. x has no rows for a model of Gram matrices.
func (m *Model) around(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	width, err := m.widths(ctx, q)
	if err != nil {
		return err
	}
	U := blas.NewGeneral(F.Rows, F.Cols)
	switch {
	case m.LogOdds(): // probabilities in the place of deviations
		blas.Copy(U, F)
		m.Out.Probabilities(U, m.Out.Calibration)
	case m.Spread != nil:
		if err = m.Spread.Deviations(ctx, U, x); err == nil && q.Local {
			S := blas.Like(U)
			err = m.Deviation(ctx, S, x)
			hypot(U, S)
		}
	case m.local(q):
		var k *known
		if k, err = m.uncertain(ctx); err == nil {
			err = m.deviations(ctx, k, U, x, nil)
		}
	}
	if err != nil {
		return err
	}
	by := m.sides(q.Level)
	for i := range F.Rows {
		f, a, b := blas.Row(F, i), blas.Row(lo, i), blas.Row(hi, i)
		for j, w := range width {
			if m.LogOdds() {
				a[j], b[j] = outcomes(U.Data[i*U.Stride+j], w)
				continue
			}
			w *= unit(U.Data[i*U.Stride+by.each*j], columns.WeightAt(q.weights, i, j), m.Spread != nil)
			a[j], b[j] = f[by.each*j+by.low]-w, f[by.each*j+by.high]+w
		}
	}
	if by.each > 1 {
		uncross(lo, hi)
	}
	return ctx.Err()
}

// widths are, of each target, the quantile of the scores of held-out rows in their units, by the weights of the rows.
func (m *Model) widths(ctx context.Context, q Interval) ([]float64, error) {
	key := compared{q.Local, q.Joint, q.Level}
	m.ends.mutex.Lock()
	width, ok := m.ends.widths[key]
	m.ends.mutex.Unlock()
	if ok {
		return width, nil
	}
	h, err := m.HeldOut(ctx)
	if err != nil {
		return nil, err
	}
	by := m.sides(q.Level)
	S := m.scores(h, by)
	U, err := m.units(ctx, h, q, S.Cols)
	if err != nil {
		return nil, err
	}
	for i, u := range U.Data {
		S.Data[i] /= u
	}
	if q.Joint {
		join([]blas.General{S})
	}
	for j := range S.Cols {
		values, masses := column(S, h.W, j, by.each*j)
		r, err := rank(q.Level, len(values))
		if err != nil {
			return nil, err
		}
		width = append(width, ofRank(values, meanOne(masses, h.W), r))
	}
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.widths == nil {
		m.ends.widths = map[compared][]float64{}
	}
	m.ends.widths[key] = width
	return width, nil
}

// column is the numbers of column j of S, and the weights of the rows in column k of W.
func column(S, W blas.General, j, k int) (values, masses []float64) {
	for i := range S.Rows {
		if v := S.Data[i*S.Stride+j]; !math.IsNaN(v) {
			values, masses = append(values, v), append(masses, columns.WeightAt(W, i, k))
		}
	}
	return values, masses
}

// uncross puts the middle for both ends where lo is above hi.
func uncross(lo, hi blas.General) {
	for i := range lo.Rows {
		a, b := blas.Row(lo, i), blas.Row(hi, i)
		for j := range a {
			if a[j] > b[j] {
				a[j] += (b[j] - a[j]) / 2
				b[j] = a[j]
			}
		}
	}
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
	if err := m.check(&q, rows); err != nil {
		return F, lo, hi, err
	}
	if F, err = m.PredictGram(cross); err != nil {
		return F, lo, hi, err
	}
	by := m.sides(q.Level)
	lo, hi = blas.NewGeneral(F.Rows, F.Cols/by.each), blas.NewGeneral(F.Rows, F.Cols/by.each)
	if q.Method != CVPlus {
		err = m.around(ctx, F, lo, hi, blas.General{}, q)
		return F, lo, hi, err
	}
	if len(cross) != len(m.Eta) {
		return F, lo, hi, fault.Input("%d cross-Gram matrices for %d kernels: intervals by %s take all of them",
			len(cross), len(m.Eta), CVPlus)
	}
	predictions := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		if predictions[k], err = f.PredictGram(f.kept(m, cross)); err != nil {
			return F, lo, hi, err
		}
	}
	err = m.combine(ctx, F, lo, hi, predictions, nil, 0, q)
	return F, lo, hi, err
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

// join puts in place of the residuals of a sample the largest of them, in units of the root mean square
// of the residuals of each output.
func join(sizes []blas.General) {
	n := sizes[0].Cols
	unit, count := make([]float64, n), make([]float64, n)
	for _, s := range sizes {
		for i := range s.Rows {
			for j, v := range blas.Row(s, i) {
				if !math.IsNaN(v) {
					unit[j] = math.Hypot(unit[j], v)
					count[j]++
				}
			}
		}
	}
	for j := range unit {
		unit[j] /= math.Sqrt(max(count[j], 1))
	}
	for _, s := range sizes {
		for i := range s.Rows {
			row, top := blas.Row(s, i), math.Inf(-1)
			for j, v := range row {
				if unit[j] > 0 && v > top*unit[j] { // false for NaN
					top = v / unit[j]
				}
			}
			for j, v := range row {
				if !math.IsNaN(v) && unit[j] > 0 {
					row[j] = top * unit[j]
				}
			}
		}
	}
}

// Deviations writes the standard deviations exp(f/2) to dst (t×n), f being what m predicts for the rows of x: the
// logarithm of the variance.
func (m *Model) Deviations(ctx context.Context, dst, x blas.General) error {
	err := m.Predict(ctx, dst, x)
	Deviations(dst)
	return err
}

// Deviations turns logarithms of variances into standard deviations, in place.
func Deviations(a blas.General) {
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j, v := range row {
			row[j] = math.Exp(v / 2)
		}
	}
}

// hypot writes √(a² + b²) to a.
func hypot(a, b blas.General) {
	for i, v := range b.Data {
		a.Data[i] = math.Hypot(a.Data[i], v)
	}
}

// local reports whether widths are in proportion to deviations: those between quantiles vary by themselves, and of
// targets 0 and 1 there is no width but 1.
func (m *Model) local(q Interval) bool { return q.Local && m.Out.Quantiles == nil && !m.LogOdds() }

// This file makes intervals of CV+, also of the quantiles that a model predicts, and of noise that varies with inputs.

package model

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
)

// Conformal are intervals from two quantiles that the model predicts, conformalised (Romano, Patterson, Candès,
// doi:10.48550/arXiv.1905.03222) by CV+: their ends are those of CV+ of these quantiles, with the score
// max(q_lo − y, y − q_hi) in the place of a residual.
const Conformal = "conformal"

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

// conformal checks intervals of quantiles.
func (m *Model) conformal(q *Interval) error {
	if err := fault.Choice("kind of interval of quantiles", &q.Method, []string{Conformal}); err != nil {
		return err
	}
	switch {
	case len(m.Out.Quantiles) < 2:
		return fault.Input("intervals lie between two quantiles, and the model has the loss %s alone: fit it by "+
			"quantile:0.05,0.95 or another list", m.Out.Loss)
	case q.Local:
		return fault.Input("intervals between quantiles have widths of their own: leave out local widths")
	case !m.HasFolds():
		return fault.Input("the model keeps no models of folds: fit it with interval folds")
	}
	return nil
}

// FoldOf is the fold of m in which part, a model of the other rows, predicts the given ones.
func (m *Model) FoldOf(ctx context.Context, part *Model, rows []int) (Fold, error) {
	f := Fold{Model: part.Compact(), Rows: rows}
	f.Warnings = nil
	f.Y, f.F = blas.NewGeneral(len(rows), len(m.Out.Names)), blas.NewGeneral(len(rows), len(m.Out.Names))
	m.Out.Restore(f.Y, blas.TakeRows(m.Y, rows))
	return f, f.Predict(ctx, f.F, m.inputs(rows))
}

// scores are max(q_lo − y, y − q_hi) of the samples left out of a fold, a column for each target.
func (f *Fold) scores(s sides) blas.General {
	S := blas.NewGeneral(f.F.Rows, f.F.Cols/s.each)
	for i := range S.Rows {
		row, p, y := blas.Row(S, i), blas.Row(f.F, i), blas.Row(f.Y, i)
		for j := range row {
			at := s.each * j
			row[j] = max(p[at+s.low]-y[at], y[at]-p[at+s.high]) // NaN where y is
		}
	}
	return S
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

// blockRows is how many new points CV+ takes at a time: loading each model into the caches costs little beside them.
const blockRows = 4 * SlabRows

// crossIntervals are those of CV+.
func (m *Model) crossIntervals(ctx context.Context, F, lo, hi, x blas.General, q Interval) error {
	searches, err := m.searches(ctx, q, x.Rows)
	if err != nil {
		return err
	}
	own, err := m.predictor(x)
	if err != nil {
		return err
	}
	folds := make([]*predictor, len(m.Folds))
	for k, f := range m.Folds {
		if folds[k], err = f.predictor(x); err != nil {
			return err
		}
	}
	type scratch struct{ predictions, scales []blas.General }
	var free par.Free[scratch]
	fail := make([]error, (x.Rows+blockRows-1)/blockRows)
	block := func(from, rows int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := free.Get()
		if s == nil {
			s = &scratch{predictions: make([]blas.General, len(folds))}
			if m.scaled(q) || q.weights.Data != nil {
				s.scales = make([]blas.General, len(folds))
			}
		}
		defer free.Put(s)
		view := func(a blas.General) blas.General { return blas.View(a, from, 0, rows, a.Cols) }
		if err := own.predict(view(F), view(x), from); err != nil {
			return err
		}
		for k, f := range folds {
			s.predictions[k] = blas.Reshape(s.predictions[k], rows, F.Cols)
			if err := f.predict(s.predictions[k], view(x), from); err != nil {
				return err
			}
			if s.scales == nil {
				continue
			}
			s.scales[k] = blas.Reshape(s.scales[k], rows, F.Cols)
			if blas.Fill(s.scales[k], 1); m.scaled(q) {
				if err := m.foldWidths(ctx, k, s.scales[k], view(x)); err != nil {
					return err
				}
			}
			q.widen(s.scales[k], from)
		}
		combine(m.sides(q.Level), view(F), view(lo), view(hi), searches, s.predictions, s.scales)
		return nil
	}
	par.Ranges(x.Rows, blockRows, func(from, to int) { fail[from/blockRows] = block(from, to-from) })
	return cmp.Or(fail...)
}

// combine makes the intervals of CV+ of the predictions F, those of the folds, and what the residuals of these are
// multiplied by, if scales is not nil.
func combine(by sides, F, lo, hi blas.General, searches []search, predictions, scales []blas.General) {
	at := make([]place, len(predictions))
	for k := range at {
		at[k].scale, at[k].inverse = 1, 1
	}
	for j := range searches {
		s, below, above := &searches[j], by.each*j+by.low, by.each*j+by.high
		for i := range F.Rows {
			for k, P := range predictions {
				at[k].shift = P.Data[i*P.Stride+above]
			}
			for k, S := range scales {
				at[k].scale = S.Data[i*S.Stride+j]
				at[k].inverse = 1 / at[k].scale
			}
			hi.Data[i*hi.Stride+j] = s.find(at)
			for k, P := range predictions {
				at[k].shift = -P.Data[i*P.Stride+below]
			}
			lo.Data[i*lo.Stride+j] = -s.find(at)
		}
	}
	if by.each > 1 {
		uncross(lo, hi)
		return
	}
	include(lo, hi, F)
}

// searches find the ends of the intervals of each output, for so many rows.
func (m *Model) searches(ctx context.Context, q Interval, rows int) ([]search, error) {
	lists, err := m.sorted(ctx, q)
	if err != nil {
		return nil, err
	}
	searches, fail := make([]search, len(lists)), make([]error, len(lists))
	par.For(len(lists), func(j int) {
		var r int
		if r, fail[j] = rank(q.Level, lists[j].count); fail[j] == nil {
			searches[j] = newSearch(lists[j].folds, r, rows)
		}
	})
	return searches, cmp.Or(fail...)
}

// sorted are the residuals of each target, as q compares them.
func (m *Model) sorted(ctx context.Context, q Interval) ([]residuals, error) {
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	key, by := compared{local: q.Local, joint: q.Joint}, m.sides(q.Level)
	if by.each > 1 {
		key.level = q.Level
	}
	if lists, ok := m.ends.lists[key]; ok {
		return lists, nil
	}
	sizes := make([]blas.General, len(m.Folds))
	for k, f := range m.Folds {
		sizes[k] = f.scores(by)
		for i := range sizes[k].Rows { // of errors whose variance is in proportion to 1/w
			row := blas.Row(sizes[k], i)
			for j := range row {
				row[j] *= math.Sqrt(columns.WeightAt(f.W, i, by.each*j))
			}
		}
		if m.scaled(q) {
			w, err := m.heldOutWidths(ctx, k)
			if err != nil {
				return nil, err
			}
			floats.Div(sizes[k].Data, w.Data)
		}
	}
	if q.Joint {
		join(sizes)
	}
	lists := make([]residuals, len(m.Out.Names)/by.each)
	for j := range lists {
		values, masses := make([][]float64, len(sizes)), make([][]float64, len(sizes))
		for k, s := range sizes {
			for i := range s.Rows {
				if v := s.Data[i*s.Stride+j]; !math.IsNaN(v) {
					values[k] = append(values[k], v)
					masses[k] = append(masses[k], columns.WeightAt(m.Folds[k].W, i, by.each*j))
				}
			}
			lists[j].count += len(values[k])
		}
		for k, w := range m.masses(masses) {
			lists[j].folds = append(lists[j].folds, stepped(values[k], w))
		}
	}
	if m.ends.lists == nil {
		m.ends.lists = map[compared][]residuals{}
	}
	m.ends.lists[key] = lists
	return lists, nil
}

// masses are the weights of samples left out, a list for each fold, times one number that makes their mean 1; nil lists
// where the model has no weights.
func (m *Model) masses(folds [][]float64) [][]float64 {
	weighted := slices.ContainsFunc(m.Folds, func(f Fold) bool { return f.W.Data != nil })
	all := slices.Concat(folds...)
	for k := range folds {
		if !weighted {
			folds[k] = nil
		}
		blas.Scal(float64(len(all))/floats.Sum(all), folds[k])
	}
	return folds
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

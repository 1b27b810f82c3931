// This file makes intervals of the quantiles that a model predicts.

package model

import (
	"math"

	"github.com/iokl/iokl/blas"
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

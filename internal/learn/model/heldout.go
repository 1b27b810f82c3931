package model

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
)

// HeldOutRows is the number of rows, at most, whose held-out predictions a model keeps. Of a share p of new targets,
// so many rows tell √(p(1−p)/20000), .35 % at most.
const HeldOutRows = 20000

// HeldOutNumbers is how many numbers the predictions take that a choice of settings keeps, 128 MiB.
const HeldOutNumbers = 1 << 24

// HeldOut is training rows beside what was predicted for them without them, in the units of the data.
type HeldOut struct {
	Rows []int        // numbers of the rows among those of the fit, ascending
	Y, F blas.General // targets, NaN where missing, and predictions, a column for each output
	W    blas.General // weights of Y, by cells or rows; without Data 1
	D    blas.General // deviations of the noise, where that was learned, as told without the rows; else without Data
	// inputs as the kernels see them, of models that keep no other rows; else without Data
	X blas.General
	// Folds is the number of parts without each of which was predicted; 0 where it was without each row alone.
	Folds int
}

// Join is the held-out rows of folds, in their order, at most HeldOutRows of them drawn by the seed; nil for no folds.
func Join(folds []Fold, seed uint64) *HeldOut {
	if len(folds) == 0 {
		return nil
	}
	h := &HeldOut{Folds: len(folds)}
	for _, f := range folds {
		h.Rows = append(h.Rows, f.Rows...)
		h.Y, h.F = columns.Under(h.Y, f.Y), columns.Under(h.F, f.F)
		if f.W.Data != nil {
			h.W = columns.Under(h.W, f.W)
		}
	}
	order := make([]int, len(h.Rows))
	for i := range order {
		order[i] = i
	}
	if len(order) > HeldOutRows {
		order = rand.New(rand.NewPCG(seed, uint64(len(order)))).Perm(len(order))[:HeldOutRows]
	}
	slices.SortFunc(order, func(a, b int) int { return h.Rows[a] - h.Rows[b] })
	return h.take(order)
}

// take is the rows of these places.
func (h *HeldOut) take(places []int) *HeldOut {
	some := &HeldOut{Folds: h.Folds}
	if h.Rows != nil {
		some.Rows = columns.Pick(h.Rows, places)
	}
	for _, a := range []struct{ from, to *blas.General }{
		{&h.Y, &some.Y}, {&h.F, &some.F}, {&h.W, &some.W}, {&h.D, &some.D}, {&h.X, &some.X},
	} {
		if a.from.Data != nil {
			*a.to = blas.TakeRows(*a.from, places)
		}
	}
	return some
}

// HoldMeans makes the held-out predictions of these targets what the model predicts without kernels.
func (m *Model) HoldMeans(targets []int) {
	f := blas.NewGeneral(1, len(m.Out.Names))
	m.Out.Restore(f, blas.NewGeneral(1, len(m.Out.Live)))
	for _, j := range m.Out.OfTargets(targets) {
		blas.Fill(blas.View(m.Held.F, 0, j, m.Held.F.Rows, 1), f.Data[j])
	}
}

// HeldOut is what the model keeps of held-out predictions or, where it keeps none, refits without each row, at the
// kernels, weights and L that all rows chose.
func (m *Model) HeldOut(ctx context.Context) (*HeldOut, error) {
	if m.Held != nil {
		return m.Held, nil
	}
	if m.Out.Loss != "" {
		return nil, fault.Input("the fit has kept no held-out predictions, and there is no closed form of them for "+
			"the loss %s", m.Out.Loss)
	}
	c, err := m.withTargets(m.uncertain(ctx))
	if err != nil {
		return nil, err
	}
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.held == nil {
		m.ends.held = c.heldOut(m)
	}
	return m.ends.held, nil
}

// scores are, of each target of held-out rows, |y − f|, of quantiles max(q_lo − y, y − q_hi), and of targets 0 and 1
// one less the probability of y; NaN where y is.
func (m *Model) scores(h *HeldOut, s sides) blas.General {
	if !m.LogOdds() {
		return scores(h.F, h.Y, s)
	}
	S := blas.Clone(h.F)
	m.Out.Probabilities(S, m.Out.Calibration)
	for i, y := range h.Y.Data {
		S.Data[i] = math.Abs(y - S.Data[i])
	}
	return S
}

// outcomes are the least and the largest of the targets 0 and 1 whose score is at most that given where p is the
// probability of 1, the likelier one among them.
func outcomes(p, most float64) (lo, hi float64) {
	if p > most && p >= .5 {
		lo = 1
	}
	if 1-p <= most || p >= .5 {
		hi = 1
	}
	return lo, hi
}

// scores are, of each target, |y − f| or, of quantiles, max(q_lo − y, y − q_hi); NaN where y is.
func scores(F, Y blas.General, s sides) blas.General {
	S := blas.NewGeneral(F.Rows, F.Cols/s.each)
	for i := range S.Rows {
		row, p, y := blas.Row(S, i), blas.Row(F, i), blas.Row(Y, i)
		for j := range row {
			at := s.each * j
			row[j] = max(p[at+s.low]-y[at], y[at]-p[at+s.high])
		}
	}
	return S
}

// units are what the scores of held-out rows are in proportion to, a column for each of n targets: 1/√w, the deviation
// of the noise where that was learned, or with local widths that of a new target.
func (m *Model) units(ctx context.Context, h *HeldOut, q Interval, n int) (blas.General, error) {
	U := blas.NewGeneral(h.Y.Rows, n)
	each := h.Y.Cols / n
	switch {
	case m.Spread != nil:
		D, err := m.noiseOf(ctx, h)
		if err != nil {
			return U, err
		}
		if blas.Copy(U, D); q.Local {
			k, err := m.withNoise(ctx)
			if err != nil {
				return U, err
			}
			S := blas.Like(U)
			if err := m.deviationsWithout(ctx, S, h); err != nil {
				return U, err
			}
			for at, j := range m.Out.Live {
				for i := range S.Rows {
					S.Data[i*S.Stride+j] *= k.sigma[at] * m.unit(j)
				}
			}
			hypot(U, S)
		}
	case m.local(q):
		if err := m.deviationsWithout(ctx, U, h); err != nil {
			return U, err
		}
	}
	for i := range U.Rows {
		row := blas.Row(U, i)
		for j, v := range row {
			row[j] = unit(v, columns.WeightAt(h.W, i, each*j), m.Spread != nil)
		}
	}
	return U, nil
}

// unit is the deviation of a new target of weight w for noise 1, where the function has the deviation v there; where
// the noise was learned, v is that of the noise.
func unit(v, w float64, learned bool) float64 {
	if learned {
		return v / math.Sqrt(w)
	}
	return math.Hypot(v, 1/math.Sqrt(w))
}

// noiseOf is the deviations of the noise at held-out rows.
func (m *Model) noiseOf(ctx context.Context, h *HeldOut) (blas.General, error) {
	if h.D.Data != nil {
		return h.D, nil
	}
	D := blas.NewGeneral(h.Y.Rows, h.Y.Cols)
	return D, m.Spread.Deviations(ctx, D, m.inputs(h.Rows))
}

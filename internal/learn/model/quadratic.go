package model

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/loss"
)

// leastCurvature stands for that of the loss where it has none, relative to that of squares: the target then counts by
// its slope alone.
const leastCurvature = 1e-6

// quadratic is the model whose squared errors have the slopes and the curvatures of the loss of m at its predictions
// f: of the targets f − φ'/φ” with the weights w·φ”/2. Its posterior is that of Laplace's approximation, and its
// refits without a row are one Newton step from m.
func (m *Model) quadratic(ctx context.Context) (*Model, error) {
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.quadratic != nil {
		return m.ends.quadratic, nil
	}
	losses, err := loss.Parse(m.Out.Loss)
	b := m.oneL()
	switch {
	case err != nil:
		return nil, fault.From(err)
	case losses[0].Kind == loss.Quantile:
		return nil, fault.Input("the loss of quantiles has no curvature: no Gaussian process describes what rows " +
			"leave open, and no Newton step what a row changes")
	case b == nil || b.Z.Data == nil || m.Y.Rows == 0 || !(m.Mu > 0):
		return nil, m.noClosed()
	}
	evaluate, err := b.evaluator()
	if err != nil {
		return nil, err
	}
	Y, W := blas.Like(m.Y), blas.Like(m.Y) // F at first
	for at := 0; at < Y.Rows; at += SlabRows {
		rows := min(SlabRows, Y.Rows-at)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := evaluate(blas.View(Y, at, 0, rows, Y.Cols), blas.View(b.Z, at, 0, rows, b.Z.Cols)); err != nil {
			return nil, err
		}
	}
	for i := range Y.Rows {
		row, w := blas.Row(Y, i), blas.Row(W, i)
		for k, f := range row {
			y := m.Y.Data[i*m.Y.Stride+k]
			mean, scale := 0., 1.
			if s := m.Out.Scaler; s != nil {
				mean, scale = s.Mean[m.Out.Live[k]], s.Scale[m.Out.Live[k]]
			}
			slope, curvature := losses[0].Slope((y-mean)/scale, f)
			if m.LogOdds() {
				slope, curvature = losses[0].Slope(y, f*scale+mean)
				slope, curvature = slope*scale, curvature*scale*scale
			}
			curvature = max(curvature, 2*leastCurvature)
			row[k], w[k] = f+slope/curvature, columns.WeightAt(m.W, i, k)*curvature/2
			if math.IsNaN(y) {
				row[k], w[k] = y, 1
			}
		}
	}
	q, out := m.Compact(), *m.Out
	out.Loss, out.Quantiles = "", nil
	q.Out, q.Mu, q.Held, q.Folds, q.Estimate = &out, m.Mu, nil, nil, nil
	q.Y, q.W = Y, W
	m.ends.quadratic = q
	return q, nil
}

// laplace is the posterior of m by its quadratic model, from exact or uncertain.
func (m *Model) laplace(ctx context.Context, of func(*Model, context.Context) (*known, error)) (*known, error) {
	q, err := m.quadratic(ctx)
	if err != nil {
		return nil, err
	}
	k, err := of(q, ctx)
	if err != nil || !m.LogOdds() || k.sigma == nil {
		return k, err
	}
	logistic := *k // the variance of the noise is 1/φ'', half of 1/w
	logistic.sigma = slices.Repeat([]float64{math.Sqrt2 / 2}, len(k.sigma))
	return &logistic, nil
}

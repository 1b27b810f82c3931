// This file has what one decomposition of K_η tells about a model: deviations, influences, and refits without each row.

package model

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// closed is what closed forms tell about a model at its η, L and μ, from one decomposition of K_η
// (mathematics.md §13). Everything is in the units that the outputs were learned in.
type closed struct {
	lo    *sylvester.LeaveOut
	near  *neighbours // in place of lo, for models of many rows; R and D are then of some rows
	paths *paths      // in place of lo, where cells are missing or have weights; without R and D
	cross *kernel.Crossing
	l     int // rows of the training inputs

	R, D  blas.General // residuals without each row, and their deviations for noise 1, l×live; of the model with Y
	sigma []float64    // standard deviation of the noise of each live output; nil without Y
	means []int        // live outputs that the model predicts without kernels, see UseMeans
}

// derive returns the closed forms of the model, which it keeps.
func (m *Model) derive(ctx context.Context) (*closed, error) {
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.closed != nil {
		return m.ends.closed, nil
	}
	b, ok := m.Basis.(*Samples)
	switch {
	case ok && b.L != nil:
		return nil, fault.Input("closed forms for single rows are for one output kernel, and this model has one for " +
			"each kernel: use cv+")
	case !ok || b.Z.Data == nil:
		return nil, fault.Input("closed forms for single rows need the training inputs and one L, which a model of "+
			"kind %s does not keep", m.Basis.kind())
	case m.W.Data != nil:
		return nil, fault.Input("there are no closed forms for single rows of this model: %s: use cv+", m.Lacks())
	case !(m.Mu > 0):
		return nil, m.noClosed()
	}
	c := &closed{l: b.Z.Rows}
	var err error
	if c.cross, err = b.dict.Crossing(b.eta, b.Z, b.be); err != nil {
		return nil, fault.From(err)
	}
	l := float64(b.Z.Rows)
	if err := memory.Check("closed forms for single rows", 40*l*l, "use cv+, or a model of fewer rows"); err != nil {
		return nil, err
	}
	K := blas.NewGeneral(b.Z.Rows, b.Z.Rows)
	if err := c.cross.Sum(K, b.Z); err != nil {
		return nil, fault.From(err)
	}
	dec, err := sylvester.Decompose(ctx, linop.NewDense(K, b.be), b.be)
	if err != nil {
		return nil, err
	}
	Y, known := m.Y, m.AllTargets()
	if !known {
		Y = blas.NewGeneral(b.Z.Rows, m.L.Dim())
	}
	c.lo = sylvester.NewLeaveOut(dec.Clip(), b.be)
	if err := c.lo.Use(m.L, Y); err != nil {
		return nil, err
	}
	if err := c.lo.At(blas.General{}, m.Mu); err != nil {
		return nil, err
	}
	c.means = b.silent()
	if known {
		c.R, c.D = blas.NewGeneral(Y.Rows, Y.Cols), blas.NewGeneral(Y.Rows, Y.Cols)
		c.lo.Residuals(c.R)
		c.lo.Deviations(c.D)
		for _, k := range c.means {
			blas.Copy(blas.View(c.R, 0, k, c.l, 1), blas.View(Y, 0, k, c.l, 1))
			blas.Fill(blas.View(c.D, 0, k, c.l, 1), 1)
		}
		c.noise()
	}
	m.ends.closed = c
	return c, nil
}

// rest makes the columns 0 of the outputs that the model predicts without kernels.
func (c *closed) rest(a blas.General) {
	for _, k := range c.means {
		blas.Fill(blas.View(a, 0, k, a.Rows, 1), 0)
	}
}

// noClosed says why there are no closed forms.
func (m *Model) noClosed() error {
	return fault.Input("there are no closed forms for single rows of this model: %s", m.Lacks())
}

// withTargets refuses a model without targets.
func (m *Model) withTargets(c *closed, err error) (*closed, error) {
	if err == nil && c.sigma == nil {
		err = m.noClosed()
	}
	return c, err
}

// noise estimates σ_k² as the mean of the squared residuals in units of their deviation for noise 1.
func (c *closed) noise() {
	c.sigma = make([]float64, c.R.Cols)
	for i := range c.R.Rows {
		d := blas.Row(c.D, i)
		for k, r := range blas.Row(c.R, i) {
			c.sigma[k] += (r / d[k]) * (r / d[k]) / float64(c.R.Rows)
		}
	}
	for k, v := range c.sigma {
		c.sigma[k] = math.Sqrt(v)
	}
}

// slabs calls f for so many rows of x at a time, with the inputs as kernels see them.
func (m *Model) slabs(ctx context.Context, x blas.General, rows int, f func(at int, Z blas.General) error) error {
	if err := m.In.CheckWidth(x); err != nil {
		return err
	}
	for at := 0; at < x.Rows; at += rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		Z := blas.Clone(blas.View(x, at, 0, min(rows, x.Rows-at), x.Cols))
		if err := m.In.Scale(Z, at, nil); err != nil {
			return err
		}
		if err := f(at, Z); err != nil {
			return err
		}
	}
	return nil
}

// deviation writes to dst (t×live) the posterior deviation at the rows of Z for noise 1.
func (c *closed) deviation(ctx context.Context, dst, Z blas.General) error {
	defer c.rest(dst)
	if c.near != nil {
		return c.near.each(ctx, Z, nil, func(at int, v blas.General) {
			c.near.outputs(blas.View(dst, at, 0, v.Rows, dst.Cols), v)
		})
	}
	KX, kxx := blas.NewGeneral(Z.Rows, c.l), make([]float64, Z.Rows)
	if err := cmp.Or(c.cross.Sum(KX, Z), c.cross.Diagonal(kxx, Z)); err != nil {
		return fault.From(err)
	}
	if c.paths != nil {
		return c.paths.deviation(ctx, dst, KX, kxx)
	}
	c.lo.Deviation(dst, KX, kxx)
	return nil
}

// widths writes to dst (t×n) √(1 + var f(x)) for noise 1 at the rows of x, 1 for outputs that are constant.
func (m *Model) widths(ctx context.Context, dst, x blas.General) error {
	c, err := m.uncertain(ctx)
	if err != nil {
		return err
	}
	return m.slabs(ctx, x, SlabRows, func(at int, Z blas.General) error {
		D := blas.NewGeneral(Z.Rows, len(m.Out.Live))
		if err := c.deviation(ctx, D, Z); err != nil {
			return err
		}
		for i := range Z.Rows {
			row := blas.Row(dst, at+i)
			for j := range row {
				row[j] = 1
			}
			for k, j := range m.Out.Live {
				row[j] = math.Hypot(1, D.Data[i*D.Stride+k])
			}
		}
		return nil
	})
}

// Deviation writes to dst (t×n) the posterior standard deviation of every output at the rows
// of x, in the units of the targets: that of the Gaussian process with covariance (σ²/μ)·K_η⊗L and
// noise of variance σ², σ² from the residuals of each output without each row. It is
// 0 for outputs that are constant. The noise is not part of it.
func (m *Model) Deviation(ctx context.Context, dst, x blas.General) error {
	if m.In == nil {
		return fault.Input("a model of Gram matrices has no deviations")
	}
	c, err := m.withTargets(m.uncertain(ctx))
	if err != nil {
		return err
	}
	return m.slabs(ctx, x, SlabRows, func(at int, Z blas.General) error {
		D := blas.NewGeneral(Z.Rows, len(m.Out.Live))
		if err := c.deviation(ctx, D, Z); err != nil {
			return err
		}
		m.targets(blas.View(dst, at, 0, Z.Rows, dst.Cols), D, c.sigma)
		return nil
	})
}

// Noise is the standard deviation of the noise of every output, in the units of the targets, that Deviation is for;
// 0 for outputs that are constant.
func (m *Model) Noise(ctx context.Context) ([]float64, error) {
	if m.In == nil {
		return nil, fault.Input("a model of Gram matrices has no deviations")
	}
	c, err := m.withTargets(m.uncertain(ctx))
	if err != nil {
		return nil, err
	}
	sigma := make([]float64, len(m.Out.Names))
	for k, j := range m.Out.Live {
		sigma[j] = m.unit(j) * c.sigma[k]
	}
	return sigma, nil
}

// Distances writes to dst the distance of each row of x from the nearest training row, both as kernels see them.
func (m *Model) Distances(ctx context.Context, dst []float64, x blas.General) error {
	X := m.Inputs()
	if X.Rows == 0 {
		return fault.Input("the model does not keep its training inputs")
	}
	return m.slabs(ctx, x, SlabRows, func(at int, Z blas.General) error {
		par.For(Z.Rows, func(i int) {
			least := math.Inf(1)
			for k := range X.Rows {
				least = min(least, floats.Distance(blas.Row(Z, i), blas.Row(X, k), 2))
			}
			dst[at+i] = least
		})
		return nil
	})
}

// unit is what a learned output is multiplied by to have the unit of target j.
func (m *Model) unit(j int) float64 {
	if m.Out.Scaler == nil {
		return 1
	}
	return m.Out.Scaler.Scale[j]
}

// Influence writes to dst (l×n) f(x) − f₋ᵢ(x) for every training row i: what the row changes in the prediction for
// x (1×d), in the units of the targets, at the kernels, weights and L of the model.
func (m *Model) Influence(ctx context.Context, dst, x blas.General) error {
	c, err := m.withTargets(m.derive(ctx))
	if err != nil {
		return err
	}
	return m.slabs(ctx, x, 1, func(_ int, Z blas.General) error {
		W, U, moved := blas.NewGeneral(1, c.l), blas.NewGeneral(m.L.Rank(), c.l), blas.NewGeneral(c.l, c.R.Cols)
		if err := c.cross.Sum(W, Z); err != nil {
			return fault.From(err)
		}
		c.lo.Smoothers(U, W)
		c.lo.Changes(moved, U, 0)
		c.rest(moved)
		m.targets(dst, moved, nil)
		return nil
	})
}

// targets writes A (l×live) times the units of the targets to dst (l×n), 0 for outputs that are
// constant. unit scales the columns of A beside, where it is not nil.
func (m *Model) targets(dst, A blas.General, unit []float64) {
	blas.Zero(dst)
	for k, j := range m.Out.Live {
		u := m.unit(j)
		if unit != nil {
			u *= unit[k]
		}
		for i := range A.Rows {
			dst.Data[i*dst.Stride+j] = u * A.Data[i*A.Stride+k]
		}
	}
}

// LeftOut is what refits without each training row tell, at the kernels, weights and L of the model (l×n each).
type LeftOut struct {
	Residuals  *mat.Dense // target less the prediction without the row
	Deviations *mat.Dense // their standard deviations in the Gaussian process of Deviation, the noise counted
	Leverages  *mat.Dense // derivative of the fitted value by its target, between 0 and 1
	Freedom    float64    // effective degrees of freedom, the sum of the leverages
}

// LeaveOut are the residuals of refits without each row.
func (m *Model) LeaveOut(ctx context.Context) (*LeftOut, error) {
	c, err := m.withTargets(m.derive(ctx))
	if err != nil {
		return nil, err
	}
	n := len(m.Out.Names)
	r := &LeftOut{mat.NewDense(c.l, n, nil), mat.NewDense(c.l, n, nil), mat.NewDense(c.l, n, nil), 0}
	m.targets(r.Residuals.RawMatrix(), c.R, nil)
	m.targets(r.Deviations.RawMatrix(), c.D, c.sigma)
	H := blas.NewGeneral(c.l, c.R.Cols)
	c.lo.Leverages(H)
	c.rest(H)
	for i := range H.Rows {
		for k, j := range m.Out.Live {
			r.Leverages.Set(i, j, H.Data[i*H.Stride+k])
			r.Freedom += H.Data[i*H.Stride+k]
		}
	}
	return r, nil
}

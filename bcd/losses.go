// This file is the problem in sample space for losses other than the squared one.

package bcd

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/semismooth"
	"github.com/iokl/iokl/sylvester"
)

// NewLoss is [NewWeighted] for the loss (1/l)Σ w_ij·φ(Y_ij, F_ij). The unknown is C, and with u = 2μC, v = u/w,
//
//	Σ w·φ(Y, F) + μ·tr(CᵀK_ηCL)  ≥  l·min  ≥  Σ w·ψ*(v) − μ·tr(CᵀK_ηCL)
//
// for every C whose v lies in the box of the loss, which every C here does (mathematics.md §15). C is linear in the
// lower bound's kernels and L, so that derivatives, certificates and methods are those of the squared loss.
// Column j of the predictions is that of F and the number offset_j, nil for 0; it takes the logistic loss alone, since
// other losses are those of Y − offset.
// The solvers paper and okl, whose L step is that of the squared loss, do not take others.
func NewLoss(K linop.Sum, Y, W blas.General, l loss.Loss, offset []float64) Space {
	if l.Kind == loss.Squared {
		return NewWeighted(K, Y, W)
	}
	s := &samples{K: K, Y: Y, rows: Y.Rows, unit: 1, loss: loss.Cells{Loss: l, Offset: offset}}
	if s.bad = checkCellWeights(Y, W); s.bad == nil {
		if s.bad = l.Check(); s.bad != nil {
			s.bad = fmt.Errorf("%w: %w", ErrInput, s.bad)
		}
	}
	if s.bad == nil && offset != nil && (l.Kind != loss.Logistic || len(offset) != Y.Cols) {
		s.bad = fmt.Errorf("%w: %d offsets for %d outputs and the loss %s", ErrInput, len(offset), Y.Cols, l)
	}
	if s.bad != nil {
		return s
	}
	s.rows, s.Y = 0, blas.Like(Y)
	s.loss.Y, s.loss.W = s.Y, blas.Like(Y)
	for i := range Y.Rows {
		observed := false
		for j, y := range blas.Row(Y, i) {
			if math.IsNaN(y) {
				continue
			}
			observed = true
			w := weightAt(W, i, j)
			if err := l.CheckTarget(y); err != nil && w > 0 {
				s.bad = fmt.Errorf("%w: row %d, column %d: %w", ErrInput, i, j, err)
				return s
			}
			blas.Row(s.loss.W, i)[j] = w
			if w > 0 {
				blas.Row(s.Y, i)[j] = y
				s.yy += w * l.Value(y, s.loss.OffsetAt(j))
			}
		}
		if observed {
			s.rows++
		}
	}
	s.loss.Zero = s.yy
	s.cells = linop.NewCells(Y.Rows, Y.Cols, func(i, j int) bool { return s.loss.W.Data[i*Y.Cols+j] > 0 })
	return s
}

// convex reports whether the loss is not the squared one.
func (s *samples) convex() bool { return s != nil && s.loss.Kind != loss.Squared }

// LossStep is the C step of the product model by losses other than the squared one. It keeps factors of its systems and
// how far kinks are rounded for the next fit.
type LossStep struct {
	newton  semismooth.Newton
	systems *sylvester.Reweighted
}

// NewLossStep returns a C step that has kept nothing.
func NewLossStep(cfg sylvester.Config) *LossStep {
	return &LossStep{systems: sylvester.NewReweighted(cfg)}
}

// kinked reports whether the loss has kinks that its coefficients are found without.
func (s *samples) kinked() bool { return s != nil && s.loss.Kind == loss.Quantile }

// hold makes the loss that is minimised and certified the one that the last C step has rounded, or the one given.
func (s *samples) hold(on bool) {
	if s != nil {
		s.held = on
	}
}

// rounded reports whether a rounded loss is minimised and certified.
func (s *samples) rounded() bool { return s != nil && s.held }

// minimized is the loss of the cells that the certificate is of: as given or, while held, rounded.
func (s *samples) minimized() *loss.Cells {
	if s.held {
		return &s.loss
	}
	return s.loss.Exact()
}

// dualAt is the lower side of the certificate at multiples of C.
func (s *samples) dualAt(m *measures, cells *loss.Cells, C blas.General, mu float64) *dual {
	d := &dual{most: math.Inf(1)}
	var square, cross, center float64 // Σw·v², Σw·v·v⁰ and Σw·(v⁰)²
	cells.Each(func(at int, y, w float64) {
		lo, hi := cells.Box(y)
		v := 2 * mu * C.Data[at] / w
		switch {
		case v > 0:
			d.most = math.Min(d.most, hi/v)
		case v < 0:
			d.most = math.Min(d.most, lo/v)
		}
		if cells.Kappa > 0 {
			v0 := cells.Center.Data[at]
			square, cross, center = square+w*v*v, cross+w*v*v0, center+w*v0*v0
		}
	})
	d.most = math.Max(d.most, 1) // below by rounding
	yc, cc, half := m.yc, mu*m.cc, cells.Kappa/(2*mu)
	switch cells.Kind {
	case loss.Huber:
		d.value = func(scale float64) float64 { return scale * (2*yc - scale*cc) }
	case loss.Quantile:
		d.value = func(scale float64) float64 {
			return 2*scale*yc - half*(scale*(scale*square-2*cross)+center)
		}
	default:
		d.value = func(scale float64) float64 { return cells.Dual(C, mu, scale) / mu }
	}
	return d
}

// measureConvex fills in what fit measures of a loss other than the squared one.
func (s *samples) measureConvex(m *measures, mu float64, C, F blas.General) {
	cells := s.minimized()
	m.norm = blas.Inner(C, F)
	m.form = m.norm
	m.fit = cells.Sum(F)
	at := s.dualMeasures(C, mu)
	m.yc, m.cc, m.dual = at.yc, at.cc, at.dual
}

// dualMeasures are the measures that the lower side of the certificate at X takes.
func (s *samples) dualMeasures(X blas.General, mu float64) (m measures) {
	m.yc = blas.Inner(s.Y, X)
	if !s.convex() {
		m.cc = square(blas.Frob(X))
		return m
	}
	s.loss.Each(func(at int, _, w float64) { m.cc += X.Data[at] * (X.Data[at] / w) })
	m.dual = s.dualAt(&m, s.minimized(), X, mu)
	return m
}

// openness is √((P − D)/P₀) for the two sides of the certificate at fixed kernels and P₀ the loss of the function 0:
// what a relative residual is for the squared loss. It is (P − D)/P for quantiles, whose coefficients are those of a
// rounded loss: they leave that gap, and derivatives of an objective which is as near.
func (s *samples) openness(m *measures, mu float64) float64 {
	gap := math.Max(0, m.fit+2*mu*m.form-mu*m.conjugate(mu, 1))
	if s.kinked() && !s.held {
		return gap / math.Max(m.fit+mu*m.form, math.SmallestNonzeroFloat64)
	}
	return math.Sqrt(gap / math.Max(s.yy, math.SmallestNonzeroFloat64))
}

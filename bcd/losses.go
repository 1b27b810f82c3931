// This file is the problem in sample space for losses other than the squared one, and the descent for those with kinks.

package bcd

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/bcd/internal/semismooth"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// NewLoss is [NewWeighted] for the loss (1/l)Σ w_ij·φ(Y_ij, F_ij). The unknown is C, and with u = 2μC, v = u/w,
//
//	Σ w·φ(Y, F) + μ·tr(CᵀK_ηCL)  ≥  l·min  ≥  Σ w·ψ*(v) − μ·tr(CᵀK_ηCL)
//
// for every C whose v lies in the box of the loss, which every C here does (mathematics.md §15). C is linear in the
// lower bound's kernels and L, so that derivatives, certificates and methods are those of the squared loss.
// With constants, column j of the predictions is that of F and a number b_j that is learned too: the left side is the
// least over b, the right side holds for coefficients whose columns add up to 0, and kernels are centred, which these
// do not see (mathematics.md §17).
// The solvers paper and okl, whose L step is that of the squared loss, do not take others.
func NewLoss(K linop.Sum, Y, W blas.General, l loss.Loss, constants bool) Space {
	if l.Kind == loss.Squared && !constants {
		return NewWeighted(K, Y, W)
	}
	s := &samples{K: K, Y: Y, rows: Y.Rows, unit: 1}
	if s.bad = checkCellWeights(Y, W); s.bad == nil {
		if s.bad = l.Check(); s.bad != nil {
			s.bad = fmt.Errorf("%w: %w", ErrInput, s.bad)
		}
	}
	if s.bad != nil {
		return s
	}
	s.rows = observedRows(Y)
	if constants && l.Kind != loss.Logistic { // numbers near 0 keep more digits of F
		s.shift = make([]float64, Y.Cols)
		for j := range s.shift {
			for i := range Y.Rows {
				if y := Y.Data[i*Y.Stride+j]; s.shift[j] == 0 && weightAt(W, i, j) > 0 && !math.IsNaN(y) {
					s.shift[j] = y
				}
			}
		}
		Y = blas.Clone(Y)
		for i := range Y.Rows {
			blas.Axpy(-1, s.shift, blas.Row(Y, i))
		}
	}
	cells, err := loss.NewCells(l, Y, func(i, j int) float64 { return weightAt(W, i, j) }, constants)
	if err != nil {
		s.bad = fmt.Errorf("%w: %w", ErrInput, err)
		return s
	}
	s.loss, s.Y, s.yy = *cells, cells.Y, cells.Zero
	s.cells = linop.NewCells(Y.Rows, Y.Cols, func(i, j int) bool { return s.loss.W.Data[i*Y.Cols+j] > 0 })
	return s
}

// convex reports whether the loss is not the squared one, or constants are learned beside the coefficients.
func (s *samples) convex() bool { return s != nil && s.loss.Y.Data != nil }

// constants are the b of the best point of a fit; nil where they are not learned.
func (f *fit) constants() []float64 {
	s, pt := f.t.space.inSamples(), f.best
	if s == nil || !s.loss.Free {
		return nil
	}
	F := blas.Like(pt.X)
	add := func(K linop.Operator, L *linop.Spectral) {
		KX, one := blas.Like(pt.X), blas.Like(pt.X)
		K.Apply(KX, pt.X)
		f.t.work.mulRight(one, KX, L)
		blas.AddScaled(F, 1, one)
	}
	if pt.Ls == nil {
		s.setWeights(pt.eta)
		add(s.K, pt.L)
	}
	for j, L := range pt.Ls {
		if L.Rank() > 0 {
			add(sampleTerm{s, j}, L)
		}
	}
	exact := s.loss.Exact()
	exact.Settle(F)
	if s.shift != nil {
		blas.Axpy(1, s.shift, exact.Offset)
	}
	return exact.Offset
}

// LossStep is the C step of the product model by losses other than the squared one. It keeps factors of its systems and
// how far kinks are rounded for the next fit.
type LossStep struct {
	newton  semismooth.Newton
	systems sylvester.Solver
	eta     known // to systems
}

// NewLossStep returns a C step that has kept nothing.
func NewLossStep(cfg sylvester.Config) *LossStep {
	return &LossStep{systems: reweighted(cfg)}
}

// Beside is a C step for the same kernels and another level, that begins with the rounding of s.
func (s *LossStep) Beside(cfg sylvester.Config) *LossStep {
	cfg.Like = s.systems
	return &LossStep{newton: s.newton.Beside(), systems: reweighted(cfg), eta: s.eta}
}

// reweighted solves the systems of Newton steps.
func reweighted(cfg sylvester.Config) sylvester.Solver {
	cfg.Reweighted = true
	s, err := sylvester.New("auto", cfg)
	if err != nil {
		panic(err)
	}
	return s
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
	m.dual = s.minimized().Multiples(X, mu)
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

// The gap of a stage is roundedFall of that at its start, and rounding the kinks may leave the share roundedShare of it
// on each side of the certificate. What it leaves falls as κ^(1/roundedPower).
// Figures in docs/decisions/2026-11-26-kinks.md.
const (
	roundedFall  = 0.03
	roundedShare = 0.5
	roundedPower = 2. / 3
	roundedIdle  = 4 // stages that do not lower the gap after which it stays
)

// smooth is a method for a loss whose kinks are rounded by a κ about a v⁰ that stay.
type smooth interface {
	// again is a point at the weights and output kernels of pt. It forgets bounds by points before, which are of a loss
	// with another rounding.
	again(pt *point) *point
	// descend goes on from the certified pt until the goal is met, and returns where it ends.
	descend(ctx context.Context, pt *point, goal float64) (*point, error)
	// sharpen makes the coefficients of pt the v⁰, and multiplies κ by fall.
	sharpen(ctx context.Context, pt *point, fall float64) error
}

// withoutKinks descends for a loss with kinks in stages, each for a part of the gap. In a stage κ and v⁰ stay: the
// least value of the rounded loss over C, as a function of the weights and L, has the derivatives that C gives, and a
// curvature. A large κ makes systems cheap, and leaves much of the gap of the loss itself. The first κ and v⁰ are those
// of a C step; those of a later stage are a smaller κ, about the coefficients at which the stage before ends.
func (f *fit) withoutKinks(ctx context.Context, pt *point, goal float64, by smooth) error {
	s := f.t.space.inSamples()
	defer s.hold(false)
	pt = by.again(pt)
	if err := f.evaluate(ctx, pt, f.loosest, goal); err != nil || f.ends(pt, goal) {
		return err
	}
	for lowest, idle := math.Inf(1), 0; idle < roundedIdle; idle++ {
		aim := math.Max(goal, roundedFall*pt.cert.relative())
		s.hold(true)
		pt = by.again(pt)
		if err := f.evaluate(ctx, pt, f.tolFor(pt, innerShare, aim), goal/2); err != nil {
			return err
		}
		var err error
		pt, err = by.descend(ctx, pt, aim/2)
		s.hold(false)
		if err != nil {
			return err
		}
		held := pt.cert.relative()
		if err := f.cover(ctx, pt); err != nil {
			return err
		}
		if f.best.rounded {
			f.best = pt
		}
		if err := f.accept(pt, goal); err != nil || f.ends(pt, goal) {
			return err
		}
		if pt.cert.relative() < lowest {
			lowest, idle = pt.cert.relative(), 0
		}
		left := math.Max(pt.cert.relative()-held, 0)
		next := math.Max(goal, roundedFall*pt.cert.relative())
		if err := by.sharpen(ctx, pt, math.Min(math.Pow(roundedShare*next/left, roundedPower), 0.5)); err != nil {
			return err
		}
	}
	return nil
}

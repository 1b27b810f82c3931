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

// fidelity is what a fit needs of its loss.
type fidelity interface {
	// value is the loss of the predictions F, 0 where no target is observed.
	value(F blas.General) float64
	// dual fills in the measures that the lower side of the certificate at X takes.
	dual(m *measures, mu float64, X blas.General)
	// residual is that of the C step which has led to X and its F, relative to its right side.
	residual(m *measures, mu float64, X, F blas.General) float64
	// curvature is the mean over all cells of ½w·∂²φ/∂F² at the predictions F.
	curvature(F blas.General) float64
	// keep moves X to the nearest that is 0 off the cells, and in the box of the loss.
	keep(X blas.General, mu float64)
}

// fidelity is that of the loss of d.
func (d *data) fidelity() fidelity {
	if d.loss == nil {
		return squares{d}
	}
	return others{d.loss, d}
}

// squares are those of the squared loss.
type squares struct{ *data }

func (s squares) value(F blas.General) float64 { return distance2(F, s.B) + s.dropped }

func (s squares) dual(m *measures, mu float64, X blas.General) {
	m.yc, m.cc = blas.Inner(s.B, X)+s.dropped/mu, square(blas.Frob(X))+s.dropped/(mu*mu)
}

func (s squares) residual(_ *measures, mu float64, X, F blas.General) float64 {
	R := blas.Clone(F)
	blas.AddScaled(R, mu, X)
	return math.Sqrt(distance2(R, s.B)) / math.Max(blas.Frob(s.B), math.SmallestNonzeroFloat64)
}

func (s squares) curvature(blas.General) float64 {
	if s.cells == nil {
		return 1
	}
	return s.cells.Mean()
}

func (s squares) keep(X blas.General, _ float64) { s.cells.Keep(X, X) }

// otherLoss is a loss other than the squared one, or one with constants that are learned beside the coefficients.
type otherLoss struct {
	loss.Cells
	held  bool      // its rounding stays, and the certificate is of the rounded loss
	shift []float64 // that Y is less than the targets, in every column, where constants are learned; nil for 0
}

// losses gives the cells a loss.
func (s *samples) losses(l loss.Loss, weight func(i, j int) float64, constants bool) error {
	if err := l.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	Y, other := s.B, new(otherLoss)
	if constants && l.Kind != loss.Logistic { // numbers near 0 keep more digits of F
		other.shift = make([]float64, Y.Cols)
		for j := range other.shift {
			for i := range Y.Rows {
				if other.shift[j] == 0 && weight(i, j) > 0 {
					other.shift[j] = Y.Data[i*Y.Stride+j]
				}
			}
		}
		Y = blas.Clone(Y)
		for i := range Y.Rows {
			blas.Axpy(-1, other.shift, blas.Row(Y, i))
		}
	}
	cells, err := loss.NewCells(l, Y, weight, constants)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	other.Cells, s.loss = *cells, other
	s.B, s.yy = cells.Y, cells.Zero
	s.cells = linop.NewCells(Y.Rows, Y.Cols, func(i, j int) bool { return cells.W.Data[i*Y.Cols+j] > 0 })
	return nil
}

// kinked reports whether the loss has kinks that its coefficients are found without.
func (o *otherLoss) kinked() bool { return o != nil && o.Kind == loss.Quantile }

// hold makes the loss that is minimised and certified the one that the last C step has rounded, or the one given.
func (o *otherLoss) hold(on bool) {
	if o != nil {
		o.held = on
	}
}

// rounded reports whether a rounded loss is minimised and certified.
func (o *otherLoss) rounded() bool { return o != nil && o.held }

// minimized is the loss of the cells that the certificate is of: as given or, while held, rounded.
func (o *otherLoss) minimized() *loss.Cells {
	if o.held {
		return &o.Cells
	}
	return o.Exact()
}

type others struct {
	*otherLoss
	d *data
}

func (o others) value(F blas.General) float64 { return o.minimized().Sum(F) }

func (o others) dual(m *measures, mu float64, X blas.General) {
	m.yc, m.cc = blas.Inner(o.Y, X), 0
	o.Each(func(at int, _, w float64) { m.cc += X.Data[at] * (X.Data[at] / w) })
	m.dual = o.minimized().Multiples(X, mu)
}

// residual is √((P − D)/P₀) for the two sides of the certificate at fixed kernels and P₀ the loss of the function 0:
// what a relative residual is for the squared loss. It is (P − D)/P for quantiles, whose coefficients are those of a
// rounded loss: they leave that gap, and derivatives of an objective which is as near.
func (o others) residual(m *measures, mu float64, _, _ blas.General) float64 {
	gap := math.Max(0, m.fit+2*mu*m.form-mu*m.conjugate(mu, 1))
	if o.kinked() && !o.held {
		return gap / math.Max(m.fit+mu*m.form, math.SmallestNonzeroFloat64)
	}
	return math.Sqrt(gap / math.Max(o.Zero, math.SmallestNonzeroFloat64))
}

// A quantile has the curvature of the loss whose kinks the last C step has rounded.
func (o others) curvature(F blas.General) (mean float64) {
	o.Settle(F)
	o.Each(func(at int, y, w float64) {
		_, curvature := o.SlopeAt(at, y, F.Data[at])
		mean += w * curvature / 2
	})
	return mean / float64(len(F.Data))
}

func (o others) keep(X blas.General, mu float64) {
	o.d.cells.Keep(X, X)
	o.Clip(X, mu)
}

// measureFit fills in what m tells of the predictions F = KCL, which it overwrites, and of X.
func (t *task) measureFit(m *measures, X, F blas.General) {
	if t.data.cells != nil {
		t.data.cells.Project(F, F)
	}
	m.norm = blas.Inner(X, F)
	m.form, m.fit = m.norm, t.loss.value(F)
	t.loss.dual(m, t.mu, X)
}

// predict is F = K_ηCL of pt, in scratch.
func (t *task) predict(pt *point) blas.General {
	F := blas.Reshape(t.work.xl, pt.X.Rows, t.n)
	t.work.xl = F
	t.work.mulRight(F, pt.AX, pt.L)
	return F
}

// constants are the b of the best point of a fit; nil where they are not learned.
func (f *fit) constants() []float64 {
	other, pt := f.t.data.loss, f.best
	if other == nil || !other.Free {
		return nil
	}
	F, KX, one := blas.Like(pt.X), blas.Like(pt.X), blas.Like(pt.X)
	for _, term := range f.model.terms(context.Background(), pt) {
		term.K.(*linop.Centered).A.Apply(KX, pt.X)
		f.t.work.mulRight(one, KX, term.L)
		blas.AddScaled(F, 1, one)
	}
	exact := other.Exact()
	exact.Settle(F)
	if other.shift != nil {
		blas.Axpy(1, other.shift, exact.Offset)
	}
	return exact.Offset
}

// lossStep performs the C step for a loss other than the squared one. Its linear systems are solve's.
func (f *fit) lossStep(
	ctx context.Context, n *semismooth.Newton, pt *point, tol float64, terms []linop.Term,
	solve func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error,
) error {
	other := f.t.data.loss
	return n.Minimize(ctx, pt.X, semismooth.Problem{
		Cells: &other.Cells, Mu: f.t.mu, Hold: other.held, Solve: solve,
		Map: &linop.KroneckerSum{Terms: terms, Backend: f.t.be},
	}, tol)
}

// LossStep is the C step of the product model for losses other than the squared one. It keeps the factors of its linear
// systems, and the width by which kinks of the loss are smoothed, from one fit to the next.
type LossStep struct {
	newton  semismooth.Newton
	systems sylvester.Solver
	eta     known // to systems
}

// NewLossStep returns a C step for a first fit.
func NewLossStep(cfg sylvester.Config) *LossStep {
	return &LossStep{systems: reweighted(cfg)}
}

// Beside returns a C step for the same kernels and another level of quantiles. It begins with the smoothing width of s.
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
	other := f.t.data.loss
	defer other.hold(false)
	pt = by.again(pt)
	if err := f.evaluate(ctx, pt, f.loosest, goal); err != nil || f.ends(pt, goal) {
		return err
	}
	for lowest, idle := math.Inf(1), 0; idle < roundedIdle; idle++ {
		aim := math.Max(goal, roundedFall*pt.cert.relative())
		other.hold(true)
		pt = by.again(pt)
		if err := f.evaluate(ctx, pt, f.tolFor(pt, innerShare, aim), goal/2); err != nil {
			return err
		}
		var err error
		pt, err = by.descend(ctx, pt, aim/2)
		other.hold(false)
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

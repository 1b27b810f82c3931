// This file decides when L and η move in turn, and moves L alone.

package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd/internal/interior"
	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// outputSteps lets the descent move η and L in turn where there are many outputs: L
// to its best for η by the barrier method, which costs an eigendecomposition of A_η
// and one C step whatever λ is, η by steps that leave L alone. Where that makes
// no progress, the joint quasi-Newton method takes over for a number of steps.
type outputSteps struct {
	on, possible bool
	joint, late  int     // steps of the joint method before, and how many there are to be
	poor         int     // output steps in a row that left most of the gap
	target       float64 // of the last one, or its gain where its model is approximate, when it was the last step

	past quasinewton.Secants // of L, where its model is approximate
}

func newOutputSteps(t *task) (o outputSteps) {
	N := t.space.Unknowns()
	o.late = outputStepsLast
	o.possible = !t.fixL && t.rho == 0 && (t.n >= outputStepsLeast && N <= outputStepsMost || t.exactWeights())
	if t.n >= outputStepsFrom || t.exactWeights() {
		o.late = outputStepsLate
	}
	o.on = o.possible && t.n >= outputStepsLeast && N <= outputStepsRows*t.n
	return o
}

// takeTurns changes to moving L and η in turn, or back to the joint method, each time
// for twice as many steps.
func (d *blocks) takeTurns(on bool) error {
	o := &d.outputs
	if o.on = on; !on {
		o.joint, o.late, o.poor, o.past = 0, 2*max(o.late, outputStepsLast), 0, quasinewton.Secants{}
	}
	return d.begin(d.cur.pt, !on)
}

// inTurn is the next point by the method whose turn it is, or by one block where no joint step lowers the objective.
func (d *blocks) inTurn(ctx context.Context) (*iterate, error) {
	if next, err := d.step(ctx); next != nil || err != nil {
		return next, err
	}
	return d.oneBlock(ctx)
}

func (d *blocks) step(ctx context.Context) (*iterate, error) {
	o, cert := &d.outputs, d.cur.pt.cert
	if o.possible && !o.on {
		// Joint steps serve where the weights have much to gain, and for a while after output steps have failed.
		alone := d.t.approximate() && o.late <= outputStepsLast && cert.gapEta < jointShare*cert.gapL
		if o.joint++; o.joint > o.late || alone {
			if err := d.takeTurns(true); err != nil {
				return nil, err
			}
		}
	}
	// gapL bounds what L has to gain loosely where the model is approximate; a gain within rounding tells nothing.
	slow := d.t.approximate() && o.target > d.t.noise(d.cur.pt) && o.target < slowStep*cert.gapEta
	if o.on && (d.t.fixEta || cert.gapL > cert.gapEta && !slow) {
		next, err := d.outputStep(ctx)
		if next != nil || err != nil {
			return next, err
		}
		if err := d.takeTurns(false); err != nil {
			return nil, err
		}
	}
	o.target = 0
	if err := d.prepareWeights(ctx); err != nil {
		return nil, err
	}
	return d.search(ctx)
}

// outputStep moves L to about the best for the weights of cur. It returns nil when the
// objective rises, or the gap has hardly fallen for poorSteps steps, and where the model is approximate the objective
// neither.
func (d *blocks) outputStep(ctx context.Context) (*iterate, error) {
	pt, o := d.cur.pt, &d.outputs
	U := pt.cert.objective
	target := math.Max(0.1*pt.cert.gapEta, riseShare*d.goal*math.Abs(U))
	if o.target > 0 { // the gap bound at the last point exceeds what its step left to gain
		target = math.Min(target, 0.1*o.target)
	}
	o.target = target
	next, err := d.bestPoint(ctx, target)
	if next == nil || err != nil {
		return nil, err
	}
	if err := d.certify(ctx, next); err != nil {
		return nil, err
	}
	good := next.cert.gapL <= poorStep*pt.cert.gapL
	if d.t.approximate() {
		o.target = U - next.cert.objective
		good = o.target > d.t.noise(next) || next.cert.gapL < pt.cert.gapL
	}
	if o.poor++; good {
		o.poor = 0
	}
	if o.poor == poorSteps {
		return nil, nil
	}
	return d.iterate(next), nil
}

// bestPoint is the point at the output kernel of [blocks.bestOutput], nil where the objective is higher there, also
// without what earlier steps tell and with the eigenvectors for the weights of cur. Where the model is approximate, the
// objective may rise by less than the goal sees, for a smaller gap: it is known to eight digits long before the gap,
// which is of first order in the error of L, has four.
func (d *blocks) bestPoint(ctx context.Context, target float64) (*point, error) {
	pt, o := d.cur.pt, &d.outputs
	left := (pt.cert.gapEta + target) / math.Abs(pt.cert.objective)
	if d.t.approximate() {
		left = target / math.Abs(pt.cert.objective)
	}
	tol := math.Min(d.tol(), math.Max(innerTightest, d.share*math.Max(left, d.goal)))
	if o.poor > 0 { // the error of C may have been what kept gapL large
		tol = math.Max(innerTightest, poorTol*tol)
	}
	for {
		L, err := d.bestOutput(ctx, target)
		if err != nil {
			return nil, err
		}
		if d.t.approximate() {
			if L, err = d.t.extrapolate(&o.past, pt.L, L); err != nil {
				return nil, err
			}
		}
		next, err := d.try(ctx, d.t.next(pt, pt.eta, L), tol)
		if err != nil {
			return nil, err
		}
		highest := slices.Max(d.history)
		if d.t.approximate() {
			highest = pt.cert.objective
		}
		rises := func() bool { return next.cert.objective > highest+d.t.noise(next) }
		inexact := d.t.inexactness(next)
		if rises() && inexact > 0.1*target && d.opt.InnerTol == 0 { // by the error of C
			tol = math.Max(innerTightest, next.residual*math.Sqrt(0.1*target/inexact))
			if next, err = d.try(ctx, d.t.next(pt, pt.eta, L), tol); err != nil {
				return nil, err
			}
		}
		fits := !rises()
		if !fits && d.t.approximate() && next.cert.objective <= highest+riseShare*d.goal*math.Abs(highest) {
			if err := d.certify(ctx, next); err != nil {
				return nil, err
			}
			fits = next.cert.gapL < pt.cert.gapL
		}
		switch {
		case fits:
			return next, nil
		case o.past.Used():
			o.past = quasinewton.Secants{}
		case !slices.Equal(d.t.spectrum.eta, pt.eta):
			d.t.spectrum.eta = nil
		default:
			return nil, nil
		}
	}
}

// extrapolate is the next point after from, where the iteration that past tells of leads to to.
func (t *task) extrapolate(past *quasinewton.Secants, from, to *linop.Spectral) (*linop.Spectral, error) {
	L, target := blas.NewGeneral(t.n, t.n), blas.NewGeneral(t.n, t.n)
	from.Dense(t.be, L)
	to.Dense(t.be, target)
	next := past.Next(L.Data, target.Data)
	if &next[0] == &target.Data[0] {
		return to, nil
	}
	target.Data = next
	return frankwolfe.ProjectSpectrahedron(t.be, target, t.tau)
}

// bestOutput lowers the objective over L at the weights of cur until about target is left to gain.
func (d *blocks) bestOutput(ctx context.Context, target float64) (L *linop.Spectral, err error) {
	t, pt := d.t, d.cur.pt
	A := t.form(ctx, pt.eta, false)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, s, failed := d.eigenvectors(ctx, A, pt)
		if err = failed; err != nil {
			return
		}
		p := t.outputModel(pt, U, s)
		if !(maxOf(p.S) > 0) {
			L = pt.L
			return
		}
		if p.Cells, err = t.fewCells(ctx, A, U, len(p.S)); err != nil {
			return
		}
		var b *interior.Barrier
		if b, err = interior.New(p, pt.L, pt.G, pt.cert.gapL/t.lambda); err == nil {
			L, err = b.Minimize(ctx, target/t.lambda, d.basis.collect)
		}
	})
	return L, err
}

// eigenvectors are those of A, which is A_η at pt. Where cells are missing or weighted, the solver of the C step has
// them too.
func (d *blocks) eigenvectors(ctx context.Context, A linop.Operator, pt *point) (
	U blas.General, s []float64, err error,
) {
	p, k := d.p, &d.t.spectrum
	cells := d.t.space.inSamples().observed()
	if k.eta != nil || cells == nil {
		return d.t.eigenvectors(ctx, A, pt.eta)
	}
	p.weighted(pt.eta)
	solver := p.solver
	if d.t.convex() {
		solver = p.convex.systems
	}
	dec, err := solver.(sylvester.Decomposer).Decompose(ctx, sylvester.System{K: A, L: pt.L, Mu: d.t.mu, Cells: cells})
	if err == nil {
		*k = spectrum{slices.Clone(pt.eta), dec.T, dec.Sigma}
	}
	return k.U, k.s, err
}

// approximate reports whether the model of an output step is not h itself: where cells are missing or weighted, and
// more of them are observed than a step takes a factor of.
func (t *task) approximate() bool {
	cells := t.space.inSamples().observed()
	return cells != nil && (t.convex() || cells.Count() > fewCellsMost)
}

// outputModel is h as a function of L, with eigenvectors U and eigenvalues s of A_η; where it is approximate, that of
// a problem of squares without missing cells, with the mean curvature w of the cells,
//
//	targets A_η·C·L + μ̂·C,   μ̂ = μ/w,
//
// which has the coefficients C of pt there, and a linear term that gives it the gradient of h. U and s may then be
// those of other weights.
func (t *task) outputModel(pt *point, U blas.General, s []float64) *interior.Problem {
	p := &interior.Problem{Backend: t.be, Tau: t.tau, Mu: t.mu}
	if !t.approximate() {
		p.H, p.S = t.spectral(blas.Product(t.be, true, false, U, t.space.rhs(pt.eta)), s)
		return p
	}
	space := t.space.inSamples()
	if w := space.curvature(t, pt); w > 0 {
		p.Mu /= w
	}
	C := blas.Clone(pt.X)
	space.cells.Project(C, C)
	UC := blas.Product(t.be, true, false, U, C)
	SUC, H := blas.Like(UC), blas.Like(UC)
	blas.ScaleRows(SUC, s, UC)
	t.work.mulRight(H, SUC, pt.L)
	blas.AddScaled(H, p.Mu, UC)
	p.Tilt = blas.Product(t.be, true, false, UC, SUC)
	blas.AddScaled(p.Tilt, -1, pt.G)
	blas.Symmetrize(p.Tilt)
	p.H, p.S = t.spectral(H, s)
	return p
}

// spectral turns H = UᵀB_η, U the eigenvectors of A_η of ascending eigenvalues sigma, into what stands for UᵀY, and
// both into descending order, without the rounding of 0. In feature space, where H_η = Z_ηᵀY, U·diag(√sigma) are the
// eigenvectors' parts of the singular vectors of Z_η.
func (t *task) spectral(H blas.General, sigma []float64) (blas.General, []float64) {
	N := len(sigma)
	least := linop.RankDrop * 0x1p-52 * float64(N) * sigma[N-1]
	out, s := blas.NewGeneral(N, H.Cols), make([]float64, 0, N)
	for i := N - 1; i >= 0 && sigma[i] > least; i-- {
		row := blas.Row(out, len(s))
		copy(row, blas.Row(H, i))
		if t.space.inSamples() == nil {
			blas.Scal(1/math.Sqrt(sigma[i]), row)
		}
		s = append(s, sigma[i])
	}
	return blas.View(out, 0, 0, len(s), H.Cols), s
}

// fewCells is the observed cells of Y for the L step with A and its eigenvectors, of which the last q count; nil where
// no cell is missing, or so many are observed that a factor of their system costs much.
func (t *task) fewCells(ctx context.Context, A linop.Operator, vectors blas.General, q int) (*interior.Cells, error) {
	cells := t.space.inSamples().observed()
	if cells == nil || t.approximate() {
		return nil, nil
	}
	K := blas.NewGeneral(vectors.Rows, vectors.Rows)
	if err := linop.Dense(ctx, K, A); err != nil {
		return nil, err
	}
	return interior.NewCells(t.be, cells, K, t.space.rhs(nil), vectors, q, t.mu), nil
}

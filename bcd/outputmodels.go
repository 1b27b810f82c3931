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

func newOutputModel(d *blocks) outputModel {
	if d.t.approximate() {
		return &approximateOutput{blocks: d}
	}
	return exactOutput{d}
}

// approximate reports whether the model of an output step is not h itself: where cells are missing or weighted, and
// more of them are observed than a step takes a factor of.
func (t *task) approximate() bool {
	cells := t.data.cells
	return cells != nil && (t.data.loss != nil || cells.Count() > fewCellsMost)
}

// exactOutput is h itself, where the outputs decouple or few cells are observed.
type exactOutput struct{ *blocks }

func (exactOutput) early(int) bool                               { return false }
func (m exactOutput) gains(float64) bool                         { return m.cur.pt.cert.gapL > m.cur.pt.cert.gapEta }
func (m exactOutput) highest() float64                           { return slices.Max(m.history) }
func (exactOutput) admits(context.Context, *point) (bool, error) { return false, nil }
func (exactOutput) renew() bool                                  { return false }
func (m exactOutput) open(target float64) float64 {
	return (m.cur.pt.cert.gapEta + target) / math.Abs(m.cur.pt.cert.objective)
}

func (m exactOutput) progress(next *point, target float64) (float64, bool) {
	return target, next.cert.gapL <= poorStep*m.cur.pt.cert.gapL
}

func (m exactOutput) minimize(ctx context.Context, target float64) (*linop.Spectral, error) {
	t, pt := m.t, m.cur.pt
	return m.barrier(ctx, target, func(ctx context.Context, A linop.Operator, U blas.General, s []float64) (
		*interior.Problem, error,
	) {
		p := &interior.Problem{Backend: t.be, Tau: t.tau, Mu: t.mu}
		p.H, p.S = t.spectral(blas.Product(t.be, true, false, U, t.system.rhs(pt.eta)), s)
		if t.data.cells == nil || len(p.S) == 0 {
			return p, nil
		}
		K := blas.NewGeneral(U.Rows, U.Rows)
		if err := linop.Dense(ctx, K, A); err != nil {
			return nil, err
		}
		p.Cells = interior.NewCells(t.be, t.data.cells, K, t.data.B, U, len(p.S), t.mu)
		return p, nil
	})
}

// approximateOutput is a problem of squares without missing cells, with the mean curvature w of the cells, in the place
// of h where they are missing or weighted:
//
//	targets A_η·C·L + μ̂·C,   μ̂ = μ/w.
//
// It has the coefficients C of the current point there, and a linear term that gives it the gradient of h. Eigenvectors
// and eigenvalues of A_η may be those of other weights. Steps on it are extrapolated. The objective may rise by less
// than the goal sees, for a smaller gap: it is known to eight digits long before the gap, which is of first order in
// the error of L, has four.
type approximateOutput struct {
	*blocks
	past quasinewton.Secants // of L
}

// Joint steps serve where the weights have much to gain, and for a while after output steps have failed.
func (m *approximateOutput) early(late int) bool {
	cert := m.cur.pt.cert
	return late <= outputStepsLast && cert.gapEta < jointShare*cert.gapL
}

// gapL bounds what L has to gain loosely here, and the gain of the last step tells more; one within rounding nothing.
func (m *approximateOutput) gains(last float64) bool {
	pt := m.cur.pt
	slow := last > m.t.noise(pt) && last < slowStep*pt.cert.gapEta
	return pt.cert.gapL > pt.cert.gapEta && !slow
}

func (m *approximateOutput) open(target float64) float64 {
	return target / math.Abs(m.cur.pt.cert.objective)
}
func (m *approximateOutput) highest() float64 { return m.cur.pt.cert.objective }

func (m *approximateOutput) admits(ctx context.Context, next *point) (bool, error) {
	cert := m.cur.pt.cert
	if !(next.cert.objective <= cert.objective+riseShare*m.goal*math.Abs(cert.objective)) {
		return false, nil
	}
	err := m.certify(ctx, next)
	return next.cert.gapL < cert.gapL, err
}

func (m *approximateOutput) renew() bool {
	switch {
	case m.past.Used():
		m.past = quasinewton.Secants{}
	case !slices.Equal(m.t.spectrum.eta, m.cur.pt.eta):
		m.t.spectrum.eta = nil
	default:
		return false
	}
	return true
}

func (m *approximateOutput) progress(next *point, _ float64) (gain float64, good bool) {
	cert := m.cur.pt.cert
	gain = cert.objective - next.cert.objective
	return gain, gain > m.t.noise(next) || next.cert.gapL < cert.gapL
}

func (m *approximateOutput) minimize(ctx context.Context, target float64) (*linop.Spectral, error) {
	t, pt := m.t, m.cur.pt
	to, err := m.barrier(ctx, target, func(_ context.Context, _ linop.Operator, U blas.General, s []float64) (
		*interior.Problem, error,
	) {
		return t.tilted(pt, U, s), nil
	})
	if err != nil {
		return nil, err
	}
	return t.extrapolate(&m.past, pt.L, to)
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

// tilted is the problem of [approximateOutput] with eigenvectors U and eigenvalues s of A_η.
func (t *task) tilted(pt *point, U blas.General, s []float64) *interior.Problem {
	p := &interior.Problem{Backend: t.be, Tau: t.tau, Mu: t.mu}
	if w := t.loss.curvature(t.predict(pt)); w > 0 {
		p.Mu /= w
	}
	UC := blas.Product(t.be, true, false, U, t.data.coefficients(&t.work, pt.X))
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

// barrier lowers a problem in the eigenvectors U of A_η, of eigenvalues s, until about target is left to gain.
func (d *blocks) barrier(
	ctx context.Context, target float64,
	problem func(ctx context.Context, A linop.Operator, U blas.General, s []float64) (*interior.Problem, error),
) (L *linop.Spectral, err error) {
	t, pt := d.t, d.cur.pt
	A := t.form(ctx, pt.eta, false)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, s, failed := d.p.eigenvectors(ctx, A, pt)
		if err = failed; err != nil {
			return
		}
		p, failed := problem(ctx, A, U, s)
		if L, err = pt.L, failed; err != nil || !(maxOf(p.S) > 0) {
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
func (p *productModel) eigenvectors(ctx context.Context, A linop.Operator, pt *point) (
	U blas.General, s []float64, err error,
) {
	k := &p.t.spectrum
	if k.eta != nil || p.t.data.cells == nil {
		return p.t.eigenvectors(ctx, A, pt.eta)
	}
	p.weighted(pt.eta)
	solver := p.solver
	if p.t.data.loss != nil {
		solver = p.convex.systems
	}
	sys := sylvester.System{K: A, L: pt.L, Mu: p.t.mu, Cells: p.t.data.cells}
	dec, err := solver.(sylvester.Decomposer).Decompose(ctx, sys)
	if err == nil {
		*k = spectrum{slices.Clone(pt.eta), dec.T, dec.Sigma}
	}
	return k.U, k.s, err
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
		if t.data.features {
			blas.Scal(1/math.Sqrt(sigma[i]), row)
		}
		s = append(s, sigma[i])
	}
	return blas.View(out, 0, 0, len(s), H.Cols), s
}

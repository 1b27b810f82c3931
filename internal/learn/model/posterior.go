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
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// posterior is what is known of the function of a model beside its mean: the Gaussian process with the kernels, weights
// and L of the model for prior, given its rows, for noise of variance 1/w in a cell of weight w, in the units that the
// outputs were learned in (mathematics.md §13). It has four implementations: [decomposed] for complete targets
// of one L, [cellwise] for few cells of any weights and output kernels, [featured] for explicit features, and [paths]
// or [neighbours] for many rows.
type posterior interface {
	// deviation writes to dst (t×live) the deviations of the function at the rows of Z.
	deviation(ctx context.Context, dst, Z blas.General) error
	// without writes to dst those at training rows of these numbers, each in the process without the row. X are their
	// inputs as the kernels see them, of models that keep no others.
	without(ctx context.Context, dst blas.General, rows []int, X blas.General) error
}

// refits is a posterior that tells in closed form what changes without single rows.
type refits interface {
	posterior
	// residuals are targets less what is predicted for them without their rows (rows×live), NaN where targets are
	// missing; without Data where the model keeps no targets.
	residuals() blas.General
	// changes calls f for every row of Z, also at once, with f(z) − f₋ᵢ(z) for each row i of residuals (rows×live). It
	// takes slabs of as many rows as rowsAtOnce.
	changes(ctx context.Context, Z blas.General, f func(at int, moved blas.General)) error
	rowsAtOnce() int
	// leverages are the derivatives of fitted values by their own targets, of the cells of residuals.
	leverages() blas.General
}

// known is a posterior, and what the targets of the model say of its noise.
type known struct {
	posterior
	rows  []int        // of R and D; nil for all training rows
	R, D  blas.General // residuals without each row, and √(s² + 1/w), their deviations for noise 1; no Data without Y
	sigma []float64    // standard deviation of the noise of each live output; nil without Y
	means []int        // live outputs that the model predicts without kernels, see UseMeans
	// closed says that posterior is refits of what the model keeps of its rows.
	closed bool
}

// cellsAtMost is the number of observed target cells, at most, of which the covariance is factorised as a whole: 4096³
// operations take about a second, and the factor 128 MiB.
const cellsAtMost = 4096

// exact returns the posterior of which refits without each row are known in closed form, which the model keeps.
func (m *Model) exact(ctx context.Context) (*known, error) {
	if m.Out.Loss != "" {
		return m.laplace(ctx, (*Model).exact)
	}
	m.ends.mutex.Lock()
	defer m.ends.mutex.Unlock()
	if m.ends.exact != nil {
		return m.ends.exact, nil
	}
	k := new(known)
	var of refits
	var err error
	switch b := m.Basis.(type) {
	case *Features:
		of, err = m.featured(ctx, b)
	case *Samples:
		k.means = b.silent()
		switch {
		case b.Z.Data == nil:
			err = fault.Input("a model of Gram matrices keeps no kernels between training rows: it has no closed " +
				"forms for single rows")
		case m.Noise == nil && !(m.Mu > 0):
			err = m.noClosed()
		case b.L == nil && m.W.Data == nil && (m.Y.Rows == 0 || m.AllTargets()):
			of, err = m.decomposed(ctx, b)
		default:
			of, err = m.cellwise(ctx, b)
		}
	}
	if err != nil {
		return nil, err
	}
	k.posterior = of
	k.R = of.residuals()
	_, features := m.Basis.(*Features)
	if k.closed = k.R.Data != nil; !k.closed && m.Held != nil && (!features || m.Held.X.Data != nil) {
		k.R, k.rows, k.closed = m.learnedResiduals(m.Held), m.Held.Rows, features
	}
	if k.R.Data != nil {
		if err := k.measure(ctx, m); err != nil {
			return nil, err
		}
	}
	m.ends.exact = k
	return k, nil
}

// learnedResiduals are held-out residuals in the units that the outputs were learned in (rows×live).
func (m *Model) learnedResiduals(h *HeldOut) blas.General {
	R := blas.NewGeneral(h.Y.Rows, len(m.Out.Live))
	for k, j := range m.Out.Live {
		for i := range R.Rows {
			R.Data[i*R.Stride+k] = (h.Y.Data[i*h.Y.Stride+j] - h.F.Data[i*h.F.Stride+j]) / m.unit(j)
		}
	}
	return R
}

// measure fills in D and the noise for the residuals R, of all training rows or of the held-out rows of m.
func (k *known) measure(ctx context.Context, m *Model) error {
	rows, W, X := k.rows, m.W, blas.General{}
	if rows != nil {
		W, X = m.Out.Weights(m.Held.W), m.Held.X
	} else {
		for i := range k.R.Rows {
			rows = append(rows, i)
		}
		for _, j := range k.means { // whose mean is predicted, with the row or without
			blas.Copy(blas.View(k.R, 0, j, k.R.Rows, 1), blas.View(m.Y, 0, j, k.R.Rows, 1))
		}
	}
	k.D = blas.NewGeneral(k.R.Rows, k.R.Cols)
	if err := k.without(ctx, k.D, rows, X); err != nil {
		return err
	}
	k.rest(k.D)
	for i := range k.D.Rows {
		row := blas.Row(k.D, i)
		for j, s := range row {
			row[j] = math.Hypot(s, 1/math.Sqrt(columns.WeightAt(W, i, j)))
		}
	}
	k.noise(m.Out.Axis != nil && m.Out.Axis.Kernel != "")
	return nil
}

// noise estimates σ_k² as the mean of the squared residuals in units of their deviation for noise 1; one for all
// outputs where they are one process.
func (k *known) noise(one bool) {
	n := k.R.Cols
	sum, count := make([]float64, n), make([]float64, n)
	for i := range k.R.Rows {
		d := blas.Row(k.D, i)
		for j, r := range blas.Row(k.R, i) {
			if !math.IsNaN(r) {
				sum[j], count[j] = sum[j]+(r/d[j])*(r/d[j]), count[j]+1
			}
		}
	}
	k.sigma = make([]float64, n)
	for j := range k.sigma {
		if k.sigma[j] = math.Sqrt(sum[j] / max(count[j], 1)); one {
			k.sigma[j] = math.Sqrt(floats.Sum(sum) / max(floats.Sum(count), 1))
		}
	}
}

// rest makes the columns 0 of the outputs that the model predicts without kernels.
func (k *known) rest(a blas.General) {
	for _, j := range k.means {
		blas.Fill(blas.View(a, 0, j, a.Rows, 1), 0)
	}
}

// heldOut is the residuals of rows that m keeps, as held-out rows.
func (k *known) heldOut(m *Model) *HeldOut {
	h := &HeldOut{Rows: k.rows, W: m.Out.OfAll(m.W)}
	learned := m.Y
	if h.Rows == nil {
		for i := range m.Y.Rows {
			h.Rows = append(h.Rows, i)
		}
	} else {
		learned = blas.TakeRows(learned, h.Rows)
	}
	h.Y, h.F = blas.NewGeneral(learned.Rows, len(m.Out.Names)), blas.NewGeneral(learned.Rows, len(m.Out.Names))
	m.Out.Restore(h.Y, learned)
	m.targets(h.F, k.R, nil)
	for i, y := range h.Y.Data {
		h.F.Data[i] = y - h.F.Data[i]
	}
	return h
}

// decomposed is the posterior of complete targets of one L, by one decomposition of K_η.
type decomposed struct {
	be    blas.Backend
	lo    *sylvester.LeaveOut
	cross *kernel.Crossing
	R     blas.General
	l, r  int // training rows, and eigenvalues of L
}

func (m *Model) decomposed(ctx context.Context, b *Samples) (*decomposed, error) {
	l := float64(b.Z.Rows)
	if err := memory.Check("closed forms for single rows", 40*l*l, "a model of fewer rows"); err != nil {
		return nil, err
	}
	d := &decomposed{be: b.be, l: b.Z.Rows, r: m.L.Rank()}
	var err error
	if d.cross, err = b.dict.Crossing(b.eta, b.Z, b.be); err != nil {
		return nil, fault.From(err)
	}
	K := blas.NewGeneral(d.l, d.l)
	if err := d.cross.Sum(K, b.Z); err != nil {
		return nil, fault.From(err)
	}
	dec, err := sylvester.Decompose(ctx, linop.NewDense(K, b.be), b.be)
	if err != nil {
		return nil, err
	}
	Y := m.Y
	if Y.Rows == 0 {
		Y = blas.NewGeneral(d.l, m.L.Dim())
	}
	d.lo = sylvester.NewLeaveOut(dec.Clip(), b.be)
	if err := cmp.Or(d.lo.Use(m.L, Y), d.lo.At(blas.General{}, m.Mu)); err != nil {
		return nil, err
	}
	if m.Y.Rows > 0 {
		d.R = blas.Like(Y)
		d.lo.Residuals(d.R)
	}
	return d, nil
}

func (d *decomposed) deviation(_ context.Context, dst, Z blas.General) error {
	KX, kxx := blas.NewGeneral(Z.Rows, d.l), make([]float64, Z.Rows)
	if err := cmp.Or(d.cross.Sum(KX, Z), d.cross.Diagonal(kxx, Z)); err != nil {
		return fault.From(err)
	}
	d.lo.Deviation(dst, KX, kxx)
	return nil
}

func (d *decomposed) without(_ context.Context, dst blas.General, rows []int, _ blas.General) error {
	D := blas.NewGeneral(d.l, dst.Cols)
	d.lo.Deviations(D)
	for a, i := range rows {
		for j, v := range blas.Row(D, i) {
			dst.Data[a*dst.Stride+j] = math.Sqrt(max(0, v*v-1))
		}
	}
	return nil
}

func (d *decomposed) residuals() blas.General { return d.R }

func (d *decomposed) leverages() blas.General {
	H := blas.Like(d.R)
	d.lo.Leverages(H)
	return H
}

// smoothers is how many numbers the smoothers of a slab of new points take, 32 MiB.
const smoothers = 1 << 22

func (d *decomposed) rowsAtOnce() int { return max(1, min(SlabRows, smoothers/(max(d.r, 1)*d.l))) }

func (d *decomposed) changes(ctx context.Context, Z blas.General, f func(at int, moved blas.General)) error {
	W, U := blas.NewGeneral(Z.Rows, d.l), blas.NewGeneral(d.r*Z.Rows, d.l)
	if err := d.cross.Sum(W, Z); err != nil {
		return fault.From(err)
	}
	d.lo.Smoothers(U, W)
	par.For(Z.Rows, func(i int) {
		moved := blas.NewGeneral(d.l, d.R.Cols)
		d.lo.Changes(moved, U, i)
		f(i, moved)
	})
	return ctx.Err()
}

// RefitsLater reports whether held-out predictions can be told at any time from what the model keeps, at little cost
// beside its fit.
func (m *Model) RefitsLater() bool {
	_, samples := m.Basis.(*Samples)
	return !samples || m.Out.Loss == "" && m.In != nil && m.Y.Rows > 0 && (m.AllTargets() && m.oneL() != nil ||
		m.cells() <= cellsAtMost)
}

// refits are the closed forms of refits without each row, of a model that keeps what they are made of.
func (m *Model) refits(ctx context.Context) (*known, refits, error) {
	k, err := m.exact(ctx)
	if err == nil && !k.closed {
		err = m.noClosed()
	}
	if err != nil {
		return nil, nil, err
	}
	return k, k.posterior.(refits), nil
}

// noClosed says why there are no closed forms.
func (m *Model) noClosed() error {
	return fault.Input("there are no closed forms for single rows of this model: %s", m.Lacks())
}

// withTargets refuses a model without targets.
func (m *Model) withTargets(k *known, err error) (*known, error) {
	if err == nil && k.sigma == nil {
		err = m.noClosed()
	}
	return k, err
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

// deviations writes to dst (t×n) the deviations of the function at the rows of x for noise 1, 0 for outputs that are
// constant, times sigma where that is not nil and then in the units of the targets.
func (m *Model) deviations(ctx context.Context, k *known, dst, x blas.General, sigma []float64) error {
	return m.slabs(ctx, x, SlabRows, func(at int, Z blas.General) error {
		D := blas.NewGeneral(Z.Rows, len(m.Out.Live))
		if err := k.deviation(ctx, D, Z); err != nil {
			return err
		}
		k.rest(D)
		some := blas.View(dst, at, 0, Z.Rows, dst.Cols)
		if sigma != nil {
			m.targets(some, D, sigma)
		} else {
			m.spread(some, D)
		}
		return nil
	})
}

// spread writes the columns of D to those of learned outputs, and 0 to the others.
func (m *Model) spread(dst, D blas.General) {
	blas.Zero(dst)
	for k, j := range m.Out.Live {
		blas.Copy(blas.View(dst, 0, j, dst.Rows, 1), blas.View(D, 0, k, D.Rows, 1))
	}
}

// deviationsWithout writes to dst (rows×n) the deviations for noise 1 of the function without each held-out row, there.
func (m *Model) deviationsWithout(ctx context.Context, dst blas.General, h *HeldOut) error {
	k, err := m.uncertain(ctx)
	if err != nil {
		return err
	}
	D := blas.NewGeneral(len(h.Rows), len(m.Out.Live))
	if err := k.without(ctx, D, h.Rows, h.X); err != nil {
		return err
	}
	k.rest(D)
	m.spread(dst, D)
	return nil
}

// Deviation writes to dst (t×n) the posterior standard deviation of every output at the rows
// of x, in the units of the targets: that of the Gaussian process with covariance (σ²/μ)·K_η⊗L and
// noise of variance σ², σ² from the residuals of each output without each row. It is
// 0 for outputs that are constant. The noise is not part of it.
func (m *Model) Deviation(ctx context.Context, dst, x blas.General) error {
	k, err := m.withNoise(ctx)
	if err != nil {
		return err
	}
	return m.deviations(ctx, k, dst, x, k.sigma)
}

// withNoise is the posterior with the deviation of the noise.
func (m *Model) withNoise(ctx context.Context) (*known, error) {
	if m.In == nil {
		return nil, fault.Input("cross-Gram matrices do not say k(x,x), the variance before any row is known: a " +
			"model of Gram matrices has no deviations")
	}
	return m.withTargets(m.uncertain(ctx))
}

// NoiseLevels is the standard deviation of the noise of every output, in the units of the targets, that Deviation is
// for; 0 for outputs that are constant.
func (m *Model) NoiseLevels(ctx context.Context) ([]float64, error) {
	k, err := m.withNoise(ctx)
	if err != nil {
		return nil, err
	}
	sigma := make([]float64, len(m.Out.Names))
	for at, j := range m.Out.Live {
		sigma[j] = m.unit(j) * k.sigma[at]
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

// Influence returns f(x) − f₋ᵢ(x) for training rows i (rows×n): what each row changes in the prediction for x (1×d),
// in the units of the targets, at the kernels, weights and L of the model. rows are their numbers.
func (m *Model) Influence(ctx context.Context, x blas.General) (dst blas.General, rows []int, err error) {
	k, of, err := m.refits(ctx)
	if err != nil {
		return dst, nil, err
	}
	err = m.slabs(ctx, x, 1, func(_ int, Z blas.General) error {
		return of.changes(ctx, Z, func(_ int, moved blas.General) {
			k.rest(moved)
			dst = blas.NewGeneral(moved.Rows, len(m.Out.Names))
			m.targets(dst, moved, nil)
		})
	})
	if rows = k.rows; rows == nil {
		for i := range dst.Rows {
			rows = append(rows, i)
		}
	}
	return dst, rows, err
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
	if m.Out.Loss != "" {
		return nil, m.noClosed()
	}
	k, of, err := m.refits(ctx)
	if err != nil {
		return nil, err
	}
	l, n := k.R.Rows, len(m.Out.Names)
	r := &LeftOut{mat.NewDense(l, n, nil), mat.NewDense(l, n, nil), mat.NewDense(l, n, nil), 0}
	m.targets(r.Residuals.RawMatrix(), k.R, nil)
	m.targets(r.Deviations.RawMatrix(), k.D, k.sigma)
	H := of.leverages()
	k.rest(H)
	m.spread(r.Leverages.RawMatrix(), H)
	for i := range H.Rows {
		r.Freedom += floats.Sum(blas.Row(H, i))
	}
	return r, nil
}

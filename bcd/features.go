package bcd

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// features is the problem over W = Z_ηᵀC (D×n): Γ_η W L + μW = H_η with
// Γ_η = S·Γ·S, H_η = S·H and S = diag(√η_j) by blocks (mathematics.md §5.5). The B of its data is H.
type features struct {
	data
	gamma   linop.Operator // Γ = ZᵀZ at unit weights
	blocks  []int          // d_j
	start   []int          // first row of each block, and D
	lengths []float64      // of the columns of Z, nil where Γ is known by products only
	sums    *samples       // the rows that stand for the samples of a sum, once one was asked for
	featureScratch
}

// featureScratch is what depends on the weights.
type featureScratch struct {
	root   []float64 // √η_j, a row each
	inner  []float64 // √(η_j/unit): diag(inner)·Γ·diag(inner) is Γ_η
	eta    []float64
	scaled blas.General // S·H
	in     blas.General // scratch of Apply
}

// NewFeatures is the space of weights W (D×n) for explicit factors K_j = Z_j Z_jᵀ,
// given by one pass over the data: Gamma = ZᵀZ (D×D, lower triangle read),
// H = ZᵀY (D×n), yy = ‖Y‖²_F, the number l of samples and the widths d_j of the
// blocks Z_j in Z. No later cost depends on l. Gamma is copied into the backend's
// layout; H is kept. [Solve] reports shapes that do not fit and values that are not finite.
func NewFeatures(Gamma, H blas.General, yy float64, l int, blocks []int, be blas.Backend) Space {
	f := newFeatures(H, yy, l, blocks, Gamma.Rows, Gamma.Cols)
	if f.bad == nil {
		f.bad = f.checkGamma(Gamma)
	}
	if f.bad != nil {
		return f
	}
	be = blas.Or(be)
	packed := be.NewPacked(Gamma.Rows, blas.Float64)
	blas.PackSum(packed, []float64{1}, []*blas.Sym{blas.SymFrom(Gamma, blas.Float64)})
	gram := linop.NewGram(packed, be)
	gram.SetWeights([]float64{1})
	f.gamma = gram
	return f
}

// NewFeaturesOperator is [NewFeatures] for a Γ too large to store, given as an operator. Every product of the solvers
// with Γ is a call of gamma. Use it with an iterative Sylvester solver: a direct one multiplies all D columns of the
// identity first.
func NewFeaturesOperator(gamma linop.Operator, H blas.General, yy float64, l int, blocks []int) Space {
	f := newFeatures(H, yy, l, blocks, gamma.Dim(), gamma.Dim())
	f.gamma = gamma
	return f
}

func newFeatures(H blas.General, yy float64, l int, blocks []int, rows, cols int) *features {
	f := &features{
		data: data{
			B: H, l: l, yy: yy, unit: 1, features: true, sizeK: 1,
			sizeY: math.Sqrt(yy) / math.Sqrt(float64(l*H.Cols)),
		},
		blocks: slices.Clone(blocks), start: make([]int, len(blocks)+1),
	}
	for j, d := range blocks {
		f.start[j+1] = f.start[j] + d
	}
	if f.bad = f.validate(rows, cols); f.bad == nil {
		f.makeScratch()
	}
	return f
}

func (f *features) makeScratch() {
	D := f.Dim()
	f.featureScratch = featureScratch{
		scaled: blas.Like(f.B), root: make([]float64, D), inner: make([]float64, D),
		eta: make([]float64, len(f.blocks)),
	}
}

func (f *features) validate(rows, cols int) error {
	D := f.start[len(f.blocks)]
	switch {
	case rows != cols || rows != f.B.Rows:
		return fmt.Errorf("%w: Γ is %d×%d, H is %d×%d", ErrInput, rows, cols, f.B.Rows, f.B.Cols)
	case D != rows || slices.ContainsFunc(f.blocks, func(d int) bool { return d < 0 }):
		return fmt.Errorf("%w: the blocks %v hold %d columns, Γ is %d×%d", ErrInput, f.blocks, D, rows, cols)
	case f.B.Cols < 1 || f.l < 1 || D < 1:
		return fmt.Errorf("%w: %d samples, H is %d×%d", ErrInput, f.l, f.B.Rows, f.B.Cols)
	case !(f.yy >= 0) || math.IsInf(f.yy, 0):
		return fmt.Errorf("%w: ‖Y‖² is %g", ErrInput, f.yy)
	}
	return checkFinite("H", f.B)
}

func (f *features) checkGamma(Gamma blas.General) error {
	if err := checkFinite("Γ", Gamma); err != nil {
		return err
	}
	f.sizeK, f.lengths = 0, make([]float64, Gamma.Rows)
	for j := range f.blocks {
		trace := 0.0
		for i := f.start[j]; i < f.start[j+1]; i++ {
			v := Gamma.Data[i*Gamma.Stride+i]
			if v < 0 {
				return fmt.Errorf("%w: Γ has %g on its diagonal at row %d", ErrInput, v, i)
			}
			f.lengths[i] = math.Sqrt(v)
			trace += v / float64(f.l)
		}
		f.sizeK = math.Max(f.sizeK, trace)
	}
	return nil
}

func (f *features) Kernels() int   { return len(f.blocks) }
func (f *features) system() system { return f }

func (f *features) with(d data) Space {
	g := *f
	g.data, g.sums = d, nil
	g.makeScratch()
	return &g
}

// Dim is D.
func (f *features) Dim() int { return f.B.Rows }

// Apply computes dst = Γ_η·x.
func (f *features) Apply(dst, x blas.General) {
	f.in = blas.Reshape(f.in, x.Rows, x.Cols)
	blas.ScaleRows(f.in, f.inner, x)
	f.gamma.Apply(dst, f.in)
	blas.ScaleRows(dst, f.inner, dst)
}

// Dense writes Γ_η.
func (f *features) Dense(dst blas.General) {
	_ = linop.Dense(context.Background(), dst, f.gamma) // has no error without a deadline
	blas.ScaleRows(dst, f.inner, dst)
	blas.ScaleColumns(dst, f.inner)
}

func (f *features) at(eta []float64, _ bool) linop.Operator {
	f.setWeights(eta)
	return f
}

func (f *features) rhs(eta []float64) blas.General {
	f.setWeights(eta)
	return f.scaled
}

func (f *features) setWeights(eta []float64) {
	if slices.Equal(eta, f.eta) {
		return
	}
	copy(f.eta, eta)
	for j, e := range eta {
		fill(f.root[f.start[j]:f.start[j+1]], math.Sqrt(e))
		fill(f.inner[f.start[j]:f.start[j+1]], math.Sqrt(e/f.unit))
	}
	blas.ScaleRows(f.scaled, f.root, f.B)
}

// trace estimates by uᵀΓ_ηu, u of independent entries of variance 1/3.
func (f *features) trace(eta []float64) float64 {
	f.setWeights(eta)
	u, v := probeVector(f.Dim()), blas.NewGeneral(f.Dim(), 1)
	f.Apply(v, u)
	return 3 * blas.Inner(u, v)
}

// rebase scales the blocks of W from √from to √to: C changes little, W = Z_ηᵀC with the weights.
func (f *features) rebase(W blas.General, from, to []float64) {
	ratio := make([]float64, f.Dim())
	for j, e := range to {
		if from[j] > 0 {
			fill(ratio[f.start[j]:f.start[j+1]], math.Sqrt(e/from[j]))
		}
	}
	blas.ScaleRows(W, ratio, W)
}

// probe takes uᵀΓu over the block of each kernel and the blocks before it, in one multiply.
func (f *features) probe() []float64 {
	m := f.Kernels()
	u, v := probeVector(f.Dim()), make([]float64, m)
	in, out := blas.NewGeneral(f.Dim(), m), blas.NewGeneral(f.Dim(), m)
	for j := range m {
		for i := f.start[j]; i < f.start[j+1]; i++ {
			fill(blas.Row(in, i)[j:], u.Data[i])
		}
	}
	f.gamma.Apply(out, in)
	for j := range v {
		v[j] = blas.Inner(blas.View(in, 0, j, f.Dim(), 1), blas.View(out, 0, j, f.Dim(), 1))
	}
	return v
}

// half is Z_ηᵀC at C = (Y − Z_η·W·L)/μ, as measure has it.
func (f *features) half(t *task, pt *point) (blas.General, linop.Operator) {
	f.setWeights(pt.eta)
	R := blas.Like(pt.AX)
	t.work.mulRight(R, pt.AX, pt.L)
	blas.Scal(-1/t.mu, R.Data)
	blas.AddScaled(R, 1/t.mu, f.scaled)
	return R, nil
}

// measure works with C = (Y − Z_η·W·L)/μ, whose factors on the features at unit
// weights are V = ZᵀC = (H − Γ·S·W·L)/μ. The bound from below holds for any C, hence
// for that of the rounded product W·L, whose rounding only fit has to allow for.
func (f *features) measure(t *task, pt *point, c []float64, idx []int) {
	f.setWeights(pt.eta)
	D, w, m, W, L := f.Dim(), &t.work, &pt.measures, pt.X, pt.L
	w.xl, w.tall = blas.Reshape(w.xl, D, t.n), blas.Reshape(w.tall, D, t.n)
	WL, V := w.xl, w.tall
	w.mulRight(WL, W, L)
	terms, through := f.terms(WL), maxOf(L.S)*f.terms(W)
	used := f.multiplied(V, WL, w, pt, terms, through)
	HWL := blas.Inner(f.scaled, WL)
	FF := blas.Inner(WL, V)
	m.norm, m.form = blas.Inner(W, WL), 0
	m.fit = f.yy - 2*HWL + FF
	m.yc = (f.yy - HWL) / t.mu
	m.cc = m.fit / (t.mu * t.mu)
	size := math.Sqrt(f.yy) + math.Max(terms, math.Sqrt(math.Max(FF, 0)))
	m.rounding.fit = termRounding * size * (size + 3*through) // of the sums, of WL and of AW·L
	f.unscale(V, WL, w, idx)
	f.coefficients(V, used, m, t.mu, maxOf(L.S))
	if !t.fixL {
		blas.ScaleRows(WL, f.root, V) // Z_ηᵀC
		m.G = blas.Reshape(m.G, t.n, t.n)
		blas.GramOf(t.be, m.G, WL)
	}
	U := w.half(V, L)
	for k, j := range idx {
		c[k] = f.blockNorm(U, j)
		m.form += pt.eta[j] * c[k]
	}
}

// multiplied writes Γ_η·WL to dst and returns the size of what it adds up, terms for WL and
// through for AW·L: Σ_b |Γ_η,ab|·‖x_b‖ is at most ‖(Z_η)_a‖ times that. AW·L serves where
// its rounding, times L^½, is small beside (H_η − Γ_ηWL)·L^½, whose blocks the c_j are the squares
// of. W is as large as H_η/μ where L is 0, so that this fails for ill-conditioned systems; Γ_η
// then multiplies WL.
func (f *features) multiplied(dst, WL blas.General, w *work, pt *point, terms, through float64) float64 {
	w.mulRight(dst, pt.AX, pt.L)
	if !(through > 2*terms) {
		return math.Max(terms, through)
	}
	size := 0.0
	for i, v := range f.lengths {
		size += square(v * f.inner[i])
	}
	f.in = blas.Reshape(f.in, dst.Rows, dst.Cols)
	blas.Copy(f.in, f.scaled)
	blas.AddScaled(f.in, -1, dst)
	if termRounding*through*math.Sqrt(maxOf(pt.L.S)*size) <= formTol*blas.Frob(w.half(f.in, pt.L)) {
		return through
	}
	f.Apply(dst, WL)
	w.columns += dst.Cols
	return terms
}

// terms is Σ_b ‖(Z_η)_b‖·‖x_b‖ over the rows of x, 0 where Γ is known by products only.
func (f *features) terms(x blas.General) (sum float64) {
	for b, v := range f.lengths {
		sum += v * f.inner[b] * blas.Nrm2(blas.Row(x, b))
	}
	return sum
}

// coefficients turns V = Γ·S·W·L into ZᵀC = (H − V)/μ, and bounds what its rounding adds to the
// roots of c_j = ‖(ZᵀC)_j·L^{1/2}‖² and G. Row a of Γ·S·W·L is a sum of terms of size
// ‖Z_a‖·terms by the Cauchy–Schwarz inequality; where Γ is known by products only, the
// row itself is what is known of their size.
func (f *features) coefficients(V blas.General, terms float64, m *measures, mu, top float64) {
	m.rounding.c = make([]float64, len(f.blocks))
	total := 0.0
	for j, first := range f.start[:len(f.blocks)] {
		sum := 0.0 // of the squared rounding of the rows
		for i := first; i < f.start[j+1]; i++ {
			v, h := blas.Row(V, i), blas.Row(f.B, i)
			size := blas.Nrm2(h)
			if f.lengths == nil {
				size += blas.Nrm2(v)
			} else {
				size += f.lengths[i] / math.Sqrt(f.unit) * terms
			}
			sum += square(termRounding * size / mu)
			for k := range v {
				v[k] = (h[k] - v[k]) / mu
			}
		}
		m.rounding.c[j] = math.Sqrt(top * sum)
		total += f.eta[j] * sum
	}
	m.rounding.G = math.Sqrt(total)
}

// blockNorm is the squared norm of the rows of U that belong to kernel j.
func (f *features) blockNorm(U blas.General, j int) float64 {
	return square(blas.Frob(blas.View(U, f.start[j], 0, f.blocks[j], U.Cols)))
}

// norms are tr(W_jᵀW_jL), for f_j = √η_j·Z_jW_jL.
func (f *features) norms(t *task, pt *point, L *linop.Spectral) []float64 {
	U, v := t.work.half(pt.X, L), make([]float64, len(f.blocks))
	for j := range v {
		v[j] = f.blockNorm(U, j)
	}
	return v
}

// unscale turns V = S·Γ·S·W·L into Γ·S·W·L on the blocks of idx: by division
// where the weight is not 0, else by a multiplication.
func (f *features) unscale(V, WL blas.General, w *work, idx []int) {
	if slices.ContainsFunc(idx, func(j int) bool { return f.eta[j] == 0 }) {
		f.in = blas.Reshape(f.in, V.Rows, V.Cols)
		blas.ScaleRows(f.in, f.root, WL)
		f.gamma.Apply(V, f.in)
		blas.Scal(1/f.unit, V.Data)
		w.columns += V.Cols
		return
	}
	for i := range V.Rows {
		if f.root[i] > 0 {
			blas.Scal(1/f.root[i], blas.Row(V, i))
		}
	}
}

func (f *features) quadratic(t *task, pt *point, q *quadratic) {
	f.setWeights(pt.eta)
	be, W := t.be, pt.X
	q.YY = f.yy
	q.reshape(t.n)
	blas.Mul(be, q.AtA, true, false, W, pt.AX)
	blas.Symmetrize(q.AtA)
	blas.Mul(be, q.AtY, true, false, W, f.scaled)
	blas.GramOf(be, q.B, W)
}

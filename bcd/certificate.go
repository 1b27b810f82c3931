package bcd

import (
	"cmp"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd/internal/concave"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// certificate holds a value of the objective and two lower bounds of what could
// be reached by moving one block. With U the objective at any C, and for every s ≥ 0, here for the squared loss,
//
//	min over L ∈ S(τ)  ≥  λ(2s⟨Y,C⟩ − s²(μ‖C‖² + τ·λ_max(G)) + ω(η))
//	min over η         ≥  λ(2s⟨Y,C⟩ − s²μ‖C‖² − ω*(s²c))
//
// (mathematics.md §2); the best s is taken, or, for L, what is better than any s:
// see bestShape. c covers all m kernels.
type certificate struct {
	objective    float64
	gapEta, gapL float64
}

// relative is (gapEta + gapL)/objective, 0 when both are 0, and its largest value, 2,
// where the objective is not finite.
func (c certificate) relative() float64 {
	gap := c.gapEta + c.gapL
	if gap == 0 {
		return 0
	}
	if v := gap / math.Abs(c.objective); v <= 2 {
		return v
	}
	return 2
}

// objective is U = ‖F−Y‖²/l + λ(‖f‖² + ω(η)), with the OKL term ρ‖L‖² when there is one.
func (t *task) objective(pt *point) float64 {
	return pt.fit/float64(t.l) + t.lambda*(pt.norm+t.omega(pt.eta)) + t.penalty(pt.L)
}

// penalty is ρ‖L‖²_F.
func (t *task) penalty(L *linop.Spectral) float64 {
	if L.Rank() == 0 { // also where ρ is not finite
		return 0
	}
	return t.rho * blas.Dot(L.S, L.S)
}

// omega is ω(η), 0 when η is not learned.
func (t *task) omega(eta []float64) float64 {
	if t.fixEta {
		return 0
	}
	return t.reg.Omega(eta)
}

// certify computes both gaps at pt, whose measures must cover all kernels.
func (t *task) certify(pt *point) error {
	U := t.objective(pt)
	pt.cert, pt.covered = certificate{objective: U}, false
	if t.fixL && t.fixEta {
		pt.cert.gapL = t.inexactness(pt)
	}
	if !t.fixL {
		low, _, err := t.lowerL(pt)
		if err != nil {
			return err
		}
		pt.cert.gapL = t.gap(U, low, pt.rounding.fit)
	}
	if !t.fixEta {
		pt.cert.gapEta = t.gap(U, t.lowerEta(pt), pt.rounding.fit)
	}
	return nil
}

// gap is U − low. Only rounding makes it negative: it is 0 at the rounding of U, else
// its size, which shows the rounding of what U is the difference of. No value of the
// objective is negative, so U bounds it, also where low is not a number. The rounding
// of ⟨Y,F⟩ and ‖F‖² comes on top: at s = 1, U − low is made of 2/l of their difference.
func (t *task) gap(U, low, rounding float64) float64 {
	g := U - low
	if g < 0 && -g <= gapUlps*0x1p-52*float64(t.l)*U {
		g = 0
	}
	if g = math.Abs(g) + 2*rounding/float64(t.l); g < U {
		return g
	}
	return math.Max(U, 0)
}

// raised is the largest that a sum of squares v may be where rounding moves its root.
func raised(v, rounding float64) float64 {
	return square(math.Sqrt(math.Max(v, 0)) + rounding)
}

// lowerL bounds the objective over L from below, η fixed. For OKL, min over
// L ⪰ 0 of ρ‖L‖² − λs²⟨G,L⟩ is −λ²s⁴‖G‖²/(4ρ). The shape is that of the
// coefficients the bound is taken at.
func (t *task) lowerL(pt *point) (float64, shape, error) {
	form := shape{yc: pt.yc, cc: pt.cc}
	if t.rho > 0 {
		g2 := square(raised(blas.Frob(pt.G), pt.rounding.G)) * t.lambda / (4 * t.rho)
		return t.lambda * (t.omega(pt.eta) + t.bestScale(&pt.measures, func(s float64) float64 {
			return square(square(s)) * g2
		})), form, nil
	}
	V, g, err := t.eigen(pt.G)
	if err != nil {
		return 0, form, err
	}
	omega := t.omega(pt.eta)
	if t.data.complete() {
		yc, cc := t.along(pt.X, V)
		rest := t.data.dropped / t.mu // ⟨Y,C⟩ outside the outputs at hand, see project
		form = shape{V: V, t: t.bestShape(yc, cc, g, math.Inf(1)), yc: rest, cc: rest / t.mu}
		top := 0.0
		for i, v := range form.t {
			form.yc += v * yc[i]
			form.cc += v * v * cc[i]
			top = math.Max(top, v*v*g[i])
		}
		return t.lambda * (2*form.yc - t.mu*form.cc - t.tau*top + omega), form, nil
	}
	low := t.bestMultiple(&pt.measures, t.tau*raised(g[t.n-1], pt.rounding.G))
	if t.data.cells != nil {
		if low, err = t.lowerOfCells(pt, V, g, low); err != nil {
			return 0, form, err
		}
		low = t.highestBound(pt, low)
	}
	return t.lambda * (low + omega), form, nil
}

// lowerOfCells raises low, the bound over L at X, by that at other X. Where cells are missing or weighted, XT of
// bestShape leaves the cells; what stays on them, X ← XT on Ω, is not of the forms that T was the best for, but every X
// gives a bound, at the cost of a product with A_η, and a few such steps bring the bound near the one that the best T
// would give on a full grid. V and g are eigenvectors and eigenvalues of G.
func (t *task) lowerOfCells(pt *point, V blas.General, g []float64, low float64) (float64, error) {
	A, w := t.system.at(pt.eta, false), &t.work
	X, AX, G := blas.Clone(pt.X), blas.Like(pt.X), blas.NewGeneral(t.n, t.n)
	left := func() float64 { return pt.cert.objective/t.lambda - t.omega(pt.eta) - low }
	for range shapeSteps {
		yc, cc := t.along(X, V)
		most := math.Inf(1)
		if t.data.loss != nil { // beyond which coefficients may leave the box; the conjugate is taken for linear
			most = 1
			clear(cc)
		}
		w.mulRight(X, X, &linop.Spectral{V: V, S: t.bestShape(yc, cc, g, most)})
		t.loss.keep(X, t.mu)
		PX := t.data.coefficients(w, X)
		A.Apply(AX, PX)
		w.columns += t.n
		blas.Mul(t.be, G, true, false, PX, AX)
		blas.Symmetrize(G)
		var err error
		if V, g, err = t.eigen(G); err != nil {
			return low, err
		}
		var at measures
		t.loss.dual(&at, t.mu, X)
		gain := t.bestMultiple(&at, t.tau*math.Max(g[t.n-1], 0)) - low
		if low += math.Max(gain, 0); !(gain > shapeGain*left()) {
			break
		}
	}
	return low, nil
}

// along returns y_i = vᵢᵀYᵀC vᵢ and ‖C vᵢ‖² for the columns vᵢ of V.
func (t *task) along(C, V blas.General) (yc, cc []float64) {
	w := &t.work
	w.xl, w.tall = blas.Reshape(w.xl, C.Rows, V.Cols), blas.Reshape(w.tall, C.Rows, V.Cols)
	blas.Mul(w.be, w.xl, false, false, C, V)
	blas.Mul(w.be, w.tall, false, false, t.data.B, V)
	yc, cc = make([]float64, V.Cols), make([]float64, V.Cols)
	for i := range C.Rows {
		y := blas.Row(w.tall, i)
		for j, c := range blas.Row(w.xl, i) {
			yc[j] += c * y[j]
			cc[j] += c * c
		}
	}
	return yc, cc
}

// bestMultiple maximises the dual value at s·C less s²·quad over s ≥ 0.
func (t *task) bestMultiple(m *measures, quad float64) float64 {
	if m.dual != nil {
		return t.bestScale(m, func(s float64) float64 { return s * s * quad })
	}
	if quad += t.mu * m.cc; m.yc > 0 && quad > 0 {
		return m.yc * (m.yc / quad)
	}
	return 0
}

// bestShape maximises 2⟨Y,CT⟩ − μ‖CT‖² − τ·λ_max(TᵀGT) over T = V·diag(t)·Vᵀ with
// the eigenvectors V of G, eigenvalues g: the bound holds for the coefficients CT
// as for any. With t_i²g_i ≤ ρ², the best t_i ≤ most is min(most, yc_i/(μcc_i), ρ/√g_i), and
// what is left is concave in ρ. Directions in which L is too small, whose g_i
// exceed the rest, are cut down so, where scaling all of C, as T = sI does, would
// let the largest g_i decide: the gap is smaller by orders of magnitude.
func (t *task) bestShape(yc, cc, g []float64, most float64) []float64 {
	free, top := make([]float64, len(g)), 0.0
	for i := range g {
		if free[i] = math.Min(most, yc[i]/(t.mu*cc[i])); !(yc[i] > 0) || math.IsInf(free[i], 1) { // underflow
			free[i] = 0
		}
		top = math.Max(top, free[i]*math.Sqrt(math.Max(g[i], 0)))
	}
	cut := func(i int, rho float64) float64 {
		if g[i] > 0 {
			return math.Min(free[i], rho/math.Sqrt(g[i]))
		}
		return free[i]
	}
	rho, _ := concave.Max(math.Sqrt(math.Max(maxOf(g), 0)), top, func(rho float64) float64 {
		v := -t.tau * rho * rho
		for i := range free {
			s := cut(i, rho)
			v += s * (2*yc[i] - t.mu*s*cc[i])
		}
		return v
	})
	shape := make([]float64, len(g))
	for i := range shape {
		shape[i] = cut(i, rho)
	}
	return shape
}

// lowerEta bounds the objective over η from below, L fixed.
func (t *task) lowerEta(pt *point) float64 {
	c, sc := slices.Clone(pt.c), make([]float64, len(pt.c))
	for j, e := range pt.rounding.c {
		c[j] = raised(c[j], e)
	}
	return t.penalty(pt.L) + t.lambda*t.bestScale(&pt.measures, func(s float64) float64 {
		for j, v := range c {
			sc[j] = s * s * math.Max(v, 0)
		}
		return t.reg.Conjugate(sc)
	})
}

// bestScale maximises the dual value at s·C less penalty(s) over s ≥ 0, for a convex
// non-decreasing penalty that may become +∞: any s gives a valid bound, so only its
// tightness depends on the search.
func (t *task) bestScale(m *measures, penalty func(s float64) float64) float64 {
	value := func(s float64) float64 { return m.conjugate(t.mu, s) - penalty(s) }
	hi := 1.0 // where the rounding of ‖C‖² in feature space leaves no bound of s
	switch quad := t.mu * m.cc; {
	case m.dual != nil:
		hi = math.Min(m.dual.Most, mostMultiple)
	case !(m.yc > 0):
		return value(0)
	case quad > 0:
		hi = m.yc / quad
	}
	_, best := concave.Max(1, hi, value)
	return best
}

// mostMultiple bounds the multiples of the coefficients that a bound is looked for at.
const mostMultiple = 0x1p20

// maxOf is the largest of x and 0, NaN where one is.
func maxOf(x []float64) float64 { return regularizer.Lp{P: 2}.Norm(x) }

func fill(dst []float64, v float64) {
	for i := range dst {
		dst[i] = v
	}
}

// gaps computes the gap of pt over the kernels that are measured: with U the
// objective at any C, for every matrix T,
//
//	min h ≥ λ(2⟨Y,CT⟩ − μ‖CT‖² − τ·‖(λ_max(TᵀG_1T) … λ_max(TᵀG_mT))‖_q*)
//
// (mathematics.md §12), which a point of all kernels shows for all points. The best multiple of a
// few T serves, see [sumModel.clipped]; with
// missing cells, outside of which C·T would not vanish, T is the identity.
func (f *sumModel) gaps(pt *point) error {
	t := f.t
	var idx []int
	for j, G := range pt.Gs {
		if G.Data != nil {
			idx = append(idx, j)
		}
	}
	pt.top = make([]float64, t.m)
	fail := make([]error, len(idx))
	par.For(len(idx), func(k int) {
		_, w, err := t.eigen(pt.Gs[idx[k]])
		pt.top[idx[k]], fail[k] = math.Max(0, w[t.n-1]), err
	})
	if err := cmp.Or(fail...); err != nil {
		return err
	}
	low := t.bestMultiple(&pt.measures, t.tau*f.norm.Conjugate(pt.top))
	if t.data.cells == nil && pt.dual == nil && low > 0 {
		low = math.Max(low, f.clipped(pt, idx))
	}
	rounding := t.data.rounding(pt.fit)
	pt.cert.gapL = t.gap(pt.cert.objective, t.lambda*low, rounding)
	if len(idx) == t.m {
		f.low = math.Max(f.low, t.lambda*low-2*rounding/float64(t.l))
		pt.cert.gapL = math.Min(pt.cert.gapL, math.Abs(pt.cert.objective-f.low))
	}
	return nil
}

// clipped is the best bound for the products T = S_1·…·S_m that cut the eigenvalues of
// the TᵀG_jT down to a level, over the level: S_j has the eigenvectors of the matrix
// that it cuts, and no eigenvalue above 1, so that it raises λ_max of none of the
// others. For q = 1 the level is one number, else a share of each λ_max(G_j).
func (f *sumModel) clipped(pt *point, idx []int) float64 {
	t, top := f.t, maxOf(pt.top)
	YC, CC := blas.Product(t.be, true, false, pt.X, f.s.B), blas.NewGeneral(t.n, t.n)
	blas.GramOf(t.be, CC, pt.X)
	rest := f.s.dropped / t.mu
	value := func(share float64) float64 {
		level, cut := make([]float64, t.m), make([]float64, t.m)
		for j, g := range pt.top {
			if level[j] = share * top; f.norm.P > 1 {
				level[j] = share * g
			}
			cut[j] = math.Min(g, level[j]) * (1 + clipSlack)
		}
		T, err := f.cutDown(pt, idx, level)
		if err != nil {
			return 0
		}
		CCT := blas.Product(t.be, false, false, CC, T)
		at := measures{yc: blas.Inner(YC, T) + rest, cc: blas.Inner(CCT, T) + rest/t.mu}
		return t.bestMultiple(&at, t.tau*f.norm.Conjugate(cut))
	}
	// The level of the optimum is near ⟨G_j,L_j⟩ in the mean.
	low := math.Min(1, clipFrom*pt.form/(t.tau*f.norm.Conjugate(pt.top)))
	steps := int(clipWork / (float64(len(idx)*t.n) * float64(t.n*t.n)))
	_, best := concave.Section(low, 1, max(clipLeast, min(clipMost, steps)), value)
	return best
}

// cutDown is the T of [sumModel.clipped] for the levels of the kernels of idx.
func (f *sumModel) cutDown(pt *point, idx []int, level []float64) (blas.General, error) {
	T := linop.ScaledIdentity(f.t.n, 1).V
	for _, j := range idx {
		if !(pt.top[j] > level[j]) {
			continue
		}
		V, g, err := f.t.eigen(within(f.t.be, T, pt.Gs[j]))
		if err != nil {
			return T, err
		}
		for i, v := range g {
			if g[i] = 1; v > level[j] {
				g[i] = math.Sqrt(level[j] / v)
			}
		}
		f.t.work.mulRight(T, T, &linop.Spectral{V: V, S: g})
	}
	return T, nil
}

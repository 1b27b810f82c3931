package bcd

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
)

// dense is a fitted point in plain dense arithmetic, in the unit s of the targets'
// largest entry: every value of the objective is divided by s², C by s/μ, η by its
// largest entry e and K_j by the largest entry k of all.
type dense struct {
	l, n       int
	samples    float64 // that have an observed cell
	s, e, k, b float64
	Y, F, C, L *mat.Dense
	K          []*mat.Dense
	eta        []float64
	norm       float64 // ‖f‖²·λ/s²
	size       float64 // ‖|K_η|·|C|·|L|‖_F/s, to which the rounding of F is proportional
}

// unit is m divided by its largest entry, and that entry, 1 where m is 0.
func unit(m mat.Matrix) (*mat.Dense, float64) {
	d, top := mat.DenseCopyOf(m), 0.0
	for _, v := range d.RawMatrix().Data {
		top = math.Max(top, math.Abs(v))
	}
	if top == 0 {
		top = 1
	}
	return times(d, 1, top), top
}

// times is m·a/b.
func times(m mat.Matrix, a, b float64) *mat.Dense {
	d := mat.DenseCopyOf(m)
	d.Apply(func(_, _ int, v float64) float64 { return v / b * a }, d)
	return d
}

func product(ms ...mat.Matrix) *mat.Dense {
	d := mat.DenseCopyOf(ms[0])
	for _, m := range ms[1:] {
		var next mat.Dense
		next.Mul(d, m)
		d = &next
	}
	return d
}

func absolute(m mat.Matrix) *mat.Dense {
	d := mat.DenseCopyOf(m)
	d.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, d)
	return d
}

func square2(m mat.Matrix) float64 { return square(mat.Norm(m, 2)) }

func (tr *trial) dense(res *Result) *dense {
	l, n := tr.Y.Dims()
	d := &dense{l: l, n: n, samples: float64(tr.p.Space.Samples()), eta: make([]float64, len(res.Eta)), k: 1}
	d.Y, d.s = unit(tr.Y)
	L := blas.NewGeneral(n, n)
	res.L.Dense(blas.Active(), L)
	d.L, d.b = unit(mat.NewDense(n, n, L.Data))
	for _, K := range tr.Ks {
		if _, k := unit(K); mat.Trace(K) > 0 && (d.k == 1 || k > d.k) {
			d.k = k
		}
	}
	if d.e = maxOf(res.Eta); d.e == 0 {
		d.e = 1
	}
	for j, K := range tr.Ks {
		d.K = append(d.K, times(K, 1, d.k))
		d.eta[j] = res.Eta[j] / d.e
	}
	lambda, mu := tr.p.Lambda, tr.p.Lambda*d.samples
	if tr.Zs == nil {
		C, a := unit(mat.NewDense(l, n, res.C.Data))
		KC := product(d.Keta(), C)
		q := a / d.s * d.k * d.e * d.b // of F/s in these units
		d.F = times(product(KC, d.L), q, 1)
		if tr.cells != nil {
			tr.cells.Project(d.F.RawMatrix(), d.F.RawMatrix())
		}
		d.norm = inner(C, product(KC, d.L)) * lambda * (a / d.s) * q // 0 where C is
		d.C = times(C, a/d.s*mu, 1)
		d.size = q * mat.Norm(product(absolute(d.Keta()), absolute(C), absolute(d.L)), 2)
		return d
	}
	W, w := unit(mat.NewDense(res.C.Rows, n, res.C.Data))
	d.F = mat.NewDense(l, n, nil)
	size, at := mat.NewDense(l, n, nil), 0
	for j, Z := range tr.Zs {
		part := W.Slice(at, at+Z.Cols, 0, n)
		at += Z.Cols
		root := math.Sqrt(res.Eta[j])
		Zj := times(mat.NewDense(l, Z.Cols, Z.Data), w/d.s*root*d.b, 1)
		d.F.Add(d.F, product(Zj, part, d.L))
		size.Add(size, product(absolute(Zj), absolute(part), absolute(d.L)))
	}
	d.size = mat.Norm(size, 2) + mat.Norm(d.Y, 2)
	d.norm = inner(W, product(W, d.L)) * lambda * (w / d.s) * d.b * (w / d.s) // 0 where W is
	d.C = new(mat.Dense)
	d.C.Sub(d.Y, d.F)
	return d
}

func (d *dense) Keta() *mat.Dense {
	K := mat.NewDense(d.l, d.l, nil)
	for j, e := range d.eta {
		K.Add(K, times(d.K[j], e, 1))
	}
	return K
}

func inner(a, b mat.Matrix) float64 {
	var v mat.Dense
	v.MulElem(a, b)
	return mat.Sum(&v)
}

// best is the maximum of a concave function over [0,hi].
func best(hi float64, value func(x float64) float64) float64 {
	lo, at := 0.0, math.Max(value(0), value(hi))
	for range 300 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		fa, fb := value(a), value(b)
		at = math.Max(at, math.Max(fa, fb))
		if fa >= fb {
			hi = b
		} else {
			lo = a
		}
	}
	return at
}

// check compares what res says with the formulas of mathematics.md §2 at its point,
// and returns the objective and the lower bounds over η and over L, divided by s².
func (tr *trial) check(res *Result, solver string) (U, lowEta, lowL, slack float64, err error) {
	d := tr.dense(res)
	lambda, fl := tr.p.Lambda, d.samples
	s2 := d.s * d.s
	var diff mat.Dense
	diff.Sub(d.F, d.Y)
	omega := 0.0
	if !tr.p.Model.fixEta() {
		omega = lambda * tr.p.Norm.Omega(res.Eta) / d.s / d.s
	}
	rho := 0.0
	if solver == "okl" {
		rho = lambda
	}
	frobL := d.b / d.s * mat.Norm(d.L, 2)
	U = square2(&diff)/fl + d.norm + omega + rho*frobL*frobL
	reported := res.Objective / s2
	slack = 1e-9*U + 1e-13*square(d.size)/fl
	if tr.Zs != nil {
		slack += 1e-12 * square2(d.Y) / fl
	}
	if !(math.Abs(U-reported) <= slack) {
		return U, 0, 0, slack, fmt.Errorf("objective %g, by the formula %g (slack %g)", reported, U, slack)
	}
	// C is in units of s/μ: λ⟨Y,C⟩/s² = ⟨Ŷ,Ĉ⟩/l, λμ‖C‖²/s² = ‖Ĉ‖²/l.
	mu := lambda * fl
	yc, cc := inner(d.Y, d.C)/fl, square2(d.C)/fl
	KC := product(d.Keta(), d.C)
	G := product(d.C.T(), KC) // λτG/s² = (τ·k·e/μ)·G/l in these units
	G.Apply(func(_, _ int, v float64) float64 { return v / fl }, G)
	lowEta, lowL = U, U
	trace := 0.0
	for j, K := range d.K {
		trace += d.eta[j] * mat.Trace(K)
	}
	// The forms of C are rounded in proportion to ‖K_η‖·τ/μ and ‖K_η‖·‖L‖/μ.
	slack = 10*slack + 1e-15*trace*d.k*d.e*math.Max(tr.p.Tau, d.b*mat.Trace(d.L))/mu*cc
	if !tr.p.Model.fixEta() {
		c := make([]float64, len(d.K)) // c_j·λ/s²
		for j, K := range d.K {
			if tr.Zs == nil {
				c[j] = math.Max(d.k*d.b/mu/fl*inner(d.C, product(K, d.C, d.L)), 0)
			} else {
				c[j] = tr.leastForm(d, j)
			}
		}
		value := func(x float64) float64 {
			arg := make([]float64, len(c))
			for j := range c {
				arg[j] = x * x * c[j] / lambda * d.s * d.s
			}
			return 2*x*yc - x*x*cc - lambda*tr.p.Norm.Conjugate(arg)/d.s/d.s + rho*frobL*frobL
		}
		can := math.Max(best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), value),
			value(math.Min(1, yc/math.Max(cc, 1e-300))))
		lowEta = U - res.GapEta/s2
		if !(lowEta <= can+slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over η %g, by the formula at most %g (slack %g)", lowEta,
				can, slack)
		}
		if tr.Zs == nil && !(lowEta >= value(math.Min(1, yc/math.Max(cc, 1e-300)))-slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over η %g is worse than its formula %g (slack %g, U %g)",
				lowEta, value(math.Min(1, yc/math.Max(cc, 1e-300))), slack, U)
		}
	}
	if !tr.p.Model.fixL() {
		if solver == "okl" { // whose bound has ‖G‖², with the rounding of G
			slack += square(1e-15 * trace * d.k * d.e * d.s / mu * cc / math.Sqrt(4*rho))
			slack += 2e-15 * trace * d.k * d.e * d.s / mu * cc / math.Sqrt(4*rho) * d.k * d.e * d.s / mu * mat.Norm(G,
				2) / math.Sqrt(4*rho)
		}
		can := tr.bestOverL(d, G, yc, cc, omega, rho, solver)
		lowL = U - res.GapL/s2
		if tr.cells != nil && solver != "okl" { // the best over several X; the objectives of other solvers bound it
			can = U
		}
		if !(lowL <= can+slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over L %g, by the formula at most %g (slack %g)", lowL,
				can, slack)
		}
	}
	return U, lowEta, lowL, slack, nil
}

// leastForm is the smallest that c_j·λ/s² may be in feature space. It is ‖Z_jᵀC·L^{1/2}‖² in
// units, and C is known as Y − F, which has a rounding of u·size with size the norm of
// |Y| + |Z_η|·|W|·|L| and u = 2⁻⁵³. Z_jᵀ and L^{1/2} multiply it by ‖Z_j‖·√tr L at most. Γ and H,
// which the fit knows instead of Z and Y, have a rounding of the same size. A bound
// that is not quadratic in c_j, +∞ where it exceeds 1, turns this into any difference.
func (tr *trial) leastForm(d *dense, j int) float64 {
	l, cols := tr.Zs[j].Rows, tr.Zs[j].Cols
	Z := times(mat.NewDense(l, cols, tr.Zs[j].Data), 1, math.Sqrt(d.k))
	V := product(Z.T(), d.C)
	unit := d.k * d.b / (tr.p.Lambda * float64(l) * float64(l))
	root := math.Sqrt(unit * math.Max(inner(V, product(V, d.L)), 0))
	rounding := 16 * 0x1p-53 * d.size * mat.Norm(Z, 2) * math.Sqrt(unit*mat.Trace(d.L))
	return square(math.Max(root-rounding, 0))
}

// bestOverL is the largest lower bound over L that coefficients C·T give, T diagonal
// in the eigenvectors of G in sample space and a number in feature space and with
// missing cells, which C·T has to be 0 in.
func (tr *trial) bestOverL(d *dense, G *mat.Dense, yc, cc, omega, rho float64, solver string) float64 {
	mu := tr.p.Lambda * d.samples
	sym := mat.NewSymDense(d.n, nil)
	for i := range d.n {
		for j := range i + 1 {
			sym.SetSym(i, j, (G.At(i, j)+G.At(j, i))/2)
		}
	}
	if solver == "okl" { // min over L ⪰ 0 of ρ‖L‖² − λx²⟨G,L⟩
		g := mat.Norm(sym, 2) * (d.k * d.e) / mu * d.s / math.Sqrt(4*rho)
		return best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), func(x float64) float64 {
			return 2*x*yc - x*x*cc - square(x*x*g)
		}) + omega
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return math.Inf(1)
	}
	g, V := eig.Values(nil), new(mat.Dense)
	eig.VectorsTo(V)
	for i := range g {
		g[i] = math.Max(g[i], 0) * (tr.p.Tau / mu * d.k * d.e)
	}
	if tr.Zs != nil || tr.cells != nil {
		top := g[len(g)-1]
		return best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), func(x float64) float64 {
			return 2*x*yc - x*x*(cc+top)
		}) + omega
	}
	YV, CV := product(d.Y, V), product(d.C, V)
	y, c, hi := make([]float64, d.n), make([]float64, d.n), 0.0
	null := 0 // eigenvectors, first, to which no basis is given: T may be any matrix on them
	for null < d.n && g[null] <= 1e-12*g[d.n-1] {
		null++
	}
	var svd mat.SVD
	if null > 0 && svd.Factorize(CV.Slice(0, d.l, 0, null), mat.SVDThin) {
		var Q, part mat.Dense
		svd.UTo(&Q)
		part.Mul(Q.T(), YV.Slice(0, d.l, 0, null))
		omega += square(mat.Norm(&part, 2)) / float64(d.l)
	}
	for j := null; j < d.n; j++ {
		y[j] = mat.Dot(YV.ColView(j), CV.ColView(j)) / float64(d.l)
		c[j] = square(mat.Norm(CV.ColView(j), 2)) / float64(d.l)
		if y[j] > 0 && c[j] > 0 {
			hi = math.Max(hi, y[j]/c[j]*math.Sqrt(g[j]))
		}
	}
	return best(hi, func(x float64) float64 {
		v := -x * x
		for j := range y {
			if y[j] > 0 && c[j] > 0 {
				T := y[j] / c[j]
				if g[j] > 0 {
					T = math.Min(T, x/math.Sqrt(g[j]))
				}
				v += T * (2*y[j] - T*c[j])
			}
		}
		return v
	}) + omega
}

package bcd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/deadline"
	"github.com/iokl/iokl/linop"
)

var (
	stressFor  = flag.Duration("stress", 0, "how long TestStress runs; 0 means a number of trials that depends on -short")
	stressSeed = flag.Uint64("stress-seed", 1, "seed of the trials of TestStress")
	stressOnly = flag.Int("stress-trial", -1, "the one trial of TestStress to run")
)

const (
	stressTrials      = 200
	stressTrialsShort = 25          // with -short, which the race detector and OpenBLAS run with
	stressLimit       = time.Minute // for one fit
)

// trial is a random problem, its kernels as dense matrices and what it is called in messages.
type trial struct {
	name       string
	p          Problem
	Ks         []*mat.SymDense
	Zs         []blas.General // their factors, in feature space only
	Y          *mat.Dense
	cells      *linop.Cells // that are observed, Y being 0 elsewhere; nil for all
	inner      string
	tol        float64
	wellScaled bool // double precision suffices to solve the problem to tol
}

// pick is one of the arguments.
func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// magnitude is 1 most of the time, else 10^e with e of size up to most.
func magnitude(rng *rand.Rand, most float64) float64 {
	switch rng.IntN(8) {
	case 0:
		return math.Pow(10, math.Round(most*(2*rng.Float64()-1)))
	case 1:
		return math.Pow(10, math.Round(20*(2*rng.Float64()-1)))
	}
	return 1
}

// factor is a random Z (l×d) with K = ZZᵀ one kernel of a trial.
func factor(rng *rand.Rand, X blas.General, before []blas.General) (Z blas.General, what string) {
	l, d := X.Rows, X.Cols
	switch rng.IntN(8) {
	case 0:
		if len(before) > 0 {
			return before[rng.IntN(len(before))], "twin"
		}
		fallthrough
	case 1: // (1 + ⟨x,z⟩)², of rank (d+1)(d+2)/2
		Z = blas.NewGeneral(l, (d+1)*(d+2)/2)
		for i := range l {
			x, at := append([]float64{1}, blas.Row(X, i)...), 0
			for a := range x {
				for b := range a + 1 {
					v := x[a] * x[b]
					if a != b {
						v *= math.Sqrt2
					}
					Z.Data[i*Z.Stride+at] = v
					at++
				}
			}
		}
		return Z, "poly"
	case 2:
		return blas.NewGeneral(l, 1+rng.IntN(3)), "zero"
	case 3: // all eigenvalues 1 or 0
		Z = blas.NewGeneral(l, 1+rng.IntN(l))
		for j := range Z.Cols {
			Z.Data[j*Z.Stride+j] = 1
		}
		return Z, "projection"
	case 4:
		return blas.Clone(X), "linear"
	case 5:
		return randn(rng, l, 1), "rank one"
	case 6: // eigenvalues that fall to rounding level
		Z = randn(rng, l, l)
		for j := range l {
			for i := range l {
				Z.Data[i*l+j] *= math.Pow(10, -8*float64(j)/float64(l))
			}
		}
		return Z, "decaying"
	}
	return randn(rng, l, l+3), "full"
}

func newTrial(rng *rand.Rand) *trial {
	l := pick(rng, 1, 2, 3, 5, 8, 13, 13, 20, 20, 33)
	if rng.IntN(20) == 0 {
		l = 70
	}
	n := pick(rng, 1, 1, 2, 3, 6, 12, min(l+2, 35), min(2*l+1, 24))
	m := pick(rng, 1, 2, 3, 5)
	d := pick(rng, 1, 2, 4)
	X := randn(rng, l, d)
	if rng.IntN(3) == 0 { // duplicated rows
		for i := l / 2; i < l; i++ {
			copy(blas.Row(X, i), blas.Row(X, i-l/2))
		}
	}
	t := &trial{tol: pick(rng, 1e-2, 1e-4, 1e-4, 1e-6)}
	sY, sK := magnitude(rng, 150), magnitude(rng, 150)
	var Zs []blas.General
	kinds := ""
	for range m {
		Z, what := factor(rng, X, Zs)
		Zs, kinds = append(Zs, Z), kinds+" "+what
	}
	// Targets: a function of the kernels and noise, or 0.
	Y := blas.NewGeneral(l, n)
	noise := pick(rng, 0, 1e-3, 0.3, 1)
	if rng.IntN(12) > 0 {
		for _, Z := range Zs {
			blas.Gemm(blas.Active(), false, false, 1, Z, randn(rng, Z.Cols, n), 1, Y)
		}
		blas.AddScaled(Y, noise, randn(rng, l, n))
	}
	if rng.IntN(4) == 0 && n > 1 { // dependent outputs
		for i := range l {
			Y.Data[i*n+n-1] = Y.Data[i*n]
		}
	}
	blas.Scal(sY, Y.Data)
	for j := range Zs {
		Zs[j] = scaled(Zs[j], math.Sqrt(sK))
	}
	t.Y = mat.NewDense(l, n, Y.Data)
	for _, Z := range Zs {
		K := mat.NewSymDense(l, nil)
		K.SymOuterK(1, mat.NewDense(l, Z.Cols, Z.Data))
		t.Ks = append(t.Ks, K)
	}
	lambda := math.Pow(10, -12+18*rng.Float64())
	if rng.IntN(2) == 0 {
		lambda = math.Pow(10, -5+5*rng.Float64())
	}
	tau := float64(n)
	compensated := sK == 1 || rng.IntN(2) == 0
	if compensated {
		tau /= sK
	}
	sizes := []int{m}
	if m > 2 {
		sizes = []int{2, m - 2}
	}
	t.p = Problem{
		Lambda: lambda, Tau: tau,
		Norm: pick[Regularizer](rng, Lp{1}, Lp{1.3}, Lp{1.7}, Lp{2}, BlockR{1}, BlockR{1.3}, ElasticNet{0.5}, Groups{sizes}, Wedge{}),
	}
	space := pick(rng, "gram", "gram", "factors", "features")
	var K linop.Sum
	switch space {
	case "gram":
		var terms []*blas.Sym
		for _, K := range t.Ks {
			terms = append(terms, blas.SymFrom(blas.General{Rows: l, Cols: l, Stride: l, Data: mat.DenseCopyOf(K).RawMatrix().Data}, blas.Float64))
		}
		K = linop.NewGramSum(terms, nil, blas.Float64)
		t.p.Space = NewSamples(K, Y)
	case "factors":
		K = linop.NewFactorSum(Zs, nil)
		t.p.Space = NewSamples(K, Y)
	default:
		Z := Zs[0]
		blocks := []int{Z.Cols}
		for _, next := range Zs[1:] {
			Z, blocks = sideBySide(Z, next), append(blocks, next.Cols)
		}
		Gamma, H := blas.NewGeneral(Z.Cols, Z.Cols), blas.NewGeneral(Z.Cols, n)
		blas.GramOf(blas.Active(), Gamma, Z)
		blas.Mul(blas.Active(), H, true, false, Z, Y)
		t.Zs = Zs
		t.p.Space = NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil)
	}
	learn := pick(rng, "both", "both", "eta", "l")
	switch learn {
	case "eta":
		t.p.FixL = true
		if rng.IntN(2) == 0 {
			L, err := linop.NewSpectral(blas.Active(), func() blas.General {
				G, R := blas.NewGeneral(n, n), randn(rng, n, 1+rng.IntN(n))
				blas.Mul(blas.Active(), G, false, true, R, R)
				return G
			}(), 0)
			if err != nil {
				panic(err)
			}
			blas.Scal(tau/floats.Sum(L.S), L.S)
			t.p.L = L
		}
	case "l":
		t.p.FixEta, t.p.Eta = true, make([]float64, m)
		for j := range t.p.Eta {
			t.p.Eta[j] = float64(rng.IntN(3)) * rng.ExpFloat64()
		}
	}
	inners := []string{"auto", "auto", "nystrom", "krylov", "rotated", "cg", "eigen", "tridiagonal", "cholesky"}
	t.inner = pick(rng, inners...)
	if share := pick(rng, 0, 0, 0.1, 0.5, 0.9); share > 0 && K != nil {
		holes := blas.Clone(Y)
		for i := range holes.Data {
			if i > 0 && rng.Float64() < share {
				holes.Data[i] = math.NaN()
			}
		}
		if cells := linop.ObservedCells(holes); !cells.Complete() {
			t.p.Space, t.cells = NewSamples(K, holes), cells
			cells.Project(Y, Y)
			space += fmt.Sprintf(" with %g missing", share)
		}
	}
	var top float64
	for _, K := range t.Ks {
		top = math.Max(top, mat.Trace(K))
	}
	limit := 1e8
	if t.inner == "cg" || t.inner == "rotated" { // without a preconditioner
		limit = 1e5
	}
	_, scaleFree := t.p.Norm.(Lp)
	// With missing cells no step takes L to its best, or the bound over L, for multiples of C alone, is the last to get there.
	if t.cells != nil && !t.p.FixL && (t.cells.Count() > fewCellsMost || t.tol < 1e-4 || !scaleFree) {
		limit = 1e3
	}
	if t.p.FixEta {
		top *= 1 + floats.Sum(t.p.Eta)
	}
	size := top * tau // of A_η·L
	// Weights of a norm that is not scale-free grow with the function, to ‖Y‖/√(K·τ) at the most.
	if !scaleFree && !t.p.FixEta {
		size = math.Max(size, math.Sqrt(size)*mat.Norm(t.Y, 2))
	}
	t.wellScaled = size <= limit*lambda*float64(l)
	t.name = fmt.Sprintf("l=%d n=%d m=%d (%s), %s, %v, learn %s, λ=%.3g τ=%.3g, Y·%g K·%g noise %g, %s, tol %g",
		l, n, m, kinds, space, t.p.Norm, learn, lambda, tau, sY, sK, noise, t.inner, t.tol)
	return t
}

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
		d.norm = lambda * (a / d.s) * q * inner(C, product(KC, d.L))
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
	if !tr.p.FixEta {
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
	if !tr.p.FixEta {
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
		can := math.Max(best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), value), value(math.Min(1, yc/math.Max(cc, 1e-300))))
		lowEta = U - res.GapEta/s2
		if !(lowEta <= can+slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over η %g, by the formula at most %g (slack %g)", lowEta, can, slack)
		}
		if tr.Zs == nil && !(lowEta >= value(math.Min(1, yc/math.Max(cc, 1e-300)))-slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over η %g is worse than its formula %g (slack %g, U %g)", lowEta, value(math.Min(1, yc/math.Max(cc, 1e-300))), slack, U)
		}
	}
	if !tr.p.FixL {
		if solver == "okl" { // whose bound has ‖G‖², with the rounding of G
			slack += square(1e-15 * trace * d.k * d.e * d.s / mu * cc / math.Sqrt(4*rho))
			slack += 2e-15 * trace * d.k * d.e * d.s / mu * cc / math.Sqrt(4*rho) * d.k * d.e * d.s / mu * mat.Norm(G, 2) / math.Sqrt(4*rho)
		}
		can := tr.bestOverL(d, G, yc, cc, omega, rho, solver)
		lowL = U - res.GapL/s2
		if !(lowL <= can+slack) {
			return U, lowEta, lowL, slack, fmt.Errorf("bound over L %g, by the formula at most %g (slack %g)", lowL, can, slack)
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
		return best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), func(x float64) float64 { return 2*x*yc - x*x*cc - square(x*x*g) }) + omega
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
		return best(math.Max(1, 2*yc/math.Max(cc, 1e-300)), func(x float64) float64 { return 2*x*yc - x*x*(cc+top) }) + omega
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

// TestStress fits random problems by every solver and compares what the results say
// with the formulas in plain dense arithmetic, and the bounds of the solvers with each other.
func TestStress(t *testing.T) {
	start, outcomes, trials := time.Now(), map[string]int{}, stressTrials
	if testing.Short() {
		trials = stressTrialsShort
	}
	for i := 0; ; i++ {
		if *stressOnly >= 0 {
			if i > 0 {
				break
			}
			i = *stressOnly
		} else if *stressFor > 0 && time.Since(start) > *stressFor || *stressFor == 0 && i == trials {
			t.Logf("%d trials, seed %d: %v", i, *stressSeed, outcomes)
			break
		}
		tr := newTrial(rand.New(rand.NewPCG(*stressSeed, uint64(i))))
		tr.run(t, i, outcomes)
	}
}

// penaltyOverflows reports whether λτ² is above 10¹⁵⁰ times the square of the largest target:
// in units of the targets λ‖L‖², or numbers it is computed from, may leave the range of float64.
func (tr *trial) penaltyOverflows() bool {
	_, s := unit(tr.Y)
	return math.Log10(tr.p.Lambda)+2*math.Log10(tr.p.Tau)-2*math.Log10(s) > 150
}

func (tr *trial) run(t *testing.T, i int, outcomes map[string]int) {
	var lows, highs []float64
	for _, solver := range Solvers() {
		p := tr.p
		opt := Options{Solver: solver, Sylvester: tr.inner, Tol: tr.tol, Seed: uint64(i)}
		if solver == "okl" && tr.p.FixL && (tr.p.Tau > 1e100 || tr.p.Tau < 1e-100 || tr.penaltyOverflows()) {
			continue // ρ‖L‖², a constant, is all there is of the objective
		}
		switch solver {
		case "closed":
			opt.MaxOuter = 20
		case "paper", "okl":
			opt.MaxOuter = 8
		}
		var (
			res *Result
			err error
		)
		t0 := time.Now()
		deadline.Run(t, stressLimit, func() { res, err = Solve(context.Background(), &p, opt) })
		if took := time.Since(t0); took > 2*time.Second {
			t.Logf("trial %d: %s took %v: %s", i, solver, took, tr.name)
		}
		switch {
		case err == nil:
			outcomes[solver+" met"]++
		case errors.Is(err, ErrNotConverged):
			outcomes[solver+" not met"]++
			if solver == "reduced" && tr.wellScaled {
				t.Errorf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			} else if solver == "reduced" {
				t.Logf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			}
		default:
			outcomes[solver+" failed"]++
			t.Errorf("trial %d: %s: %v\n\t%s", i, solver, err, tr.name)
			continue
		}
		U, lowEta, lowL, slack, cerr := tr.check(res, solver)
		if cerr != nil {
			t.Errorf("trial %d: %s: %v\n\t%s", i, solver, cerr, tr.name)
			continue
		}
		if v := res.Objective + res.GapEta + res.GapL + res.RelativeGap; math.IsNaN(v) || res.Converged != (res.RelativeGap <= tr.tol) || (err == nil) != res.Converged {
			t.Errorf("trial %d: %s: gaps %g and %g of %g, converged %v\n\t%s", i, solver, res.GapEta, res.GapL, res.Objective, res.Converged, tr.name)
		}
		if solver == "okl" {
			continue
		}
		// With one block fixed the other's bound holds for every solver's point.
		if tr.p.FixEta {
			lows, highs = append(lows, lowL-slack), append(highs, U+slack)
		}
		if tr.p.FixL {
			lows, highs = append(lows, lowEta-slack), append(highs, U+slack)
		}
	}
	for _, low := range lows {
		for _, high := range highs {
			if !(low <= high) {
				t.Errorf("trial %d: a bound from below of %g, an objective of %g\n\t%s", i, low, high, tr.name)
			}
		}
	}
}

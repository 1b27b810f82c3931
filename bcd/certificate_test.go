package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// at certifies the coefficients X of p at (eta, L).
func at(t *testing.T, p *Problem, eta []float64, L *linop.Spectral, X blas.General) *point {
	t.Helper()
	q, err := p.check()
	if err != nil {
		t.Fatal(err)
	}
	k := newTask(q, Options{}, 0)
	pt := k.next(k.start(eta, L), eta, L)
	blas.Copy(pt.X, X)
	q.Space.system().at(eta, false).Apply(pt.AX, pt.X)
	if err := k.measure(pt, k.all); err != nil {
		t.Fatal(err)
	}
	if err := k.certify(pt); err != nil {
		t.Fatal(err)
	}
	return pt
}

// minimum is the optimum of p, to a relative gap of 1e-7, and the gap that is left.
func minimum(t *testing.T, p Problem) (F, slack float64) {
	t.Helper()
	res, err := Solve(context.Background(), &p, Options{Sylvester: "eigen", Tol: 1e-7})
	if err != nil {
		t.Fatal(err)
	}
	return res.Objective, res.GapEta + res.GapL
}

// Both gaps bound what moving one block can gain, whatever the coefficients: exact,
// nearly so, far off, and zero.
func TestGapsBoundBlockMinima(t *testing.T) {
	K, Y := awkward(5, 15, 3)
	rng := rand.New(rand.NewPCG(9, 9))
	for _, reg := range allNorms {
		p := Problem{Space: NewSamples(K, Y), Lambda: 0.02, Tau: 2, Norm: reg}
		start := make([]float64, K.Len())
		reg.Start(start)
		L := &linop.Spectral{V: linop.ScaledIdentity(3, 1).V, S: []float64{1.2, 0.5, 0.1}}
		overEta, overL := p, p
		overEta.L, overEta.Model = L, Weights
		overL.Eta, overL.Model = start, Output
		minEta, slackEta := minimum(t, overEta)
		minL, slackL := minimum(t, overL)
		minL += 0.02 * omegaOr0(reg, start) // which FixEta leaves out
		exact := solveExactly(t, p, start, L)
		for _, noise := range []float64{0, 1e-6, 1e-2, 0.3, -1} {
			X := blas.Clone(exact)
			if noise < 0 {
				blas.Zero(X)
			} else {
				blas.AddScaled(X, noise*blas.Frob(exact)/blas.Frob(Y), randn(rng, 15, 3))
			}
			pt := at(t, &p, start, L, X)
			U := pt.cert.objective
			if lack := U - minEta - pt.cert.gapEta; !(lack <= slackEta+1e-12*U) {
				t.Errorf("%v, noise %g: gap over eta %g, but %g can be gained", reg, noise, pt.cert.gapEta, U-minEta)
			}
			if lack := U - minL - pt.cert.gapL; !(lack <= slackL+1e-12*U) {
				t.Errorf("%v, noise %g: gap over L %g, but %g can be gained", reg, noise, pt.cert.gapL, U-minL)
			}
		}
	}
}

func omegaOr0(reg regularizer.Regularizer, eta []float64) float64 {
	if v := reg.Omega(eta); !math.IsInf(v, 1) {
		return v
	}
	return 0
}

// solveExactly is C(eta, L).
func solveExactly(t *testing.T, p Problem, eta []float64, L *linop.Spectral) blas.General {
	t.Helper()
	p.Eta, p.L, p.Model = eta, L, Neither
	res, err := Solve(context.Background(), &p, Options{Sylvester: "eigen"})
	// Rounding leaves the function 0 unbounded at such a λ.
	if err != nil && !(errors.Is(err, ErrNotConverged) && p.Lambda < 1e-10) {
		t.Fatal(err)
	}
	return res.C
}

// In feature space the gaps of any W are bounds too, through C = (Y − ZWL)/μ.
func TestFeatureGapsBoundBlockMinima(t *testing.T) {
	_, p := lowrank(t)
	rng := rand.New(rand.NewPCG(4, 4))
	eta := []float64{0.7, 0, 0.4}
	n := p.Space.Outputs()
	L := linop.ScaledIdentity(n, 0.5)
	overEta, overL := *p, *p
	overEta.L, overEta.Model = L, Weights
	overL.Eta, overL.Model = eta, Output
	minEta, slackEta := minimum(t, overEta)
	minL, slackL := minimum(t, overL)
	exact := solveExactly(t, *p, eta, L)
	for _, noise := range []float64{0, 1e-4, 0.1, 1} {
		W := blas.Clone(exact)
		blas.AddScaled(W, noise, randn(rng, W.Rows, W.Cols))
		pt := at(t, p, eta, L, W)
		U := pt.cert.objective
		if !(U-minEta-pt.cert.gapEta <= slackEta+1e-12) || !(U-minL-pt.cert.gapL <= slackL+1e-12) {
			t.Errorf("noise %g: gaps %g and %g, gains %g and %g", noise, pt.cert.gapEta, pt.cert.gapL, U-minEta, U-minL)
		}
	}
}

// exactMatrix holds the entries of a matrix to 400 bits.
type exactMatrix [][]*big.Float

func number(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }

func exactly(a blas.General) exactMatrix {
	m := make(exactMatrix, a.Rows)
	for i := range m {
		for _, v := range blas.Row(a, i) {
			m[i] = append(m[i], number(v))
		}
	}
	return m
}

// combine is a + f·b·c, or f·b·c for no a.
func combine(a exactMatrix, f float64, b, c exactMatrix) exactMatrix {
	m := make(exactMatrix, len(b))
	for i := range m {
		for j := range c[0] {
			sum := number(0)
			for k, v := range b[i] {
				sum.Add(sum, new(big.Float).Mul(v, c[k][j]))
			}
			if sum.Mul(sum, number(f)); a != nil {
				sum.Add(sum, a[i][j])
			}
			m[i] = append(m[i], sum)
		}
	}
	return m
}

func (m exactMatrix) inner(b exactMatrix) *big.Float {
	sum := number(0)
	for i := range m {
		for j, v := range m[i] {
			sum.Add(sum, new(big.Float).Mul(v, b[i][j]))
		}
	}
	return sum
}

// The measures of feature space are those of exact arithmetic at C = (Y − Z·S·WL)/μ, WL the rounded
// product, to the rounding that they state, whatever λ; fit is that of the exact product too.
func TestFeatureRounding(t *testing.T) {
	const l, n = 30, 4
	rng := rand.New(rand.NewPCG(5, 6))
	blocks, eta := []int{9, 14, 30, 5}, []float64{0.7, 0, 1.5, 0.2}
	D := 58
	Z := randn(rng, l, D)
	for j := range D { // columns of sizes to 1e-4, the last ones twins of the first
		for i := range l {
			if Z.Data[i*D+j] *= math.Pow(10, -4*float64(j%7)/6); j >= D-5 {
				Z.Data[i*D+j] = Z.Data[i*D+j-D+5]
			}
		}
	}
	Y := randn(rng, l, n)
	Gamma, H := blas.NewGeneral(D, D), blas.NewGeneral(D, n)
	blas.GramOf(blas.Active(), Gamma, Z)
	blas.Mul(blas.Active(), H, true, false, Z, Y)
	yy := square(blas.Frob(Y))
	Q, err := linop.NewSpectral(blas.Active(), func() blas.General {
		R, G := randn(rng, n, n), blas.NewGeneral(n, n)
		blas.Mul(blas.Active(), G, false, true, R, R)
		return G
	}(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, S := range [][]float64{{1, 0.5, 0.2, 0.1}, {1.5, 0.3}} {
		V := blas.Clone(blas.View(Q.V, 0, 0, n, len(S)))
		L := &linop.Spectral{V: V, S: S}
		for _, lambda := range []float64{1, 1e-4, 1e-6, 1e-8, 1e-12} {
			p := Problem{Space: NewFeatures(Gamma, H, yy, l, blocks, nil), Lambda: lambda, Tau: 2}
			W := solveExactly(t, p, eta, L)
			pt := at(t, &p, eta, L, W)
			LV := blas.Clone(V)
			blas.ScaleColumns(LV, S)
			rounded := blas.Like(W)
			(&work{be: blas.Active()}).mulRight(rounded, W, L)
			g, h := exactly(Gamma), exactly(H)
			weighted := func(WL exactMatrix) exactMatrix {
				x, start := make(exactMatrix, D), 0
				for j, d := range blocks {
					for i := start; i < start+d; i++ {
						x[i] = combine(nil, math.Sqrt(eta[j]), exactMatrix{{number(1)}}, WL[i:i+1])[0]
					}
					start += d
				}
				return x
			}
			fitAt := func(x exactMatrix) *big.Float {
				HF := h.inner(x)
				fit := new(big.Float).Sub(number(yy), HF.Add(HF, HF))
				return fit.Add(fit, x.inner(combine(nil, 1, g, x)))
			}
			near := func(what string, got float64, want *big.Float, rounding float64) {
				t.Helper()
				diff, _ := new(big.Float).Sub(want, number(got)).Float64()
				if !(math.Abs(diff) <= rounding) {
					t.Errorf("λ = %g, rank %d: %s is %g off, with a rounding of %g stated", lambda, len(S), what, diff,
						rounding)
				}
			}
			x, mu := weighted(exactly(rounded)), lambda*l
			near("fit", pt.fit, fitAt(x), pt.rounding.fit)
			near("fit at the exact WL", pt.fit,
				fitAt(weighted(combine(nil, 1, combine(nil, 1, exactly(W), exactly(LV)), transposed(exactly(V))))),
				pt.rounding.fit)
			near("μ⟨Y,C⟩", pt.yc*mu, new(big.Float).Sub(number(yy), h.inner(x)), pt.rounding.fit)
			R, top := combine(h, -1, g, x), 0.0 // μ·ZᵀC
			var whole exactMatrix
			start := 0
			for j, d := range blocks {
				part := R[start : start+d]
				start += d
				c := part.inner(combine(nil, 1, combine(nil, 1, part, exactly(LV)), transposed(exactly(V))))
				near(fmt.Sprintf("√c of kernel %d", j), math.Sqrt(pt.c[j]), c.Quo(c.Sqrt(c), number(mu)),
					pt.rounding.c[j])
				whole = append(whole, combine(nil, math.Sqrt(eta[j])/mu, exactMatrix(part),
					exactly(linop.ScaledIdentity(n, 1).V))...)
				top = math.Max(top, pt.rounding.c[j]/math.Sqrt(pt.c[j]))
			}
			G := combine(nil, 1, transposed(whole), whole)
			norm := G.inner(G)
			near("√‖G‖", math.Sqrt(blas.Frob(pt.G)), norm.Sqrt(norm.Sqrt(norm)), pt.rounding.G)
			limit := 1e-7 // which does not forbid a gap of 1e-6
			if lambda < 1e-8 {
				limit = 1e-2
			}
			if !(top <= limit) {
				t.Errorf("λ = %g, rank %d: a relative rounding of %g is stated", lambda, len(S), top)
			}
		}
	}
}

func transposed(m exactMatrix) exactMatrix {
	T := make(exactMatrix, len(m[0]))
	for j := range T {
		for i := range m {
			T[j] = append(T[j], m[i][j])
		}
	}
	return T
}

// The measures of the two spaces agree at the same coefficients, inactive kernels included.
func TestMeasuresAgree(t *testing.T) {
	a, b := lowrank(t)
	eta := []float64{0.7, 0, 0.4}
	L := linop.ScaledIdentity(a.Space.Outputs(), 0.5)
	pa := at(t, a, eta, L, solveExactly(t, *a, eta, L))
	pb := at(t, b, eta, L, solveExactly(t, *b, eta, L))
	for _, c := range []struct {
		name string
		a, b float64
	}{
		{"fit", pa.fit, pb.fit},
		{"norm", pa.norm, pb.norm},
		{"⟨Y,C⟩", pa.yc, pb.yc},
		{"‖C‖²", pa.cc, pb.cc},
		{"c", weighted(pa.c), weighted(pb.c)},
		{"G", blas.Frob(pa.G), blas.Frob(pb.G)},
		{"c of the inactive kernel", pa.c[1], pb.c[1]},
	} {
		if !(math.Abs(c.a-c.b) <= 1e-10*math.Abs(c.a)) || c.a == 0 {
			t.Errorf("%s: %g in sample space, %g in feature space", c.name, c.a, c.b)
		}
	}
}

// weighted weighs the entries, so that their order matters.
func weighted(c []float64) (s float64) {
	for j, v := range c {
		s += float64(j+1) * v
	}
	return s
}

func ExampleSolve() {
	// Two kernels on five samples; the targets are in the range of the first.
	be := blas.Active()
	Z := blas.General{Rows: 5, Cols: 1, Stride: 1, Data: []float64{1, -1, 2, 0, -2}}
	K1, K2 := blas.NewGeneral(5, 5), linop.ScaledIdentity(5, 1).V
	blas.Mul(be, K1, false, true, Z, Z)
	Y := blas.General{Rows: 5, Cols: 2, Stride: 2, Data: []float64{1, 2, -1, -2, 2, 4, 0, 0, -2, -4}}
	K := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K1, blas.Float64), blas.SymFrom(K2, blas.Float64)}, be, blas.Float64)
	res, err := Solve(context.Background(), &Problem{
		Space: NewSamples(K, Y), Lambda: 0.1, Tau: 2, Norm: regularizer.Lp{P: 1},
	}, Options{Tol: 1e-8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("weights %.3f, rank of L %d, certified %v\n", res.Eta, res.L.Rank(), res.Converged)
	// Output:
	// weights [1.000 0.000], rank of L 1, certified true
}

// The maximum of 2s·yc − s²·quad − penalty(s) is found to rounding wherever it lies
// between 0 and yc/quad, in a kink or not.
func TestBestScale(t *testing.T) {
	for _, quad := range []float64{3, 1e-5, 1e-25, 0, -1e-9} {
		for _, limit := range []float64{1, 1 - 0x1p-52, 0.4, 1e-30, 1e-200} { // as the block norms have
			v := 2*limit*7 - limit*limit*quad
			got := (&task{mu: 1}).bestScale(&measures{yc: 7, cc: quad}, func(s float64) float64 {
				if s > limit {
					return math.Inf(1)
				}
				return 0
			})
			if !(math.Abs(got-v) <= 1e-14*v) {
				t.Errorf("quad %g, s ≤ %g: %.17g, want %.17g", quad, limit, got, v)
			}
		}
		for _, c := range []float64{1e-20, 1e-3, 1, 1e30} { // s²c in place of it
			if quad <= 0 && c < 7 {
				continue
			}
			v := 49 / (math.Max(quad, 0) + c)
			got := (&task{mu: 1}).bestScale(&measures{yc: 7, cc: quad}, func(s float64) float64 { return s * s * c })
			if !(math.Abs(got-v) <= 1e-8*v) {
				t.Errorf("quad %g, c %g: %.17g, want %.17g", quad, c, got, v)
			}
		}
	}
}

// TestGapOfCoefficients certifies coefficients alone: where nothing else is learned, the gap bounds what the exact ones
// would gain, and is 0 there.
func TestGapOfCoefficients(t *testing.T) {
	K, Y := awkward(5, 15, 3)
	p := Problem{Space: NewSamples(K, Y), Lambda: 0.02, Tau: 2, Model: Neither}
	start := make([]float64, K.Len())
	regularizer.Lp{P: 1}.Start(start)
	L := linop.ScaledIdentity(3, 2.0/3)
	p.Eta, p.L = start, L
	best, slack := minimum(t, p)
	if slack > 1e-12*best {
		t.Errorf("a gap of %g at the exact coefficients, of an objective of %g", slack, best)
	}
	ctx, cancel := context.WithCancel(t.Context())
	res, err := Solve(ctx, &p, Options{Tol: 1e-7, Trace: func(Step) error { cancel(); return nil }})
	if err == nil || !(res.RelativeGap > .9) {
		t.Errorf("before any coefficients: %v, %+v", err, res)
	}
	for _, part := range []float64{0, .5, .99} {
		res, err := Solve(t.Context(), &p, Options{Tol: 1e-7})
		if err != nil {
			t.Fatal(err)
		}
		blas.Scal(part, res.C.Data)
		pt := at(t, &p, start, L, res.C)
		if gap, above := pt.cert.gapL+pt.cert.gapEta, pt.cert.objective-best; !(gap >= above*(1-1e-9)) || !(above > 0) {
			t.Errorf("%g of the coefficients: a gap of %g, and %g above the best", part, gap, above)
		}
	}
}

// TestCoefficientsAloneTighten fits coefficients alone to targets with little noise, whose objective is so small beside
// ‖Y‖²/l that a residual of the order of the gap asked for does not meet it.
func TestCoefficientsAloneTighten(t *testing.T) {
	const l, tol = 300, 1e-4
	K, Y := blas.NewGeneral(l, l), blas.NewGeneral(l, 2)
	for i := range l {
		for j := range l {
			K.Data[i*l+j] = math.Exp(-square(20 * float64(i-j) / l))
		}
		x := float64(i) / l
		Y.Data[2*i], Y.Data[2*i+1] = math.Sin(9*x)+1e-3*math.Sin(1e4*x), math.Cos(7*x)+1e-3*math.Cos(1e4*x)
	}
	sum := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	p := &Problem{Space: NewSamples(sum, Y), Lambda: 1e-8, Tau: 2, Model: Neither}
	p.Eta, p.L = []float64{1}, linop.ScaledIdentity(2, 1)
	for _, solver := range []string{"closed", "reduced"} {
		res, err := Solve(t.Context(), p, Options{Tol: tol, Solver: solver, Sylvester: "rotated"})
		if err != nil || !(res.RelativeGap <= tol) || res.OuterIterations > 5 {
			t.Errorf("%s: a gap of %g after %d iterations: %v", solver, res.RelativeGap, res.OuterIterations, err)
		}
	}
}

package bcd

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy/npytest"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// array is one member of an .npz file, row-major float64.
type array struct {
	shape []int
	data  []float64
}

func (a array) matrix() blas.General {
	return blas.General{Rows: a.shape[0], Cols: a.shape[1], Stride: a.shape[1], Data: a.data}
}

// slab is matrix j of a stack.
func (a array) slab(j int) blas.General {
	n := a.shape[1] * a.shape[2]
	return array{a.shape[1:], a.data[j*n : (j+1)*n]}.matrix()
}

// golden reads testdata/name.npz.
func golden(t testing.TB, name string) map[string]array {
	t.Helper()
	out := map[string]array{}
	for k, a := range npytest.Load(t, name) {
		out[k] = array{a.Shape, a.Data}
	}
	return out
}

// gram is the sum over a stack of Gram matrices.
func gram(Ks array) *linop.GramSum {
	var terms []*blas.Sym
	for j := range Ks.shape[0] {
		terms = append(terms, blas.SymFrom(Ks.slab(j), blas.Float64))
	}
	return linop.NewGramSum(terms, nil, blas.Float64)
}

type goldenCase struct {
	name        string
	lambda, tau float64
	p, F        float64
}

var goldenJoint = []goldenCase{
	{"joint_p1.0", 0.02, 4, 1, 1.8930961736992242},
	{"joint_p1.3", 0.01, 4, 1.3, 1.093850561064672},
	{"joint_p1.7", 0.005, 4, 1.7, 0.18252130379156023},
	{"joint_p2.0", 0.01, 4, 2, 0.2317688849423553},
}

func (c goldenCase) problem(t testing.TB) (*Problem, map[string]array) {
	z := golden(t, c.name)
	return &Problem{
		Space: NewSamples(gram(z["Ks"]), z["Y"].matrix()), Lambda: c.lambda, Tau: c.tau,
		Norm: regularizer.Lp{P: c.p},
	}, z
}

func convexCase(t testing.TB) *Problem {
	z := golden(t, "convex_fixed_eta")
	return &Problem{
		Space: NewSamples(gram(z["Ks"]), z["Y"].matrix()), Lambda: 0.01, Tau: 2.5, Eta: z["eta"].data,
		Model: Output,
	}
}

func TestReducedGolden(t *testing.T) {
	for _, c := range goldenJoint {
		t.Run(c.name, func(t *testing.T) {
			p, z := c.problem(t)
			res, err := Solve(context.Background(), p, Options{Tol: 1e-8})
			if err != nil {
				t.Fatal(err)
			}
			if !(res.Objective <= c.F*(1+1e-8)) || !(res.RelativeGap <= 1e-8) {
				t.Errorf("objective %.12g (reference %.12g), relative gap %g", res.Objective, c.F, res.RelativeGap)
			}
			want := z["predictions"].matrix()
			got := predict(z["Kx"], res)
			if d := math.Sqrt(distance2(got, want)); !(d <= 1e-5*blas.Frob(want)) {
				t.Errorf("predictions differ by %g of %g", d, blas.Frob(want))
			}
		})
	}
	t.Run("convex_fixed_eta", func(t *testing.T) {
		res, err := Solve(context.Background(), convexCase(t), Options{Tol: 1e-10})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(res.Objective-0.9334858033642718) > 1e-10 || res.GapEta != 0 {
			t.Errorf("objective %.12g, gaps %g and %g", res.Objective, res.GapEta, res.GapL)
		}
	})
}

// predict is K_η(X*, X)·C·L, or Σ K_j(X*, X)·C·L_j, for the stack Kx of cross-Gram matrices.
func predict(Kx array, res *Result) blas.General {
	be := blas.Active()
	CL := blas.Like(res.C)
	out := blas.NewGeneral(Kx.shape[1], CL.Cols)
	for j, e := range res.Eta {
		L := res.L
		if res.Ls != nil {
			e, L = 1, res.Ls[j]
		}
		L.MulRight(be, CL, res.C)
		blas.Gemm(be, false, false, e, Kx.slab(j), CL, 1, out)
	}
	return out
}

// The closed form freezes on the boundary of S(τ), above the optimum, and says so.
func TestClosedFreezes(t *testing.T) {
	res, err := Solve(context.Background(), convexCase(t), Options{
		Solver: "closed", Sylvester: "eigen", Tol: 1e-4,
		MaxOuter: 300,
	})
	if !errors.Is(err, ErrNotConverged) || res.Converged {
		t.Fatalf("err %v, converged %v", err, res.Converged)
	}
	if math.Abs(res.Objective-0.9335889) > 1e-6 || !(res.GapL >= res.Objective-0.9334858033642718) {
		t.Errorf("objective %.9g, gap %.3g", res.Objective, res.GapL)
	}
}

// lowrank returns the case lowrank_p1.5 in sample space and in feature space.
func lowrank(t testing.TB) (samples, feats *Problem) {
	z := golden(t, "lowrank_p1.5")
	var (
		terms  []blas.General
		blocks []int
		D      int
	)
	for _, name := range []string{"Z1", "Z2", "Z3"} {
		terms = append(terms, z[name].matrix())
		blocks = append(blocks, terms[len(terms)-1].Cols)
		D += terms[len(terms)-1].Cols
	}
	Y := z["Y"].matrix()
	Z := blas.NewGeneral(Y.Rows, D)
	at := 0
	for _, f := range terms {
		blas.Copy(blas.View(Z, 0, at, f.Rows, f.Cols), f)
		at += f.Cols
	}
	be := blas.Active()
	Gamma, H := blas.NewGeneral(D, D), blas.NewGeneral(D, Y.Cols)
	blas.GramOf(be, Gamma, Z)
	blas.Mul(be, H, true, false, Z, Y)
	p := Problem{Lambda: 0.01, Tau: 4, Norm: regularizer.Lp{P: 1.5}}
	a, b := p, p
	a.Space = NewSamples(linop.NewFactorSum(terms, nil), Y)
	b.Space = NewFeatures(Gamma, H, square(blas.Frob(Y)), Y.Rows, blocks, nil)
	return &a, &b
}

func TestSpacesAgree(t *testing.T) {
	const F = 0.7351678493079468
	a, b := lowrank(t)
	for _, solver := range []string{"reduced", "closed"} {
		opt := Options{Solver: solver, Sylvester: "eigen", Tol: 1e-9}
		above := 1e-9
		if solver == "closed" { // freezes short of the optimum
			opt.MaxOuter, above = 20, 1e-2
		}
		ra, err := Solve(context.Background(), a, opt)
		if err != nil && opt.MaxOuter == 0 {
			t.Fatal(err)
		}
		rb, err := Solve(context.Background(), b, opt)
		if err != nil && opt.MaxOuter == 0 {
			t.Fatal(err)
		}
		if math.Abs(ra.Objective-rb.Objective) > 1e-8*F || !(ra.Objective <= F*(1+above)) {
			t.Errorf("%s: objective %.12g in sample space, %.12g in feature space, reference %.12g", solver,
				ra.Objective, rb.Objective, F)
		}
		// Without Y the bound over L is not as tight in feature space.
		if !(ra.GapL <= rb.GapL+1e-8*F) || math.Abs(ra.GapEta-rb.GapEta) > 1e-8*F {
			t.Errorf("%s: gaps %g, %g against %g, %g", solver, ra.GapEta, ra.GapL, rb.GapEta, rb.GapL)
		}
	}
}

// Both spaces lead to the same objective, weights, output kernel and function. The objective is flat at its
// minimum: a gap of 1e-16 leaves 1e-8 of room in the weights, and ten times that where they are ill-conditioned.
func TestSpacesAgreeOnTheModel(t *testing.T) {
	a, b := lowrank(t)
	opt := Options{Sylvester: "eigen", Tol: 1e-16}
	ra, _ := Solve(context.Background(), a, opt) // may end at rounding, above so small a gap
	rb, _ := Solve(context.Background(), b, opt)
	if ra == nil || rb == nil {
		t.Fatal("no result")
	}
	near := func(what string, x, y blas.General, tol float64) {
		t.Helper()
		d := blas.Clone(x)
		blas.AddScaled(d, -1, y)
		if e := blas.Frob(d) / blas.Frob(y); !(e <= tol) {
			t.Errorf("%s differs by %.2g of its norm", what, e)
		}
	}
	if e := math.Abs(ra.Objective-rb.Objective) / rb.Objective; !(e <= 1e-8) {
		t.Errorf("objectives differ by %.2g", e)
	}
	near("η", blas.Vector(ra.Eta), blas.Vector(rb.Eta), 1e-7)
	be := blas.Active()
	n := ra.L.Dim()
	La, Lb := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	ra.L.Dense(be, La)
	rb.L.Dense(be, Lb)
	near("L", La, Lb, 1e-7)
	// f = K_η·C·L = Z_η·W·L on the data.
	z := golden(t, "lowrank_p1.5")
	F, G := blas.NewGeneral(ra.C.Rows, n), blas.NewGeneral(ra.C.Rows, n)
	at := 0
	for j, name := range []string{"Z1", "Z2", "Z3"} {
		Z := z[name].matrix()
		ZC := blas.NewGeneral(Z.Cols, n)
		blas.Mul(be, ZC, true, false, Z, ra.C)
		blas.Gemm(be, false, false, ra.Eta[j], Z, ZC, 1, F)
		blas.Gemm(be, false, false, math.Sqrt(rb.Eta[j]), Z, blas.View(rb.C, at, 0, Z.Cols, n), 1, G)
		at += Z.Cols
	}
	FL, GL := blas.NewGeneral(F.Rows, n), blas.NewGeneral(F.Rows, n)
	ra.L.MulRight(be, FL, F)
	rb.L.MulRight(be, GL, G)
	near("the function", FL, GL, 1e-7)
}

// A Γ that is known by its products only solves as the stored one does.
func TestFeaturesOperator(t *testing.T) {
	_, stored := lowrank(t)
	f := stored.Space.(*features)
	multiplies := 0
	op := linop.Func{N: f.Dim(), F: func(dst, x blas.General) {
		multiplies++
		f.gamma.Apply(dst, x)
	}}
	byProducts := *stored
	byProducts.Space = NewFeaturesOperator(op, f.B, f.yy, f.l, f.blocks)
	for _, system := range []string{"rotated", "eigen"} {
		opt := Options{Solver: "reduced", Sylvester: system, Tol: 1e-6}
		want, err := Solve(context.Background(), stored, opt)
		if err != nil {
			t.Fatal(err)
		}
		multiplies = 0
		got, err := Solve(context.Background(), &byProducts, opt)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Objective-want.Objective) > 1e-10*want.Objective || multiplies == 0 {
			t.Errorf("%s: objective %.12g in %d products, %.12g with Γ stored", system, got.Objective, multiplies,
				want.Objective)
		}
	}
	wrong := NewFeaturesOperator(op, f.B, f.yy, f.l, f.blocks[1:])
	byProducts.Space = wrong
	if _, err := Solve(context.Background(), &byProducts, Options{}); !errors.Is(err, ErrInput) {
		t.Errorf("blocks that do not fit: %v", err)
	}
}

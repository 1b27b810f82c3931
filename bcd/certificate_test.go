package bcd

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
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
	q.Space.at(eta, false).Apply(pt.AX, pt.X)
	if _, err := k.measure(context.Background(), pt, k.all); err != nil {
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
		overEta.L, overEta.FixL = L, true
		overL.Eta, overL.FixEta = start, true
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

func omegaOr0(reg Regularizer, eta []float64) float64 {
	if v := reg.Omega(eta); !math.IsInf(v, 1) {
		return v
	}
	return 0
}

// solveExactly is C(eta, L).
func solveExactly(t *testing.T, p Problem, eta []float64, L *linop.Spectral) blas.General {
	t.Helper()
	p.Eta, p.L, p.FixEta, p.FixL = eta, L, true, true
	res, err := Solve(context.Background(), &p, Options{Sylvester: "eigen"})
	if err != nil {
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
	overEta.L, overEta.FixL = L, true
	overL.Eta, overL.FixEta = eta, true
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
		Space: NewSamples(K, Y), Lambda: 0.1, Tau: 2, Norm: Lp{P: 1},
	}, Options{Tol: 1e-8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("weights %.3f, rank of L %d, certified %v\n", res.Eta, res.L.Rank(), res.Converged)
	// Output:
	// weights [1.000 0.000], rank of L 1, certified true
}

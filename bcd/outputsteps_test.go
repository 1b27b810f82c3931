package bcd

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// Fits of many outputs at small λ take few C steps in either space, with weights
// learned or fixed, and the certificate says that they have arrived.
func TestOutputSteps(t *testing.T) {
	K, Y := wideTask(100, 60)
	fixed := []float64{0.7, 0.4}
	K200, Y200 := wideTask(200, 200)
	for _, c := range []struct {
		name   string
		p      Problem
		solves int
	}{
		{"samples", Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 10},
		{"small λ", Problem{Space: NewSamples(K, Y), Lambda: 1e-6, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 9},
		{"fixed weights", Problem{Space: NewSamples(K, Y), Lambda: 1e-4, Tau: 60, Eta: fixed, Model: Output}, 7},
		{
			"200 outputs",
			Problem{Space: NewSamples(K200, Y200), Lambda: 1e-4, Tau: 200, Norm: regularizer.Lp{P: 1.5}},
			14,
		},
		{"zero kernels", Problem{Space: NewSamples(zeroKernels(100), Y), Lambda: 1e-4, Tau: 60}, 5},
		{"features", Problem{Space: asFeatures(t, K, Y), Lambda: 1e-4, Tau: 60, Norm: regularizer.Lp{P: 1.5}}, 20},
	} {
		res, err := Solve(context.Background(), &c.p, Options{Tol: 1e-6, Sylvester: "eigen"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		t.Logf("%s: %d C-solves, objective %.12g, relative gap %.2g, rank %d", c.name, res.SylvesterSolves,
			res.Objective, res.RelativeGap, res.L.Rank())
		if res.SylvesterSolves > c.solves {
			t.Errorf("%s: %d C-solves, at most %d expected", c.name, res.SylvesterSolves, c.solves)
		}
	}
}

func zeroKernels(l int) *linop.GramSum {
	return linop.NewGramSum([]*blas.Sym{blas.SymFrom(blas.NewGeneral(l, l), blas.Float64)}, nil, blas.Float64)
}

// asFeatures is the problem of K and Y in the space of the factors K_j^{½}.
func asFeatures(t *testing.T, K *linop.GramSum, Y blas.General) Space {
	t.Helper()
	l, m := K.Dim(), K.Len()
	Z, blocks := blas.NewGeneral(l, l*m), make([]int, m)
	for j := range m {
		eta := make([]float64, m)
		eta[j] = 1
		K.SetWeights(eta)
		D := blas.NewGeneral(l, l)
		K.Dense(D)
		root, err := linop.NewSpectral(blas.Active(), D, 1e-13)
		if err != nil {
			t.Fatal(err)
		}
		blas.ScaleColumns(root.V, sqrts(root.S))
		blas.Copy(blas.View(Z, 0, j*l, l, root.Rank()), root.V)
		blocks[j] = l
	}
	Gamma, H := blas.NewGeneral(l*m, l*m), blas.NewGeneral(l*m, Y.Cols)
	blas.GramOf(blas.Active(), Gamma, Z)
	blas.Mul(blas.Active(), H, true, false, Z, Y)
	return NewFeatures(Gamma, H, square(blas.Frob(Y)), l, blocks, nil)
}

// Few rows, as many noisy outputs and smooth kernels: the steps on L alone, not those of the
// joint method, of which such fits take dozens, reach the gap at every λ.
func TestOutputStepsSuffice(t *testing.T) {
	rng := newRand(5)
	const l, n = 40, 120
	X := randn(rng, l, 3)
	var terms []*blas.Sym
	for _, width := range []float64{1, 2, 4} {
		terms = append(terms, gaussian(X, width, blas.Float64))
	}
	F, Y := blas.NewGeneral(l, 3), randn(rng, l, n)
	for i := range l {
		x := blas.Row(X, i)
		copy(blas.Row(F, i), []float64{math.Sin(x[0]), x[1] * x[2], x[1]})
	}
	blas.Gemm(blas.Active(), false, false, 3, F, randn(rng, 3, n), 1, Y)
	for _, fixed := range []bool{true, false} {
		p := &Problem{
			Space: NewSamples(linop.NewGramSum(terms, nil, blas.Float64), Y), Lambda: 1, Tau: n,
			Model: ProductOf(!fixed, true),
		}
		for ; p.Lambda > 1e-8; p.Lambda /= 3 { // a path, each fit from the one before
			res, err := Solve(context.Background(), p, Options{Tol: 1e-2})
			if err != nil || res.OuterIterations > 12 {
				t.Errorf("λ = %g, fixed weights %v: %d outer iterations, %v", p.Lambda, fixed, res.OuterIterations, err)
			}
			p.Eta, p.L = res.Eta, res.L
		}
	}
}

package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// TestFreedom compares the degrees of freedom with the trace by eigenvalues, within four standard deviations of the
// estimate, where L is learned and where the only step for one output finds them beside its coefficients, which are as
// exact as without.
func TestFreedom(t *testing.T) {
	for _, model := range []Model{ProductOf(false, true), Neither} {
		for _, solver := range []string{"auto", "nystrom", "eigen"} {
			t.Run(fmt.Sprint(model, solver), func(t *testing.T) { checkFreedom(t, model, solver) })
		}
	}
}

func checkFreedom(t *testing.T, model Model, solver string) {
	K, Y := awkward(4, 200, 3)
	if model == Neither {
		Y = blas.Clone(blas.View(Y, 0, 0, 200, 1))
	}
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-3, Tau: float64(Y.Cols), Model: model}
	p.Eta = []float64{1, .5, 0, 0, .2, .1}[:K.Len()]
	res, err := Solve(context.Background(), p, Options{Freedom: true, Sylvester: solver})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Freedom) != res.L.Rank() {
		t.Fatalf("%d degrees of freedom for an L of rank %d", len(res.Freedom), res.L.Rank())
	}
	if alone, err := Solve(context.Background(), p, Options{Sylvester: solver}); err != nil ||
		!(math.Abs(alone.Objective-res.Objective) <= 1e-4*alone.Objective) {
		t.Errorf("objective %g, without degrees of freedom %g: %v", res.Objective, alone.Objective, err)
	}
	if model == Neither && res.SylvesterSolves != 1 {
		t.Errorf("%d linear systems in place of one", res.SylvesterSolves)
	}
	K.SetWeights(res.Eta)
	A, one := blas.NewGeneral(200, 200), blas.NewGeneral(200, 200)
	for i := range 200 {
		one.Data[201*i] = 1
	}
	K.Apply(A, one)
	dec, err := sylvester.Decompose(context.Background(), linop.NewDense(A, blas.Active()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for b, rho := range res.L.S {
		var want, square float64
		for _, s := range dec.Sigma {
			part := rho * s / (rho*s + p.Lambda*200)
			want += part
			square += part * part
		}
		if got := res.Freedom[b]; !(math.Abs(got-want) <= 4*math.Sqrt(2*square)) {
			t.Errorf("%g degrees of freedom, want %g ± %g", got, want, math.Sqrt(2*square))
		}
	}
}

// TestFreedomBelowRounding asks a fit whose μ is lost in the rounding of the kernel for degrees of freedom: they are
// those of the shift in place of μ, and the fit says that λ is too small.
func TestFreedomBelowRounding(t *testing.T) {
	const l = 200
	A, Y := blas.NewGeneral(l, l), blas.NewGeneral(l, 1)
	for i := range l {
		Y.Data[i] = math.Sin(float64(i) / 20)
		for j := range l {
			d := float64(i-j) / l
			A.Data[i*l+j] = math.Exp(-d * d)
		}
	}
	K := linop.NewGramSum([]*blas.Sym{blas.SymFrom(A, blas.Float64)}, nil, blas.Float64)
	p := &Problem{Space: NewSamples(K, Y), Lambda: 1e-22, Tau: 1, Model: Neither}
	p.Eta = []float64{1}
	res, err := Solve(context.Background(), p, Options{Freedom: true, Sylvester: "cholesky"})
	if !errors.Is(err, ErrNotConverged) || !errors.Is(err, ErrLambdaTooSmall) {
		t.Error(err)
	}
	if res == nil || len(res.Freedom) != 1 || !(res.Freedom[0] > 1 && res.Freedom[0] < l) {
		t.Errorf("%+v", res)
	}
	_, err = Solve(context.Background(), p, Options{Freedom: true, Sylvester: "cg"})
	if !errors.Is(err, ErrNotConverged) {
		t.Errorf("where freedom is not found either: %v", err)
	}
}

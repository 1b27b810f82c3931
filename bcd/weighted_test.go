package bcd

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

// alone is the sum of one Gram matrix.
func alone(K blas.General) *linop.GramSum {
	return linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
}

// weightedSamples is the space of the squared loss with weights W.
func weightedSamples(K linop.Sum, Y, W blas.General) Space {
	return NewLoss(K, Y, W, loss.Loss{}, false)
}

// goldenSquared are minima of the squared loss with weights, at fixed L and, in the last row, over L of trace 3.
var goldenSquared = []struct {
	name              string
	lambda, objective float64
	model             Model
}{
	{"loss_squared_0.1", 0.1, 3.0584681717313127, Neither},
	{"loss_squared_0.001", 0.001, 0.39066612160120057, Neither},
	{"loss_squared_learned_l", 0.01, 0.9226467699675859, Output},
}

func TestWeightedGolden(t *testing.T) {
	for _, c := range goldenSquared {
		z := golden(t, c.name)
		for _, name := range sylvester.Names() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				p := &Problem{
					Space:  weightedSamples(alone(z["K"].matrix()), z["Y"].matrix(), z["W"].matrix()),
					Lambda: c.lambda, Tau: 3, Eta: []float64{1}, Model: c.model,
				}
				if c.model == Neither {
					p.L = mustSpectral(t, z["L"].matrix())
				}
				res, err := Solve(t.Context(), p, Options{Tol: 1e-9, InnerTol: 1e-10, Sylvester: name})
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(res.Objective-c.objective) <= 1e-8*c.objective) || !(res.RelativeGap <= 1e-9) {
					t.Errorf("objective %.12g, want %.12g; relative gap %g", res.Objective, c.objective,
						res.RelativeGap)
				}
				tol := 1e-8
				if c.model == Output {
					tol = 1e-3 // C is √(gap) from its limit
				}
				if d := math.Sqrt(distance2(res.C, z["C"].matrix())) / blas.Frob(z["C"].matrix()); !(d <= tol) {
					t.Errorf("C is off by %g", d)
				}
			})
		}
	}
}

func mustSpectral(t testing.TB, L blas.General) *linop.Spectral {
	t.Helper()
	s, err := linop.NewSpectral(blas.Active(), L, 1e-14)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// weightedCase is a made problem of two kernels, whose weights are 1.
func weightedCase(l, n int, seed uint64) (Ks []blas.General, Y, W blas.General) {
	rng := newRand(seed)
	X := randn(rng, l, 3)
	for _, gamma := range []float64{0.3, 3} {
		K := blas.NewGeneral(l, l)
		gaussian(X, gamma, blas.Float64).Dense(K)
		Ks = append(Ks, K)
	}
	W = blas.NewGeneral(l, n)
	fill(W.Data, 1)
	return Ks, randn(rng, l, n), W
}

func sumOf(Ks []blas.General) *linop.GramSum {
	var terms []*blas.Sym
	for _, K := range Ks {
		terms = append(terms, blas.SymFrom(K, blas.Float64))
	}
	return linop.NewGramSum(terms, nil, blas.Float64)
}

// A row of weight 2 has the fitted values and the C·L of that row made twice, where the two share its coefficients.
// The rest of the table is weighted by cells or not, as a sum of separable kernels or a product.
func TestWeightedTwice(t *testing.T) {
	const l, n, twice = 24, 4, 5
	Ks, Y, W := weightedCase(l, n, 51)
	at := make([]int, l+1)
	for i := range l {
		at[i] = i
	}
	at[l] = twice
	for _, model := range []Model{Product, Sum, Neither} {
		for _, cells := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/cells=%v", model, cells), func(t *testing.T) {
				W := blas.Clone(W)
				if cells {
					W.Data[3], W.Data[30], W.Data[40] = 0.2, 7, 0
				}
				pick := func(a blas.General) blas.General {
					out := blas.NewGeneral(l+1, n)
					for i, r := range at {
						copy(blas.Row(out, i), blas.Row(a, r))
					}
					return out
				}
				longK := make([]blas.General, len(Ks))
				for j, K := range Ks {
					longK[j] = blas.NewGeneral(l+1, l+1)
					for a, r := range at {
						for b, c := range at {
							longK[j].Data[a*(l+1)+b] = K.Data[r*l+c]
						}
					}
				}
				fit := func(Ks []blas.General, Y, W blas.General) *Result {
					t.Helper()
					const mu = 0.3
					res, err := Solve(t.Context(), &Problem{
						Space: weightedSamples(sumOf(Ks), Y, W), Lambda: mu / float64(Y.Rows), Tau: n, Model: model,
						Norm: regularizer.Lp{P: 1.5},
					}, Options{Tol: 1e-9})
					if err != nil {
						t.Fatal(err)
					}
					return res
				}
				long := fit(longK, pick(Y), pick(W))
				blas.Scal(2, blas.Row(W, twice))
				short := fit(Ks, Y, W)
				if a, b := short.Objective*l, long.Objective*(l+1); !(math.Abs(a-b) <= 1e-8*a) {
					t.Errorf("objectives %.12g and %.12g", a, b)
				}
				C := blas.Clone(blas.View(long.C, 0, 0, l, n))
				blas.Axpy(1, blas.Row(long.C, l), blas.Row(C, twice))
				tol := 1e-4 // the minimum is flat
				if model == Neither {
					tol = 1e-9
				}
				if d := math.Sqrt(distance2(C, short.C)) / blas.Frob(C); !(d <= tol) {
					t.Errorf("C differs by %g", d)
				}
			})
		}
	}
}

// A weight of 0 is a missing cell, and weights of 1 are none.
func TestWeightedMissing(t *testing.T) {
	Ks, Y, W := weightedCase(20, 4, 52)
	holes := withHoles(Y, 0.3, 53)
	for i, v := range holes.Data {
		if math.IsNaN(v) {
			W.Data[i] = 0
		}
	}
	row := blas.NewGeneral(20, 1)
	fill(row.Data, 1)
	for _, c := range []struct {
		name   string
		Y1, W1 blas.General
		Y2, W2 blas.General
	}{
		{"0", Y, W, holes, blas.General{}},
		{"1", Y, row, Y, blas.General{}},
		{"1 and holes", holes, row, holes, blas.General{}},
	} {
		for _, model := range []Model{Product, Sum} {
			t.Run(fmt.Sprintf("%s/%d", c.name, model), func(t *testing.T) {
				fit := func(Y, W blas.General) *Result {
					res, err := Solve(t.Context(), &Problem{
						Space: weightedSamples(sumOf(Ks), Y, W), Lambda: 0.01, Tau: 4, Model: model,
					}, Options{Tol: 1e-6})
					if err != nil {
						t.Fatal(err)
					}
					return res
				}
				a, b := fit(c.Y1, c.W1), fit(c.Y2, c.W2)
				if d := math.Sqrt(distance2(a.C, b.C)); a.Objective != b.Objective || d != 0 {
					t.Errorf("objectives %.17g and %.17g, C differs by %g", a.Objective, b.Objective, d)
				}
			})
		}
	}
}

// The scale of the weights is that of the objective, at λ of that scale.
func TestWeightedScale(t *testing.T) {
	for _, model := range []Model{Product, Sum} {
		for _, kind := range []string{"rows", "cells"} {
			Ks, Y, W := weightedCase(20, 4, 54)
			rng := newRand(55)
			for i := range W.Data {
				if W.Data[i] = math.Exp(rng.NormFloat64()); kind == "rows" && i%4 > 0 {
					W.Data[i] = W.Data[i-1]
				}
			}
			want := 0.0
			for _, scale := range []float64{1, 1e-9, 1e9} {
				t.Run(fmt.Sprintf("%d/%s/%g", model, kind, scale), func(t *testing.T) {
					scaled := blas.Clone(W)
					blas.Scal(scale, scaled.Data)
					res, err := Solve(t.Context(), &Problem{
						Space: weightedSamples(sumOf(Ks), Y, scaled), Lambda: 0.01 * scale, Tau: 4, Model: model,
					}, Options{Tol: 1e-8})
					if err != nil {
						t.Fatal(err)
					}
					if scale == 1 {
						want = res.Objective
					}
					if d := res.Objective / scale / want; !(math.Abs(d-1) <= 1e-7) {
						t.Errorf("objective %.12g, want %.12g", res.Objective/scale, want)
					}
				})
			}
		}
	}
}

func TestWeightedInput(t *testing.T) {
	Ks, Y, W := weightedCase(6, 2, 56)
	with := func(v float64) blas.General {
		w := blas.Clone(W)
		w.Data[3] = v
		return w
	}
	for name, W := range map[string]blas.General{
		"negative": with(-1),
		"NaN":      with(math.NaN()),
		"infinite": with(math.Inf(1)),
		"all zero": blas.NewGeneral(6, 2),
		"rows":     blas.NewGeneral(5, 2),
		"columns":  blas.NewGeneral(6, 3),
	} {
		t.Run(name, func(t *testing.T) {
			p := &Problem{Space: weightedSamples(sumOf(Ks), Y, W), Lambda: 0.1, Tau: 2}
			_, err := Solve(t.Context(), p, Options{})
			if !errors.Is(err, ErrInput) {
				t.Errorf("%v, want %v", err, ErrInput)
			}
		})
	}
}

package bcd_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// With the weights fixed the problem is convex: no bound over L may exceed the optimum, at any step, and the gap falls
// with the objective, which C steps to a residual ε of a fifth of the tolerance tell to ε²‖Y‖²/l.
func TestBoundOfCells(t *testing.T) {
	const l, n = 60, 12
	rng := rand.New(rand.NewPCG(61, 62))
	X, Y := blas.NewGeneral(l, 3), blas.NewGeneral(l, n)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	K := blas.NewGeneral(l, l)
	for i := range l {
		for k := range l {
			d := 0.0
			for c := range 3 {
				d += math.Pow(X.Data[3*i+c]-X.Data[3*k+c], 2)
			}
			K.Data[i*l+k] = math.Exp(-d / 4)
		}
		end := n
		if i%2 == 0 {
			end = 1 + rng.IntN(n)
		}
		for j := range n {
			v := math.Sin(X.Data[3*i]) + float64(j)/n*X.Data[3*i+1] + 0.5*rng.NormFloat64()*math.Exp(-float64(j)/3)
			if j >= end {
				v = math.NaN()
			}
			Y.Data[i*n+j] = v
		}
	}
	grams := linop.NewGramSum([]*blas.Sym{blas.SymFrom(K, blas.Float64)}, nil, blas.Float64)
	p := &bcd.Problem{Space: bcd.NewSamples(grams, Y), Lambda: 1e-3, Tau: n, Model: bcd.Output}
	best, err := bcd.Solve(context.Background(), p, bcd.Options{Tol: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	const tol = 1e-4
	steps, last, first := 0, math.Inf(1), 0.
	_, err = bcd.Solve(context.Background(), p, bcd.Options{Tol: tol, Trace: func(s bcd.Step) error {
		low := s.Objective - s.GapL
		if !(low <= best.Objective*(1+1e-9)) {
			t.Errorf("step %d: the bound %.12g exceeds the optimum %.12g", s.Iter, low, best.Objective)
		}
		if s.Iter == 0 && first == 0 {
			first = s.Objective // ‖Y‖²/l
		}
		slack := math.Pow(tol/5, 2) * first / s.Objective
		if steps++; last < 0.02 && s.RelativeGap > last+slack && s.Objective <= best.Objective*(1+1e-3) {
			t.Errorf("step %d: the gap rises from %g to %g", s.Iter, last, s.RelativeGap)
		}
		last = s.RelativeGap
		return nil
	}})
	if err != nil || steps > 40 {
		t.Errorf("%d steps to a gap of 1e-4, error %v", steps, err)
	}
}

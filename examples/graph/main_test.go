package main

import (
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop/linoptest"
)

func TestDenoise(t *testing.T) {
	noisy, clean := signals(side, 0.5)
	got, res, err := denoise(newWalks(grid(side), steps), noisy)
	if err != nil {
		t.Fatal(err)
	}
	if before, after := rmse(noisy, clean), rmse(got, clean); !(after < before/3) {
		t.Errorf("error %.3f before, %.3f after", before, after)
	}
	if !res.Converged {
		t.Errorf("relative gap %g", res.RelativeGap)
	}
}

// The module's own suite checks that the operator is one: symmetric, linear, as its dense matrix.
func TestWalksAreAnOperator(t *testing.T) {
	w := newWalks(grid(5), steps)
	terms := make([]blas.General, len(steps))
	for j := range terms {
		terms[j] = blas.NewGeneral(25, 25)
		one := make([]float64, len(steps))
		one[j] = 1
		w.SetWeights(one)
		w.Apply(terms[j], identity(25))
	}
	linoptest.RunSum(t, w, terms, linoptest.Options{Allocates: true, Unit: 64 * 0x1p-53})
}

func identity(n int) blas.General {
	e := blas.NewGeneral(n, n)
	for i := range n {
		e.Data[i*n+i] = 1
	}
	return e
}

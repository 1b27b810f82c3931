package iokl_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
)

// Without a tolerance of its own a fit that ends within ten times the default warns of its gap; with one it fails.
func TestGapNearDefaultTolerance(t *testing.T) {
	const l, n = 40, 4
	X, Y := mat.NewDense(l, 2, nil), mat.NewDense(l, n, nil)
	for i := range l {
		a, b := math.Sin(float64(7*i)), math.Cos(float64(3*i*i))
		X.SetRow(i, []float64{a, b})
		for k := range n {
			Y.Set(i, k, math.Sin(a*float64(k+1))+b*b+0.3*math.Sin(float64(i*i+k)))
		}
	}
	seen := false
	for k := 1; k < 30; k++ {
		opt := iokl.Options{Kernels: []string{"gaussian:all:median*0.5,1,2"}, Lambda: 1e-3, MaxOuter: k}
		m, err := iokl.Fit(t.Context(), X, Y, opt)
		c := m.Certificate()
		if near := c.RelativeGap <= 1e-3; near != (err == nil) {
			t.Fatalf("gap %g: %v", c.RelativeGap, err)
		}
		warned := strings.Contains(strings.Join(m.Warnings(), "\n"), "above the default tolerance")
		if warned != (err == nil && !c.Converged) {
			t.Errorf("gap %g: warnings %q", c.RelativeGap, m.Warnings())
		}
		if !warned {
			continue
		}
		seen, opt.Tol = true, 1e-4
		if _, err := iokl.Fit(t.Context(), X, Y, opt); !errors.Is(err, bcd.ErrNotConverged) {
			t.Errorf("gap %g beside a tolerance: %v", c.RelativeGap, err)
		}
	}
	if !seen {
		t.Error("no number of iterations leaves a gap between the two tolerances")
	}
}

// Without noise the objective is a small part of that without a function, and a gap that is small beside the latter is
// no error where no tolerance was asked for.
func TestGapWithoutNoise(t *testing.T) {
	const l, n = 60, 6
	X, Y := mat.NewDense(l, 2, nil), mat.NewDense(l, n, nil)
	for i := range l {
		a, b := math.Sin(float64(7*i)), math.Cos(float64(3*i*i))
		X.SetRow(i, []float64{a, b})
		for k := range n {
			Y.Set(i, k, math.Exp(-(a+2)*float64(k)/n)+b)
			if (i*7+k)%5 == 0 {
				Y.Set(i, k, math.NaN())
			}
		}
	}
	warned, failed := 0, 0
	for k := range 12 {
		opt := iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 1e-7, MaxOuter: k + 1}
		m, err := iokl.Fit(t.Context(), X, Y, opt)
		c := m.Certificate()
		gap := c.GapEta + c.GapL // targets have variance 1 each
		switch {
		case c.RelativeGap <= 1e-3:
		case err == nil:
			warned++
			if !(gap <= 1e-4*n*1.001) || len(m.Warnings()) == 0 {
				t.Errorf("%d iterations: gap %g, %g of the objective, warnings %q", k, gap, c.RelativeGap, m.Warnings())
			}
		default:
			failed++
			if !(gap > 1e-4*n*.5) && c.RelativeGap < 1 {
				t.Errorf("%d iterations: gap %g, %v", k, gap, err)
			}
		}
	}
	if warned == 0 {
		t.Errorf("%d failed, and no gap lies between the two", failed)
	}
}

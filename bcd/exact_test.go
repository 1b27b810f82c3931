package bcd

import (
	"fmt"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/loss"
)

// exactTables are inputs and targets without noise: lines, planes and squares, skewed inputs, constants far from 0 and
// targets of other scales.
var exactTables = []struct {
	name string
	d, l int
	of   func(x []float64) float64
	skew bool
}{
	{"line", 1, 24, func(x []float64) float64 { return 2*x[0] + 5 }, false},
	{"skewed line", 1, 60, func(x []float64) float64 { return 2*x[0] + 5 }, true},
	{"five rows", 1, 5, func(x []float64) float64 { return 1 - x[0] }, false},
	{"plane", 2, 60, func(x []float64) float64 { return 3*x[0] - x[1] }, false},
	{"skewed plane", 3, 40, func(x []float64) float64 { return x[0] + 2*x[1] - x[2] }, true},
	{"square", 1, 30, func(x []float64) float64 { return x[0] * x[0] }, false},
	{"far", 1, 30, func(x []float64) float64 { return 1e4 + x[0] }, false},
	{"far and skewed", 2, 30, func(x []float64) float64 { return -1e4 + x[0] - x[1] }, true},
	{"small", 1, 30, func(x []float64) float64 { return 1e-8 * (x[0] + 3) }, false},
	{"large", 2, 30, func(x []float64) float64 { return 1e8 * (x[0] - x[1]) }, false},
	{"steps", 1, 30, func(x []float64) float64 { return math.Floor(2 * x[0]) }, false},
	{"signs", 2, 40, func(x []float64) float64 { return math.Copysign(1, x[0]-x[1]) }, false},
	{"rare", 1, 40, func(x []float64) float64 { return math.Max(0, math.Copysign(1, x[0]-1)) }, false},
}

// Tables without noise are learned to their tolerance by every loss along a path of falling λ, where kernels that fit
// them leave nothing but rounding, and those that do not as well.
func TestLossExact(t *testing.T) {
	for _, c := range exactTables {
		for _, text := range []string{"quantile:0.5", "quantile:0.1", "quantile:0.9", "huber:0.5", "huber:0.001"} {
			for _, width := range []float64{0, 1} {
				t.Run(fmt.Sprintf("%s/%s/width=%g", c.name, text, width), func(t *testing.T) {
					X, Y := blas.NewGeneral(c.l, c.d), blas.NewGeneral(c.l, 1)
					rng := newRand(uint64(c.l*c.d) + 7)
					for i := range c.l {
						x := blas.Row(X, i)
						for j := range x {
							if x[j] = rng.NormFloat64(); c.skew {
								x[j] = math.Exp(1.5 * x[j])
							}
						}
						Y.Data[i] = c.of(x)
					}
					ls, first := lossOf(t, text), Y.Data[0]
					top := 0.0
					for _, y := range Y.Data {
						top = max(top, math.Abs(y-first))
					}
					if ls.Kind == loss.Huber {
						ls.Parameter *= top
					}
					K := blas.NewGeneral(c.l, c.l)
					for i := range c.l {
						for j := range c.l {
							dot, dist := 0.0, 0.0
							for k, v := range blas.Row(X, i) {
								w := X.Data[j*c.d+k]
								dot, dist = dot+v*w, dist+square(v-w)
							}
							if K.Data[i*c.l+j] = dot; width > 0 {
								K.Data[i*c.l+j] = math.Exp(-dist / (2 * width * width))
							}
						}
					}
					var start *State
					for _, lambda := range []float64{1, 1e-2, 1e-4, 1e-5} {
						if ls.Kind != loss.Huber { // whose loss is of the first order in the targets
							lambda /= top
						}
						p := &Problem{
							Space:  NewLoss(alone(K), Y, blas.General{}, ls, true),
							Lambda: lambda, Tau: 1, Model: Neither,
						}
						res, err := Solve(t.Context(), p, Options{Start: start})
						if err != nil {
							t.Fatalf("λ = %g: %v", lambda, err)
						}
						start = &State{Eta: res.Eta, L: res.L, X: res.C}
						if ls.Kind == loss.Quantile { // another level from there
							other := loss.Loss{Kind: loss.Quantile, Parameter: 0.1 + 0.8*(1-ls.Parameter)}
							p.Space = NewLoss(alone(K), Y, blas.General{}, other, true)
							if _, err := Solve(t.Context(), p, Options{Start: start, InnerTol: 1e-10}); err != nil {
								t.Fatalf("λ = %g, another level: %v", lambda, err)
							}
						}
					}
				})
			}
		}
	}
}

package iokl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// The constants of the outputs are part of the optimum of every loss: over the training rows the derivatives Σ w·∂φ/∂f
// vanish, which says that the part τ lies below a quantile, that probabilities have the mean of the targets, and that
// clipped residuals add up to 0.
func TestConstants(t *testing.T) {
	const l, delta = 60, 0.4
	rng := rand.New(rand.NewPCG(74, 5))
	weights := mat.NewDense(l, 1, nil)
	for i := range l {
		weights.Set(i, 0, math.Exp(rng.NormFloat64()))
	}
	variants := []struct {
		name            string
		opt             iokl.Options
		scale, constant float64
		outputs         int
		missing, gram   bool
	}{
		{name: "skewed", scale: 1, outputs: 1},
		{name: "far", scale: 1, constant: 1e4, outputs: 1},
		{name: "small", scale: 1e-8, constant: 3e-8, outputs: 1},
		{name: "large", scale: 1e8, outputs: 1},
		{name: "outputs", scale: 1, outputs: 2, opt: iokl.Options{Learn: "l"}},
		{name: "missing", scale: 1, outputs: 2, missing: true},
		{name: "weights", scale: 1, outputs: 1, opt: iokl.Options{Weights: weights}},
		{name: "sum", scale: 1, outputs: 2, opt: iokl.Options{
			Model: "sum", Learn: "eta,l", Kernels: []string{"linear:all", "gaussian:all:2"},
		}},
		{name: "features", scale: 1, outputs: 1, opt: iokl.Options{Kernels: []string{"rff:gaussian:all:2:20"}}},
		{name: "closed", scale: 1, outputs: 2, opt: iokl.Options{Solver: "closed"}},
		{name: "gram", scale: 1, outputs: 1, gram: true},
	}
	for _, v := range variants {
		for _, name := range []string{"quantile:0.1", "quantile:0.5", "quantile:0.9", "huber", "logistic"} {
			if name == "logistic" && v.scale != 1 || name == "logistic" && v.constant != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", v.name, name), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(74, 6))
				X, Y := mat.NewDense(l, 2, nil), mat.NewDense(l, v.outputs, nil)
				for i := range l {
					X.Set(i, 0, math.Exp(rng.NormFloat64()))
					X.Set(i, 1, math.Exp(rng.NormFloat64()))
					for j := range v.outputs {
						y := X.At(i, 0) - float64(j)*X.At(i, 1) + math.Exp(rng.NormFloat64())
						if name == "logistic" { // a rare class
							y = math.Max(0, math.Copysign(1, y-4))
						}
						Y.Set(i, j, v.constant+v.scale*y)
						if v.missing && (i+j)%7 == 0 {
							Y.Set(i, j, math.NaN())
						}
					}
				}
				opt := v.opt
				opt.Loss, opt.Lambda, opt.Standardize, opt.Tol = iokl.Loss(name), 1e-2, "x", 1e-8
				if name != "logistic" { // λ is in units of the loss over those of squared outputs
					opt.Lambda /= v.scale
				}
				if name == "huber" {
					opt.Loss, opt.Lambda = iokl.HuberLoss(delta*v.scale), 1e-2
				}
				if opt.Learn == "" {
					opt.Learn = "none"
				}
				if opt.Kernels == nil {
					opt.Kernels = []string{"linear:all"}
				}
				var (
					m   *iokl.Model
					F   *mat.Dense
					err error
				)
				if v.gram {
					K := mat.NewDense(l, l, nil)
					K.Mul(X, X.T())
					opt.Kernels, opt.Standardize = nil, ""
					if m, err = iokl.FitGram(t.Context(), []mat.Matrix{K}, Y, opt); err == nil {
						F, err = m.PredictGram([]mat.Matrix{K})
					}
				} else if m, err = iokl.Fit(t.Context(), X, Y, opt); err == nil {
					file := filepath.Join(t.TempDir(), "m.iokl")
					if err = m.Save(file); err == nil {
						if m, err = iokl.Load(file); err == nil {
							F, err = m.Predict(X)
						}
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				var tau float64
				_, _ = fmt.Sscanf(name, "quantile:%g", &tau)
				for j := range v.outputs {
					var sum, size, open float64
					for i := range l {
						y, f, w := Y.At(i, j), F.At(i, j), 1.0
						if math.IsNaN(y) {
							continue
						}
						if opt.Weights != nil {
							w = weights.At(i, 0)
						}
						r := (y - f) / v.scale
						switch {
						case name == "logistic":
							r = y - 1/(1+math.Exp(-f))
						case name == "huber":
							r = max(-delta, min(r, delta))
						case math.Abs(r) < 1e-3: // at the kink any derivative between those beside it
							r, open = 0, open+w
						case r > 0:
							r = tau
						default:
							r = tau - 1
						}
						sum, size = sum+w*r, size+w*math.Abs(r)
					}
					if !(math.Abs(sum) <= open+1e-3*size) {
						t.Errorf("output %d: derivatives add up to %g, their sizes to %g, and %g are open", j, sum,
							size, open)
					}
				}
			})
		}
	}
}

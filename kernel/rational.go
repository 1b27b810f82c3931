// This file defines the rational quadratic kernel.

package kernel

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Rational is the rational quadratic kernel, a mixture of Gaussian kernels of all widths: the
// smaller α, the more they vary.
const Rational Kind = "rational"

func init() {
	register(Rational, definition{
		formula: "(1 + r²/(2ασ²))^(−α), α = ALPHA",
		metric:  euclid,
		params:  []param{{name: "alpha", min: 0.01, max: 1000, value: 1}},
		values: func(k *Kernel) func(dst, src []float64) {
			alpha := k.Params[0]
			scale := 0.5 / alpha / k.Width / k.Width
			return pointwise(func(r2 float64) float64 { return math.Exp(-alpha * math.Log1p(scale*r2)) })
		},
		// exp(−τr²/2) is averaged over τ = γ/(ασ²), γ of the gamma distribution of shape α.
		radial: func(k *Kernel, u float64) float64 {
			alpha := k.Params[0]
			return math.Sqrt(mathext.GammaIncRegInv(alpha, u) / alpha)
		},
	})
}

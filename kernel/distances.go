// This file defines the kernels of a distance other than Matérn and rational ones.

package kernel

import "math"

// Kernels of a distance with one width. Those of any order ν are in matern.go.
const (
	Gaussian  Kind = "gaussian"
	Laplacian Kind = "laplacian"
	Cauchy    Kind = "cauchy"
	Chi2      Kind = "chi2"
)

func init() {
	inverseWidth := func(k *Kernel) float64 { return -1 / k.Width }
	register(Gaussian, definition{
		formula: "exp(−r²/(2σ²))",
		metric:  euclid,
		rate:    func(k *Kernel) float64 { return -0.5 / k.Width / k.Width },
		radial:  func(*Kernel, float64) float64 { return 1 },
	})
	register(Laplacian, definition{
		formula:    "exp(−‖x−z‖₁/σ)",
		metric:     manhattan,
		rate:       inverseWidth,
		coordinate: func(g float64) float64 { return math.Copysign(1/math.Tan(math.Pi/2*tails(g)), g) }, // Cauchy
	})
	register(Cauchy, definition{
		formula:    "Π_f 1/(1 + (x_f−z_f)²/σ²)",
		metric:     lorentz,
		values:     func(*Kernel) func(dst, src []float64) { return reciprocals },
		coordinate: func(g float64) float64 { return math.Copysign(math.Log(tails(g)), g) }, // Laplace
	})
	register(Chi2, definition{
		formula: "exp(−χ²/σ), χ² = Σ_f (x_f−z_f)²/(x_f+z_f), features ≥ 0, 0/0 = 0",
		metric:  chiSquare,
		rate:    inverseWidth,
	})
}

func reciprocals(dst, src []float64) {
	for i, v := range src {
		dst[i] = 1 / v
	}
}

// tails is 1 − |2Φ(g)−1|, the probability e of numbers farther from 0 than g. The quantile functions at Φ(g) of the
// standard Cauchy and Laplace distributions are ±cot(πe/2) and ±ln e.
func tails(g float64) float64 { return math.Erfc(math.Abs(g) / math.Sqrt2) }

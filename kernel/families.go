// Definitions of the kernels: of inner products, of distances, Matérn and rational quadratic ones.

package kernel

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/vmath"
)

// Kernels of the inner product xᵀz.
const (
	Linear Kind = "linear"
	Cosine Kind = "cosine"
	Poly   Kind = "poly"
)

func init() {
	product := func(*Kernel) (degree int, gamma, offset float64) { return 1, 1, 0 }
	register(Linear, definition{formula: "xᵀz", polynomial: product})
	register(Cosine, definition{formula: "xᵀz/(‖x‖‖z‖), 0 when x or z is 0", unit: true, polynomial: product})
	polynomial := func(k *Kernel) (degree int, gamma, offset float64) {
		return int(k.Params[0]), k.Params[2], k.Params[1]
	}
	register(Poly, definition{
		formula: "(γ·xᵀz + c)^q, q = DEGREE, c = OFFSET (1), γ = GAMMA (1/d)",
		params: []param{
			{name: "degree", min: 1, max: 100, integer: true, value: 2},
			{name: "offset", max: math.MaxFloat64, value: 1, optional: true},
			{
				name: "gamma", min: math.SmallestNonzeroFloat64, max: math.MaxFloat64, optional: true,
				derive: func(dim int) float64 { return 1 / float64(dim) },
			},
		},
		values: func(k *Kernel) func(dst, src []float64) {
			degree, gamma, offset := polynomial(k)
			return func(dst, src []float64) { vmath.Power(dst, src, gamma, offset, degree) }
		},
		polynomial: polynomial,
	})
}

// Kernels of a distance with one width.
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

// Matérn kernels: three with a closed form, and those of any order ν.
const (
	Matern12 Kind = "matern12"
	Matern32 Kind = "matern32"
	Matern52 Kind = "matern52"
	Matern   Kind = "matern"
)

func init() {
	for order, d := range []struct {
		kind    Kind
		formula string
	}{
		{Matern12, "exp(−r/σ)"},
		{Matern32, "(1 + √3·r/σ)·exp(−√3·r/σ)"},
		{Matern52, "(1 + √5·r/σ + 5r²/(3σ²))·exp(−√5·r/σ)"},
	} {
		nu := float64(order) + 0.5
		register(d.kind, definition{
			formula: d.formula,
			metric:  euclid,
			values:  func(k *Kernel) func(dst, src []float64) { return maternRow(nu, k.Width) },
			radial:  func(_ *Kernel, u float64) float64 { return maternRadius(nu, u) },
		})
	}
	register(Matern, definition{
		formula: "2^(1−ν)/Γ(ν)·t^ν·K_ν(t), t = √(2ν)·r/σ, ν = ORDER",
		metric:  euclid,
		params:  []param{{name: "order", min: 0.25, max: 50, value: 1}}, // that mixtures of Gaussians cover
		values:  func(k *Kernel) func(dst, src []float64) { return maternRow(k.Params[0], k.Width) },
		radial:  func(k *Kernel, u float64) float64 { return maternRadius(k.Params[0], u) },
	})
}

// maternRadius is the factor √(2ν/χ²) of a frequency, χ² the u-quantile of the distribution of 2ν degrees of freedom.
func maternRadius(nu, u float64) float64 {
	return math.Sqrt(nu / mathext.GammaIncRegInv(nu, u))
}

// maternRow computes Matérn kernels of order ν from squared distances. Orders
// ½, 3/2 and 5/2 have closed forms; the others are the mixture of Gaussians
//
//	k = 1/Γ(ν)·∫ exp(νv − e^v)·exp(−t²/(4e^v)) dv,  t² = 2ν·r²/σ²,
//
// by the trapezoidal rule in v, which converges exponentially: one exponential
// for each of some hundred nodes.
func maternRow(nu, width float64) func(dst, src []float64) {
	for order, closed := range []float64{0.5, 1.5, 2.5} {
		if nu == closed {
			scale := math.Sqrt(2*nu) / width
			return func(dst, src []float64) { vmath.Matern(dst, src, scale, order) }
		}
	}
	mix := maternMixture(nu)
	t2 := 2 * nu / (width * width)
	return func(dst, src []float64) {
		var line, space [tileCols]float64
		for at := 0; at < len(src); at += tileCols {
			x := src[at:min(at+tileCols, len(src))]
			sum, term := line[:len(x)], space[:len(x)]
			clear(sum)
			for _, g := range mix {
				vmath.Exp(term, x, -t2*g.rate)
				blas.Axpy(g.weight, term, sum)
			}
			for i, v := range x {
				if v == 0 {
					sum[i] = 1
				}
			}
			copy(dst[at:], sum)
		}
	}
}

// gaussianTerm is weight·exp(−rate·t²).
type gaussianTerm struct{ weight, rate float64 }

var mixtures sync.Map // of []gaussianTerm by ν

// maternMixture is the nodes of the integral for order ν, weights adding up to 1:
// from where exp(νv) is below rounding to where exp(νv − e^v) is.
func maternMixture(nu float64) []gaussianTerm {
	if mix, ok := mixtures.Load(nu); ok {
		return mix.([]gaussianTerm)
	}
	// The error of the rule is about exp(−π²/step) for small ν and, the integrand
	// being near a normal density of variance 1/ν, exp(−2π²/(ν·step²)) for large.
	step := min(0.25, 0.7/math.Sqrt(nu))
	gamma, _ := math.Lgamma(nu)
	top := math.Log(nu) + 1
	for nu*top-math.Exp(top)-gamma > -40 {
		top += step
	}
	var mix []gaussianTerm
	var total float64
	for v := top; nu*v-gamma > -40; v -= step {
		g := gaussianTerm{step * math.Exp(nu*v-math.Exp(v)-gamma), math.Exp(-v) / 4}
		mix = append(mix, g)
		total += g.weight
	}
	for i := range mix {
		mix[i].weight /= total
	}
	mixtures.Store(nu, mix)
	return mix
}

// Rational is the rational quadratic kernel, a mixture of Gaussian kernels whose widths spread more the smaller α is.
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

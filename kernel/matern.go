// This file defines the Matérn kernels.

package kernel

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/vmath"
)

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

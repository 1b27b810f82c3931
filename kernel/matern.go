package kernel

import (
	"math"
	"sync"

	"github.com/iokl/iokl/internal/vmath"
)

// The orders of Matérn kernels that mixtures of Gaussians cover.
const (
	minNu = 0.25
	maxNu = 50
)

// maternValue computes Matérn kernels of order ν from squared distances. Orders
// ½, 3/2 and 5/2 have closed forms; the others are the mixture of Gaussians
//
//	k = 1/Γ(ν)·∫ exp(νv − e^v)·exp(−t²/(4e^v)) dv,  t² = 2ν·r²/σ²,
//
// by the trapezoidal rule in v, which converges exponentially: one exponential
// for each of some hundred nodes.
func (k *Kernel) maternValue(dst, src []float64) {
	for order, nu := range []float64{0.5, 1.5, 2.5} {
		if k.Nu == nu {
			vmath.Matern(dst, src, math.Sqrt(2*nu)/k.Width, order)
			return
		}
	}
	mix := maternMixture(k.Nu)
	t2 := 2 * k.Nu / (k.Width * k.Width)
	var line [tileCols]float64
	for at := 0; at < len(src); at += tileCols {
		x := src[at:min(at+tileCols, len(src))]
		sum, term := line[:len(x)], make([]float64, len(x))
		clear(sum)
		for _, g := range mix {
			vmath.Exp(term, x, -t2*g.rate)
			for i, v := range term {
				sum[i] += g.weight * v
			}
		}
		for i, v := range x {
			if dst[at+i] = sum[i]; v == 0 {
				dst[at+i] = 1
			}
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

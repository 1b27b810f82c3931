// This file finds the roots of the secular equation, which are the eigenvalues of two merged eigenproblems.

package lapack

import (
	"math"

	"github.com/iokl/iokl/internal/vmath"
)

// secular is the equation
//
//	f(λ) = 1/ρ + Σ_j z_j²/(D_j − λ) = 0,   D ascending, ρ > 0, z_j ≠ 0,
//
// whose roots are the eigenvalues of diag(D) + ρ·z·zᵀ, with D_j = d_j or, when squared, d_j². Between
// two neighbouring poles f rises from −∞ to +∞ and has one root; the last root lies beyond the last pole.
type secular struct {
	d, z    []float64
	squared bool
	rhoInv  float64
	reach   float64 // ρ·‖z‖², how far the last root can be from the last pole
}

// apart is the difference of the poles of a and b, to high relative accuracy.
func (s *secular) apart(a, b float64) float64 {
	if s.squared {
		return (a - b) * (a + b)
	}
	return a - b
}

// from sets delta to D_j − D_origin.
func (s *secular) from(origin int, delta []float64) {
	o := s.d[origin]
	for j, dj := range s.d {
		delta[j] = s.apart(dj, o)
	}
}

// iterate is f at the trial point λ = D_origin + mu, split at the pole left of the root.
type iterate struct{ f, psi, phi, dpsi, dphi float64 }

// eval evaluates f, ψ (the poles up to last) and φ (the others) with their derivatives.
func (s *secular) eval(delta []float64, last int, mu float64) iterate {
	var it iterate
	it.psi, it.dpsi = vmath.Secular(delta[:last+1], s.z, mu)
	it.phi, it.dphi = vmath.Secular(delta[last+1:], s.z[last+1:], mu)
	it.f = s.rhoInv + it.psi + it.phi
	return it
}

// root finds root i, or its square root when squared, and writes D_j − λ_i, each to high
// relative accuracy, to delta. It follows the two-pole interpolation of Li (LAPACK working note 89),
// inside a bracket that every step shrinks.
func (s *secular) root(i int, delta []float64) (lambda float64, ok bool) {
	k := len(s.d)
	if k == 1 {
		delta[0] = -s.reach
		return s.at(0, s.reach), true
	}
	p := min(i, k-2) // the poles of the interpolation are p and p+1
	origin, lo, hi, mu := s.start(i, p, delta)
	slow, previous := false, math.Inf(1)
	for iter := range 300 {
		it := s.eval(delta, p, mu)
		if math.IsNaN(it.f) {
			return 0, false
		}
		if math.Abs(it.f) <= eps*(8*(math.Abs(it.phi)+math.Abs(it.psi))+s.rhoInv+math.Abs(mu)*(it.dpsi+it.dphi)) {
			break
		}
		if it.f < 0 {
			lo = mu
		} else {
			hi = mu
		}
		if math.Abs(it.f) > 0.1*previous {
			slow = !slow
		}
		previous = math.Abs(it.f)
		next := mu + s.step(i, p, origin, delta, mu, it, slow)
		if !(next > lo && next < hi) || iter > 40 {
			next = middle(lo, hi)
		}
		if next == mu || !(next > lo && next < hi) {
			break
		}
		mu = next
	}
	for j := range delta {
		delta[j] -= mu
	}
	return s.at(origin, mu), true
}

// at is λ = D_origin + mu, or its square root when squared.
func (s *secular) at(origin int, mu float64) float64 {
	o := s.d[origin]
	if s.squared {
		return o + mu/(o+math.Sqrt(o*o+mu))
	}
	return o + mu
}

// start picks the pole nearer to root i as origin, a bracket, and the root of
// the two nearest poles' interpolation at the middle as the first trial. delta becomes
// the distances of the poles from the origin.
func (s *secular) start(i, p int, delta []float64) (origin int, lo, hi, mu float64) {
	z1, z2 := s.z[p]*s.z[p], s.z[p+1]*s.z[p+1]
	gap := s.apart(s.d[p+1], s.d[p])
	s.from(i, delta)
	if i == p+1 { // the last root
		origin, hi = i, s.reach*(1+4*eps)
		mid := s.reach / 2
		c := s.eval(delta, p, mid).f + z1/(gap+mid) + z2/mid
		a, b := z1+z2-c*gap, z2*gap
		if r := math.Sqrt(a*a + 4*b*c); a >= 0 {
			mu = (a + r) / (2 * c)
		} else {
			mu = 2 * b / (r - a)
		}
	} else {
		mid := gap / 2
		f := s.eval(delta, p, mid).f
		c := f + z1/mid - z2/(gap-mid)
		if f >= 0 {
			origin, lo, hi = p, 0, mid
			a, b := c*gap+z1+z2, z1*gap
			if r := math.Sqrt(math.Abs(a*a - 4*b*c)); a > 0 {
				mu = 2 * b / (a + r)
			} else {
				mu = (a - r) / (2 * c)
			}
		} else {
			origin, lo, hi = p+1, mid-gap, 0
			s.from(origin, delta)
			a, b := c*gap-z1-z2, z2*gap
			if r := math.Sqrt(math.Abs(a*a + 4*b*c)); a < 0 {
				mu = 2 * b / (a - r)
			} else {
				mu = -(a + r) / (2 * c)
			}
		}
	}
	if !(mu > lo && mu < hi) {
		mu = middle(lo, hi)
	}
	return origin, lo, hi, mu
}

// step is the correction of mu: the root of a + s/(D_p−λ) + S/(D_{p+1}−λ) that
// agrees with f and f′ here. The pole at the origin keeps its own weight (the
// fixed weight method) unless that has been slow; then both weights come from
// ψ′ and φ′ (the middle way).
func (s *secular) step(i, p, origin int, delta []float64, mu float64, it iterate, slow bool) float64 {
	d1, d2 := delta[p]-mu, delta[p+1]-mu
	slope := it.dpsi + it.dphi
	c := it.f - d1*it.dpsi - d2*it.dphi
	switch {
	case slow || i == p+1:
	case origin == p:
		t := s.z[p] / d1
		c = it.f - d2*slope - (delta[p]-delta[p+1])*t*t
	default:
		t := s.z[p+1] / d2
		c = it.f - d1*slope - (delta[p+1]-delta[p])*t*t
	}
	a := (d1+d2)*it.f - d1*d2*slope
	b := d1 * d2 * it.f
	r := math.Sqrt(math.Abs(a*a - 4*b*c))
	var eta float64
	switch {
	case i == p+1 && a >= 0:
		eta = (a + r) / (2 * c)
	case i == p+1:
		eta = 2 * b / (a - r)
	case a <= 0:
		eta = (a - r) / (2 * c)
	default:
		eta = 2 * b / (a + r)
	}
	if !(it.f*eta < 0) {
		eta = -it.f / slope // f rises: go against its sign
	}
	return eta
}

// middle is between lo and hi: their geometric mean when both have one sign.
func middle(lo, hi float64) float64 {
	switch {
	case lo > 0:
		return math.Sqrt(lo) * math.Sqrt(hi)
	case hi < 0:
		return -math.Sqrt(-lo) * math.Sqrt(-hi)
	}
	return lo + (hi-lo)/2
}

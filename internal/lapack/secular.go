// This file finds the roots of the secular equation, which are the eigenvalues of two merged eigenproblems.

package lapack

import (
	"math"

	"github.com/iokl/iokl/internal/vmath"
)

// secular is the equation
//
//	f(λ) = 1/ρ + Σ_j z_j²/(d_j − λ) = 0,   d ascending, ρ > 0, z_j ≠ 0,
//
// whose roots are the eigenvalues of diag(d) + ρ·z·zᵀ. Between two neighbouring
// poles f rises from −∞ to +∞ and has one root; the last root lies beyond the last pole.
type secular struct {
	d, z   []float64
	rhoInv float64
	reach  float64 // ρ·‖z‖², how far the last root can be from the last pole
}

// iterate is f at the trial point λ = d_origin + mu, split at the pole left of the root.
type iterate struct{ f, psi, phi, dpsi, dphi float64 }

// eval evaluates f, ψ (the poles up to last) and φ (the others) with their derivatives.
func (s *secular) eval(origin, last int, mu float64) iterate {
	var it iterate
	o := s.d[origin]
	it.psi, it.dpsi = vmath.Secular(s.d[:last+1], s.z, o, mu)
	it.phi, it.dphi = vmath.Secular(s.d[last+1:], s.z[last+1:], o, mu)
	it.f = s.rhoInv + it.psi + it.phi
	return it
}

// root finds root i and writes d_j − λ_i, each to high relative accuracy, to
// delta. It follows the two-pole interpolation of Li (LAPACK working note 89),
// inside a bracket that every step shrinks.
func (s *secular) root(i int, delta []float64) (lambda float64, ok bool) {
	k := len(s.d)
	if k == 1 {
		delta[0] = -s.reach
		return s.d[0] + s.reach, true
	}
	p := min(i, k-2) // the poles of the interpolation are p and p+1
	origin, lo, hi, mu := s.start(i, p)
	slow, previous := false, math.Inf(1)
	for iter := range 300 {
		it := s.eval(origin, p, mu)
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
		next := mu + s.step(i, p, origin, mu, it, slow)
		if !(next > lo && next < hi) || iter > 40 {
			next = middle(lo, hi)
		}
		if next == mu || !(next > lo && next < hi) {
			break
		}
		mu = next
	}
	o := s.d[origin]
	for j, dj := range s.d {
		delta[j] = (dj - o) - mu
	}
	return o + mu, true
}

// start picks the pole nearer to root i as origin, a bracket, and the root of
// the two nearest poles' interpolation at the middle as the first trial.
func (s *secular) start(i, p int) (origin int, lo, hi, mu float64) {
	z1, z2 := s.z[p]*s.z[p], s.z[p+1]*s.z[p+1]
	gap := s.d[p+1] - s.d[p]
	if i == p+1 { // the last root
		origin, hi = i, s.reach*(1+4*eps)
		mid := s.reach / 2
		c := s.eval(origin, p, mid).f + z1/(gap+mid) + z2/mid
		a, b := z1+z2-c*gap, z2*gap
		if r := math.Sqrt(a*a + 4*b*c); a >= 0 {
			mu = (a + r) / (2 * c)
		} else {
			mu = 2 * b / (r - a)
		}
	} else {
		mid := gap / 2
		f := s.eval(p, p, mid).f
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

// step is the correction of mu: the root of a + s/(d_p−λ) + S/(d_{p+1}−λ) that
// agrees with f and f′ here. The pole at the origin keeps its own weight (the
// fixed weight method) unless that has been slow; then both weights come from
// ψ′ and φ′ (the middle way).
func (s *secular) step(i, p, origin int, mu float64, it iterate, slow bool) float64 {
	o := s.d[origin]
	d1, d2 := (s.d[p]-o)-mu, (s.d[p+1]-o)-mu
	slope := it.dpsi + it.dphi
	c := it.f - d1*it.dpsi - d2*it.dphi
	switch {
	case slow || i == p+1:
	case origin == p:
		t := s.z[p] / d1
		c = it.f - d2*slope - (s.d[p]-s.d[p+1])*t*t
	default:
		t := s.z[p+1] / d2
		c = it.f - d1*slope - (s.d[p+1]-s.d[p])*t*t
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

// The merge of two eigenproblems: deflation, and the roots of the secular equation.

package lapack

import (
	"cmp"
	"math"
	"slices"

	"github.com/iokl/iokl/internal/dense/vmath"
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

// deflation is how the rows of a merged problem divide: those that enter the
// secular equation, by ascending pole, and those whose vectors are already final.
type deflation struct {
	rho      float64
	kept     []int
	deflated []int
	// position of each kept row when they are grouped by where they are nonzero:
	// first the top rows of Z (nonzero in the first half of the columns), then
	// the mixed, then the bottom ones.
	position           []int
	top, mixed, bottom int
}

// Where a row of the merged problem is nonzero.
const (
	topHalf = iota
	bothHalves
	bottomHalf
)

// leastScale is the size of problems that are zero; squares of what is negligible in larger ones do not underflow.
const leastScale = 0x1p-150

// deflate sets rows aside whose coupling z is negligible, and rotates pairs of
// nearly equal poles so that one of them becomes so. Row null of a bidiagonal problem is
// always kept: other right vectors of singular values that are zero to rounding are rotated
// into its own, while the left ones stay as they are.
func deflate(d, z []float64, sorted []int, m int, rho float64, null int, Z, U matrix) deflation {
	var dmax, zmax float64
	for i := range d {
		dmax, zmax = max(dmax, math.Abs(d[i])), max(zmax, math.Abs(z[i]))
	}
	if max(dmax, zmax) <= leastScale {
		return deflation{deflated: sorted}
	}
	tol := 8 * eps * max(dmax, zmax)
	f := deflation{rho: rho}
	kind := make([]uint8, len(d))
	for i := m; i < len(d); i++ {
		kind[i] = bottomHalf
	}
	join := func(p, r int) { // the vectors of p were rotated with those of r
		if kind[p] != kind[r] {
			kind[p] = bothHalves
		}
	}
	if null >= 0 {
		f.kept = append(f.kept, null)
	}
	pending := -1 // the last row that is not deflated so far
	for _, r := range sorted {
		switch {
		case r == null:
		case rho*math.Abs(z[r]) <= tol:
			f.deflated = append(f.deflated, r)
		case null >= 0 && d[r] <= tol:
			c, s := turn(z, r, null)
			rotate(Z, r, null, c, s)
			d[r] = 0
			join(null, r)
			f.deflated = append(f.deflated, r)
		case pending < 0:
			pending = r
		case rotated(d, z, pending, r, tol, Z, U):
			join(r, pending)
			f.deflated = append(f.deflated, pending)
			pending = r
		default:
			f.kept = append(f.kept, pending)
			pending = r
		}
	}
	if pending >= 0 {
		f.kept = append(f.kept, pending)
	}
	if null >= 0 && math.Abs(z[null]) <= tol {
		z[null] = tol
	}
	f.group(kind)
	return f
}

// rotated turns the plane of rows p and r, d[p] ≤ d[r], so that z[p] = 0, when
// the off-diagonal element that this makes is negligible.
func rotated(d, z []float64, p, r int, tol float64, Z, U matrix) bool {
	zp, zr := z[p], z[r]
	c, s := turn(z, p, r)
	dp, dr := d[p], d[r]
	if math.Abs((dr-dp)*c*s) > tol {
		z[p], z[r] = zp, zr
		return false
	}
	d[p], d[r] = dp*c*c+dr*s*s, dp*s*s+dr*c*c
	rotate(Z, p, r, c, s)
	if U.Rows > 0 {
		rotate(U, p, r, c, s)
	}
	return true
}

// turn rotates z so that z[p] = 0 and returns the rotation.
func turn(z []float64, p, r int) (c, s float64) {
	tau := math.Hypot(z[r], z[p])
	c, s = z[r]/tau, -z[p]/tau
	z[r], z[p] = tau, 0
	return c, s
}

func rotate(Z matrix, p, r int, c, s float64) {
	level1.Drot(Z.Cols, row(Z, p), 1, row(Z, r), 1, c, s)
}

// group assigns the positions.
func (f *deflation) group(kind []uint8) {
	var count [3]int
	for _, r := range f.kept {
		count[kind[r]]++
	}
	f.top, f.mixed, f.bottom = count[topHalf], count[bothHalves], count[bottomHalf]
	next := [3]int{0, f.top, f.top + f.mixed}
	f.position = make([]int, len(f.kept))
	for j, r := range f.kept {
		f.position[j] = next[kind[r]]
		next[kind[r]]++
	}
}

// sortByValue sorts the rows by d.
func sortByValue(rows []int, d []float64) {
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
}

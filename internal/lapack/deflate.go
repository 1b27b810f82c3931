// This file sets aside what is solved already when divide and conquer merges two problems.

package lapack

import (
	"cmp"
	"math"
	"slices"
)

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

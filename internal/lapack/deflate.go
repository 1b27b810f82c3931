// This file sets aside what is solved already when divide and conquer merges two eigenproblems.

package lapack

import (
	"cmp"
	"math"
	"slices"
)

// deflation is how the rows of a merged problem divide: those that enter the
// secular equation, by ascending pole, and those whose eigenpair is already final.
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

// deflate sets rows aside whose coupling z is negligible, and rotates pairs of
// nearly equal poles so that one of them becomes so.
func deflate(d, z []float64, sorted []int, Z matrix, m int, rho float64) deflation {
	var dmax, zmax float64
	for i := range d {
		dmax, zmax = max(dmax, math.Abs(d[i])), max(zmax, math.Abs(z[i]))
	}
	tol := 8 * eps * max(dmax, zmax)
	f := deflation{rho: rho}
	kind := make([]uint8, len(d))
	for i := m; i < len(d); i++ {
		kind[i] = bottomHalf
	}
	pending := -1 // the last row that is not deflated so far
	for _, r := range sorted {
		switch {
		case rho*math.Abs(z[r]) <= tol:
			f.deflated = append(f.deflated, r)
		case pending < 0:
			pending = r
		case rotated(d, z, Z, pending, r, tol):
			if kind[pending] != kind[r] {
				kind[r] = bothHalves
			}
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
	f.group(kind)
	return f
}

// rotated turns the plane of rows p and r, d[p] ≤ d[r], so that z[p] = 0, when
// the off-diagonal element that this makes is negligible.
func rotated(d, z []float64, Z matrix, p, r int, tol float64) bool {
	tau := math.Hypot(z[r], z[p])
	c, s := z[r]/tau, -z[p]/tau
	if math.Abs((d[r]-d[p])*c*s) > tol {
		return false
	}
	z[r], z[p] = tau, 0
	dp, dr := d[p], d[r]
	d[p], d[r] = dp*c*c+dr*s*s, dp*s*s+dr*c*c
	level1.Drot(Z.Cols, row(Z, p), 1, row(Z, r), 1, c, s)
	return true
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

// This file projects vectors on the simplex and the capped simplex.

package frankwolfe

import "math"

// ProjectSimplex replaces x by the nearest point of { x ≥ 0, Σx = tau }, tau ≥ 0.
// Elements that are NaN make all of them NaN. Nothing is allocated.
func ProjectSimplex(x []float64, tau float64) {
	if len(x) == 0 {
		return
	}
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, v) // keeps NaN
	}
	if math.IsNaN(top) || math.IsInf(top, 0) {
		for i := range x {
			x[i] = math.NaN()
		}
		return
	}
	// Relative to the largest element nothing cancels: the threshold lies in [−tau, 0].
	// Michelot: it is the mean excess over the elements above it, found by raising it.
	theta := threshold(x, top, math.Inf(-1), tau)
	for i, v := range x {
		x[i] = math.Max(v-top-theta, 0)
	}
}

// threshold returns θ with Σ max(x_i − top − θ, 0) = tau, starting with the elements above low.
func threshold(x []float64, top, low, tau float64) float64 {
	count := len(x) + 1
	for {
		sum, n := 0.0, 0
		for _, v := range x {
			if v-top > low {
				sum += v - top
				n++
			}
		}
		if n >= count || n == 0 { // never more than before but for rounding
			return low
		}
		count, low = n, math.Min((sum-tau)/float64(n), 0)
	}
}

// ProjectCappedSimplex replaces x by the nearest point of { x ≥ 0, Σx ≤ tau },
// tau ≥ 0. Elements that are NaN make all of them NaN. Nothing is allocated.
func ProjectCappedSimplex(x []float64, tau float64) {
	var sum float64
	for _, v := range x {
		sum += math.Max(v, 0)
	}
	if !(sum <= tau) {
		ProjectSimplex(x, tau)
		return
	}
	for i, v := range x {
		x[i] = math.Max(v, 0)
	}
}

// This file computes the median distance between samples, which widths are multiples of.

package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/order"
)

// medianPairs is the number of pairs the median heuristic looks at, at most.
const medianPairs = 1 << 14

// samplePairs returns all pairs i < j of l samples, or medianPairs random pairs i ≠ j.
func samplePairs(l int, seed uint64) [][2]int {
	if l*(l-1)/2 <= medianPairs {
		var pairs [][2]int
		for i := range l {
			for j := range i {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		return pairs
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d656469616e))
	pairs := make([][2]int, medianPairs)
	for p := range pairs {
		i, j := rng.IntN(l), rng.IntN(l-1)
		if j >= i {
			j++
		}
		pairs[p] = [2]int{i, j}
	}
	return pairs
}

// medianDistance is the median, over the pairs that do not coincide when most
// do, of the kernel's own distance.
func medianDistance(m metric, X blas.General, set subset, pairs [][2]int) (float64, error) {
	if len(pairs) == 0 {
		return 0, fmt.Errorf("the median distance of a single sample: %w", ErrConstant)
	}
	dist := make([]float64, len(pairs))
	Z := set.of(X)
	for p, ij := range pairs {
		dist[p] = distance(m, blas.Row(Z, ij[0]), blas.Row(Z, ij[1]))
	}
	median := order.Select(dist, len(dist)/2)
	if median == 0 {
		dist = slices.DeleteFunc(dist, func(v float64) bool { return v == 0 })
		if len(dist) == 0 {
			return 0, fmt.Errorf("the median distance on features %s is 0: all the %d pairs looked at coincide: %w",
				set.label, len(pairs), ErrConstant)
		}
		median = order.Select(dist, len(dist)/2)
	}
	if math.IsInf(median, 0) {
		return 0, fmt.Errorf("the median distance on features %s overflows: %w: rescale the data", set.label,
			ErrNotFinite)
	}
	return median, nil
}

// distance is the distance whose width the kernel takes.
func distance(m metric, a, b []float64) float64 {
	var s float64
	switch m {
	case manhattan:
		for i, v := range a {
			s += math.Abs(v - b[i])
		}
		return s
	case chiSquare:
		for i, v := range a {
			if t := v + b[i]; t > 0 {
				s += (v - b[i]) * (v - b[i]) / t
			}
		}
		return s
	}
	for i, v := range a {
		s += (v - b[i]) * (v - b[i])
	}
	return math.Sqrt(s)
}

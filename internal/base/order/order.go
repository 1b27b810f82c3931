// Package order computes order statistics, and the ranks of those that bound prediction intervals.
package order

import "math"

// IntervalRank is the rank, from 1, among n errors of the one that another error like them exceeds with probability
// 1 − level at most: ⌈level·(n + 1)⌉. Above n, there are too few errors.
func IntervalRank(level float64, n int) int {
	return max(1, int(math.Ceil(level*float64(n+1)-1e-9))) // rounding of a whole number does not raise it
}

// Select returns element k of v in ascending order. It changes the order of v, in time
// that grows with its length (Hoare's quickselect). v holds no NaN.
func Select(v []float64, k int) float64 {
	for lo, hi := 0, len(v)-1; lo < hi; {
		pivot := max(min(v[lo], v[hi]), min(max(v[lo], v[hi]), v[(lo+hi)/2]))
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}

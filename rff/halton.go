// Randomized Halton sequences, the points of the sampler qmc.

package rff

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// maxHalton bounds the dimension of the sequence: the digits of a coordinate in
// base b say nothing before b points have been drawn.
const maxHalton = 4096

// halton is a randomised Halton sequence: coordinate f of point i is the
// reversal of i in base p_f, the f-th prime, each digit position with a random
// permutation of its own. A digit then is uniform and independent of the
// others, so each point is uniform on the cube, to 2⁻⁵².
type halton struct {
	bases []int
	perms [][][]int32 // of each coordinate and digit position
}

func newHalton(d int, rng *rand.Rand) *halton {
	h := &halton{bases: primes(d), perms: make([][][]int32, d)}
	for f, b := range h.bases {
		digits := int(math.Ceil(52 / math.Log2(float64(b))))
		h.perms[f] = make([][]int32, digits)
		for k := range digits {
			h.perms[f][k] = permutation(b, rng)
		}
	}
	return h
}

func permutation(n int, rng *rand.Rand) []int32 {
	p := make([]int32, n)
	for i, v := range rng.Perm(n) {
		p[i] = int32(v)
	}
	return p
}

// at is coordinate f of point i, in (0,1).
func (h *halton) at(i, f int) float64 {
	b := h.bases[f]
	var u float64
	scale := 1.0
	for _, perm := range h.perms[f] {
		scale /= float64(b)
		u += scale * float64(perm[i%b])
		i /= b
	}
	return min(max(u, 0x1p-53), 1-0x1p-53)
}

// primes is the first n primes.
func primes(n int) []int {
	found := make([]int, 0, n)
	for c := int64(2); len(found) < n; c++ {
		if big.NewInt(c).ProbablyPrime(0) { // surely so below 2⁶⁴
			found = append(found, int(c))
		}
	}
	return found
}

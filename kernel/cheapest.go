// This file chooses how the frequencies of random Fourier features are drawn where a SPEC leaves that open.

package kernel

import "math/bits"

// hadamardCost is the time of one column of a fast Hadamard transform and its
// share of the passes around it, divided by log₂ of its order, in the time that a
// matrix product takes for one multiplication and addition: measured with
// BenchmarkTransform of package rff, 10 to 15 for 64 to 1500 columns.
const hadamardCost = 14

// hadamardGain is how much faster structured frequencies must be to be chosen.
const hadamardGain = 2

// Cheapest is the sampler of random features that the sampler auto stands for: of
// the two whose directions are orthogonal, hadamard where multiplying by n of its
// frequencies, in blocks of d' = 2^⌈log₂ d⌉ rows, is at least twice as fast,
//
//	d·n ≥ 2·14·log₂(d')·⌈n/d'⌉d',
//
// and orthogonal elsewhere. So hadamard serves gaussian, matern and rational kernels of some
// 250 columns or more and as many frequencies, where its rows are Gaussian enough.
func (a *Approximation) Cheapest(kind Kind, d int) string {
	if kind.def().radial == nil {
		return "orthogonal"
	}
	n := a.Count
	if a.Form == "" {
		n = (n + 1) / 2
	}
	log := max(bits.Len(uint(d-1)), 1)
	order := 1 << log
	rows := (n + order - 1) / order * order
	if float64(d)*float64(n) >= hadamardGain*hadamardCost*float64(log)*float64(rows) {
		return "hadamard"
	}
	return "orthogonal"
}

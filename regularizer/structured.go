// Norms that tie weights to each other: groups and wedge.

package regularizer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// Groups shares one weight among the kernels of a group (Micchelli, Morales and
// Pontil, 2013): ω(η) = Σ_j η_j on the cone where η is constant on each group,
// so that Ω(f) = 2·Σ_g √(|g|·Σ_{j∈g} ‖f_j‖²). Sizes are those of groups of
// consecutive kernels.
type Groups struct{ Sizes []int }

func (r Groups) String() string {
	s := make([]string, len(r.Sizes))
	for i, k := range r.Sizes {
		s[i] = strconv.Itoa(k)
	}
	return "groups:" + strings.Join(s, ",")
}

// Check requires positive sizes that add up to m.
func (r Groups) Check(m int) error {
	var s int
	for _, k := range r.Sizes {
		if k < 1 {
			return fmt.Errorf("regularizer: a group of %d kernels", k)
		}
		s += k
	}
	if s != m {
		return fmt.Errorf("regularizer: the groups hold %d kernels, the problem %d", s, m)
	}
	return nil
}

// each calls f on the part of x that belongs to each group.
func (r Groups) each(x []float64, f func(part []float64)) {
	for _, k := range r.Sizes {
		f(x[:k])
		x = x[k:]
	}
}

// Start writes 1/m.
func (r Groups) Start(eta []float64) { fill(eta, 1/float64(len(eta))) }

// Update is η_g = √(Σ_{j∈g} α_j²/|g|).
func (r Groups) Update(eta, alpha2 []float64) {
	copy(eta, alpha2)
	r.each(eta, func(p []float64) { fill(p, math.Sqrt(floats.Sum(p)/float64(len(p)))) })
}

// groupSlack is the relative violation of the cone that rounding may leave.
const groupSlack = 1e-12

// Omega is Σ η_j on the cone, +∞ outside.
func (r Groups) Omega(eta []float64) float64 {
	if !nonnegative(eta) {
		return math.Inf(1)
	}
	total := floats.Sum(eta)
	r.each(eta, func(p []float64) {
		for _, e := range p {
			if !(math.Abs(e-p[0]) <= groupSlack*p[0]) {
				total = math.Inf(1)
			}
		}
	})
	return total
}

// Conjugate is 0 when the mean of c over every group is at most 1, else +∞.
func (r Groups) Conjugate(c []float64) float64 {
	var v float64
	r.each(c, func(p []float64) {
		if !(floats.Sum(p) <= float64(len(p))) {
			v = math.Inf(1)
		}
	})
	return v
}

// Gradient is 1.
func (r Groups) Gradient(dst, _ []float64) { fill(dst, 1) }

// Project writes the mean over each group, clipped at 0.
func (r Groups) Project(v []float64) {
	r.each(v, func(p []float64) { fill(p, math.Max(floats.Sum(p)/float64(len(p)), 0)) })
}

// Wedge orders the weights in the order of the dictionary, η_1 ≥ η_2 ≥ … ≥ 0, with ω(η) = Σ_j η_j on that cone
// (Micchelli, Morales and Pontil, 2013).
type Wedge struct{}

func (Wedge) String() string { return "wedge" }

// Check accepts any number of kernels.
func (Wedge) Check(int) error { return nil }

// Start writes 1/m.
func (Wedge) Start(eta []float64) { fill(eta, 1/float64(len(eta))) }

// Update is isotonic regression of α² by pooling adjacent kernels: on each pool η is the square root of the mean of α².
func (Wedge) Update(eta, alpha2 []float64) {
	copy(eta, alpha2)
	pool(eta)
	for j, v := range eta {
		eta[j] = math.Sqrt(math.Max(v, 0))
	}
}

// Omega is Σ η_j on the cone, +∞ outside.
func (Wedge) Omega(eta []float64) float64 {
	for j, e := range eta {
		if !(e >= 0) || j > 0 && !(e <= eta[j-1]*(1+groupSlack)) {
			return math.Inf(1)
		}
	}
	return floats.Sum(eta)
}

// Conjugate is 0 when the mean of every prefix of c is at most 1, else +∞, because the indicators of prefixes span the
// cone.
func (Wedge) Conjugate(c []float64) float64 {
	var s float64
	for j, v := range c {
		s += v
		if !(s <= float64(j+1)) {
			return math.Inf(1)
		}
	}
	return 0
}

// Gradient is 1.
func (Wedge) Gradient(dst, _ []float64) { fill(dst, 1) }

// Project is isotonic regression by pooling adjacent elements, clipped at 0.
func (Wedge) Project(v []float64) {
	pool(v)
	clipBelow(v)
}

// pool overwrites v by its nearest non-increasing sequence (pool adjacent violators).
func pool(v []float64) {
	type block struct {
		sum float64
		n   int
	}
	var blocks []block
	for _, x := range v {
		blocks = append(blocks, block{x, 1})
		for k := len(blocks); k > 1; k-- {
			a, b := blocks[k-2], blocks[k-1]
			if a.sum*float64(b.n) >= b.sum*float64(a.n) {
				break
			}
			blocks = append(blocks[:k-2], block{a.sum + b.sum, a.n + b.n})
		}
	}
	j := 0
	for _, b := range blocks {
		fill(v[j:j+b.n], b.sum/float64(b.n))
		j += b.n
	}
}

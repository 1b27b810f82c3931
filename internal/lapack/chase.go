// This file reduces symmetric band matrices to tridiagonal form, the second of two stages.

package lapack

import (
	"sync/atomic"

	"gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/par"
)

// chase reduces a symmetric band matrix to tridiagonal form. Sweep s annihilates
// column s below its subdiagonal; what that fills in further down is chased off
// the end, block by block (Lang, SIAM J. Sci. Comput. 14, 1993).
//
// Workers take the sweeps in turn. Step k of a sweep may run once the sweep
// before has done its step k+1, so that they follow each other down the band.
type chase struct {
	impl Implementation
	n    int
	band []float64 // row i holds columns i−2·bandWidth … i
	next atomic.Int64
	done []atomic.Int64 // steps of each sweep
}

const chaseStride = 2 * bandWidth

// finished is more steps than any sweep has.
const finished = 1 << 60

// newChase takes the band out of the upper triangle of a.
func newChase(impl Implementation, a matrix) *chase {
	n := a.Rows
	c := &chase{impl: impl, n: n, band: make([]float64, n*(chaseStride+1)), done: make([]atomic.Int64, n)}
	for i := range n {
		for j := max(0, i-bandWidth); j <= i; j++ {
			c.band[c.at(i, j)] = a.Data[j*a.Stride+i]
		}
	}
	return c
}

// at locates element (i,j), i−2·bandWidth ≤ j ≤ i. Blocks that stay within those
// bounds are row-major matrices of stride chaseStride.
func (c *chase) at(i, j int) int { return i*chaseStride + j + chaseStride }

// work does sweeps until there are none left; their reflections go to a.
func (c *chase) work(a matrix) {
	w := &chaseWorker{chase: c}
	for s := int(c.next.Add(1)) - 1; s < c.n-2; s = int(c.next.Add(1)) - 1 {
		w.sweep(s, sweepVectors(a, s))
		c.done[s].Store(finished)
	}
}

// await returns when sweep s may do its step k.
func (c *chase) await(s int, k int64) {
	if s == 0 {
		return
	}
	if before := &c.done[s-1]; before.Load() < k+2 {
		par.Until(func() bool { return before.Load() >= k+2 })
	}
}

// chaseWorker is one worker's scratch.
type chaseWorker struct {
	*chase
	y, u, v [bandWidth]float64
}

// sweep reduces column s. The reflection that acts on rows s+1+k·bandWidth on is
// kept from store[k·bandWidth], its factor in place of the leading 1.
func (c *chaseWorker) sweep(s int, store []float64) {
	r := s + 1
	v, other := c.u[:min(bandWidth, c.n-r)], c.v[:]
	c.await(s, 0)
	tau := c.annihilate(r, s, v)
	for k := int64(0); ; k++ {
		c.await(s, k)
		c.twoSided(r, v, tau)
		at := r - s - 1
		store[at] = tau
		copy(store[at+1:at+len(v)], v[1:])
		below := r + bandWidth
		if below >= c.n {
			return
		}
		next := other[:min(bandWidth, c.n-below)]
		tau = c.offDiagonal(below, r, v, next, tau)
		c.done[s].Store(k + 1)
		r, v, other = below, next, v[:bandWidth]
	}
}

// annihilate finds the reflection that leaves column j only its first element of
// the rows [r, r+len(v)), and stores its vector in v.
func (c *chaseWorker) annihilate(r, j int, v []float64) (tau float64) {
	for i := range v {
		k := c.at(r+i, j)
		v[i] = c.band[k]
		c.band[k] = 0
	}
	c.band[c.at(r, j)], tau = reflector(v[0], v[1:])
	v[0] = 1
	return tau
}

// twoSided applies the reflection from both sides to the diagonal block at r.
func (c *chaseWorker) twoSided(r int, v []float64, tau float64) {
	if tau == 0 {
		return
	}
	y, block := c.y[:len(v)], c.band[c.at(r, r):]
	c.impl.bl.Dsymv(blas.Lower, len(v), tau, block, chaseStride, v, 1, 0, y, 1)
	axpy(-0.5*tau*dot(y, v), v, y)
	c.impl.bl.Dsyr2(blas.Lower, len(v), -1, v, 1, y, 1, block, chaseStride)
}

// offDiagonal applies the reflection v, of the columns from r on, to the block
// below it from the right, and the one that annihilates its first column, which
// it stores in next, from the left.
func (c *chaseWorker) offDiagonal(below, r int, v, next []float64, tau float64) float64 {
	b, m := len(v), len(next)
	y, block := c.y[:max(b, m)], c.band[c.at(below, r):]
	if tau != 0 {
		c.impl.bl.Dgemv(nt, m, b, tau, block, chaseStride, v, 1, 0, y, 1)
		c.impl.bl.Dger(m, b, -1, y, 1, v, 1, block, chaseStride)
	}
	tau = c.annihilate(below, r, next)
	if tau != 0 {
		right := block[1:]
		c.impl.bl.Dgemv(tr, m, b-1, tau, right, chaseStride, next, 1, 0, y, 1)
		c.impl.bl.Dger(m, b-1, -1, next, 1, y, 1, right, chaseStride)
	}
	return tau
}

// The reduction of symmetric matrices to tridiagonal form in two stages, by way of a band matrix.

package lapack

import (
	"runtime"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

const (
	// bandWidth is the number of subdiagonals between the two stages.
	bandWidth = 48
	// TwoStageFrom is the order from which Sytrd and Syevals go through a band matrix. One stage takes .85 of the time
	// of two at order 1800, as long at 2200, and 1.3 times as long at 2600, where the triangle nears the size of the
	// third-level cache; solves with the reflections of two stages take three times as long.
	TwoStageFrom = 2400
	// bundleSweeps is the most sweeps that one worker does side by side: each needs a block of 36 KiB of the band in
	// the second-level cache. Two workers take .85 of the time of single sweeps with 4 to 8, .9 with 16.
	bundleSweeps = 8
	// chaseColumns is the most columns one task transforms back at a time.
	chaseColumns = 64
)

// reduceToBand overwrites the upper triangle of the symmetric a by a band matrix
// of bandWidth superdiagonals, orthogonally similar to it. All but n²·bandWidth
// of the 4/3·n³ operations are products with panels of that many columns. Row i
// of a holds beyond the band the vector of a reflection, whose factor is tau[i]:
// with those of one panel, H = I − Vᵀ·T·V,
//
//	Hᵀ·A·H = A − Vᵀ·W − Wᵀ·V,   W = X − ½·S·V,   X = Tᵀ·V·A,   S = Tᵀ·V·Xᵀ
func (impl Implementation) reduceToBand(a matrix, tau []float64) {
	n := a.Rows
	V, X := make([]float64, bandWidth*n), make([]float64, bandWidth*n)
	T, gram, S := zeros(bandWidth, bandWidth), zeros(bandWidth, bandWidth), zeros(bandWidth, bandWidth)
	w := make([]float64, bandWidth)
	for i := 0; i+bandWidth < n-1; i += bandWidth {
		first := i + bandWidth
		m := n - first
		b := min(bandWidth, m)
		impl.panelRows(view(a, i, first, bandWidth, m), tau[i:i+b], w)
		v := head(V, b, m)
		unitRows(v, view(a, i, first, b, m))
		h := impl.newBlock(v, tau[i:i+b], view(T, 0, 0, b, b), gram)
		x := head(X, b, m)
		trailing := a.Data[first*a.Stride+first:]
		impl.bl.Dsymm(blas.Right, blas.Upper, b, m, 1, trailing, a.Stride, h.V.Data, m, 0, x.Data, m)
		impl.bl.Dtrmm(blas.Left, blas.Upper, tr, blas.NonUnit, b, m, 1, h.T.Data, h.T.Stride, x.Data, m)
		s := view(S, 0, 0, b, b)
		impl.gemm(nt, tr, 1, h.V, x, 0, s)
		impl.bl.Dtrmm(blas.Left, blas.Upper, tr, blas.NonUnit, b, b, 1, h.T.Data, h.T.Stride, s.Data, s.Stride)
		impl.gemm(nt, nt, -0.5, s, h.V, 1, x)
		impl.bl.Dsyr2k(blas.Upper, tr, m, b, -1, h.V.Data, m, x.Data, m, 1, trailing, a.Stride)
	}
}

// panelRows reduces p (b×m) to lower triangular form by reflections from the
// right; row j then holds their vector beyond its diagonal. w is scratch of b.
func (impl Implementation) panelRows(p matrix, tau, w []float64) {
	m := p.Cols
	for j := range tau {
		x := row(p, j)[j:]
		beta, t := reflector(x[0], x[1:])
		x[0], tau[j] = 1, t
		if below := p.Rows - j - 1; below > 0 && t != 0 {
			rest := p.Data[(j+1)*p.Stride+j:]
			impl.bl.Dgemv(nt, below, m-j, t, rest, p.Stride, x, 1, 0, w, 1)
			impl.bl.Dger(below, m-j, -1, w, 1, x, 1, rest, p.Stride)
		}
		x[0] = beta
	}
}

// twoStage is Sytrd through a band matrix. Beyond the band the upper triangle of
// a holds the reflections of the first stage, with their factors in tau, the
// strictly lower one those of the second.
func (impl Implementation) twoStage(a matrix, d, e, tau []float64) {
	impl.reduceToBand(a, tau)
	n := a.Rows
	c := newChase(impl, a)
	// Workers wait for each other at every step, so that more of them than run at once would take seconds. Their
	// bundles have room in half of the band.
	workers := min(par.Threads(), runtime.GOMAXPROCS(0))
	bundle := min(max(n/(2*bandWidth*workers), 1), bundleSweeps)
	par.For(workers, func(int) { c.work(a, bundle) })
	for i := range n {
		d[i] = c.band[c.at(i, i)]
		if i+1 < n {
			e[i] = c.band[c.at(i+1, i)]
		}
	}
}

// sweepVectors is where the reflections of sweep s are kept: they act on the
// rows from s+1 on, and there are as many places left of the diagonal in row n−1−s.
func sweepVectors(a matrix, s int) []float64 { return row(a, a.Rows-1-s)[:a.Rows-1-s] }

// applyTwoStage overwrites c by Q·c or Qᵀ·c with Q = Q₁·Q₂ from twoStage.
func (impl Implementation) applyTwoStage(trans bool, a matrix, tau []float64, c matrix) {
	if trans {
		impl.applyBand(true, a, tau, c)
		impl.applyChase(true, a, c)
		return
	}
	impl.applyChase(false, a, c)
	impl.applyBand(false, a, tau, c)
}

// applyBand applies the reflections of the first stage.
func (impl Implementation) applyBand(trans bool, a matrix, tau []float64, c matrix) {
	n := a.Rows
	panels := (n - 2) / bandWidth // those that start with i+bandWidth < n−1
	tau = tau[:min(panels*bandWidth, max(n-bandWidth, 0))]
	w, work := make([]float64, bandWidth*c.Cols), make([]float64, bandWidth*(n+2*bandWidth))
	impl.eachRowBlock(a, tau, bandWidth, bandWidth, !trans, work, func(h block, first int) {
		impl.apply(h, trans, view(c, first, 0, n-first, c.Cols), w)
	})
}

// applyChase applies the reflections of the second stage. Those of bandWidth
// successive sweeps that start from the same block row overlap like a staircase
// and are applied as one compact block. Of the blocks of such a group, the lower
// act before the upper ones in Qᵀ: reflection k+1 of a sweep precedes reflection
// k of a later sweep, while those of one sweep are disjoint.
func (impl Implementation) applyChase(trans bool, a, c matrix) {
	n := a.Rows
	sweeps := n - 2
	groups := (sweeps + bandWidth - 1) / bandWidth
	pieces := (c.Cols + chaseColumns - 1) / chaseColumns
	piece := (c.Cols + pieces - 1) / pieces
	stairs := make([]staircase, (n-2)/bandWidth+1)
	for k := range stairs {
		stairs[k] = newStaircase()
	}
	for g := range groups {
		if !trans {
			g = groups - 1 - g
		}
		s0 := g * bandWidth
		count := (n - 2 - s0 + bandWidth) / bandWidth // block rows of sweep s0
		par.For(count, func(k int) { stairs[k].gather(impl, a, s0, min(bandWidth, sweeps-s0), k) })
		par.Ranges(c.Cols, piece, func(lo, hi int) {
			w := make([]float64, bandWidth*(hi-lo))
			for k := range count {
				if trans {
					k = count - 1 - k
				}
				h := stairs[k].block
				impl.apply(h, trans, view(c, stairs[k].first, lo, h.V.Cols, hi-lo), w)
			}
		})
	}
}

// staircase is the compact block of reflection k of several sweeps, the first
// row it acts on, and the memory for both.
type staircase struct {
	block
	first      int
	v, t, gram []float64
	tau        [bandWidth]float64
}

func newStaircase() staircase {
	const b = bandWidth
	return staircase{v: make([]float64, b*(2*b-1)), t: make([]float64, b*b), gram: make([]float64, b*b)}
}

// gather collects reflection k of the sweeps s0 … s0+sweeps−1.
func (s *staircase) gather(impl Implementation, a matrix, s0, sweeps, k int) {
	n := a.Rows
	s.first = s0 + 1 + k*bandWidth
	rows := min(sweeps, n-s.first) // sweeps that reach this far down
	V := head(s.v, rows, min(rows-1+bandWidth, n-s.first))
	for i := range rows {
		store := sweepVectors(a, s0+i)[k*bandWidth:]
		clear(row(V, i)[:i])
		v := row(V, i)[i:]
		size := min(bandWidth, len(v))
		s.tau[i] = store[0]
		v[0] = 1
		copy(v[1:size], store[1:size])
		clear(v[size:])
	}
	s.block = impl.newBlock(V, s.tau[:rows], head(s.t, rows, rows), head(s.gram, rows, rows))
}

// chase reduces a symmetric band matrix to tridiagonal form. Sweep s annihilates
// column s below its subdiagonal; what that fills in further down is chased off
// the end, block by block (Lang, SIAM J. Sci. Comput. 14, 1993).
//
// Workers take bundles of successive sweeps in turn. Step k of a sweep may run once the sweep
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
const finished = 1 << 30

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

// work does bundles of so many sweeps until there are none left; their reflections go to a.
func (c *chase) work(a matrix, bundle int) {
	w := &chaseWorker{chase: c, sweeps: make([]sweep, bundle)}
	for {
		last := int(c.next.Add(int64(bundle)))
		first := last - bundle
		if first >= c.n-2 {
			return
		}
		w.run(a, first, min(last, c.n-2))
	}
}

// await returns when sweep s may do its step k.
func (c *chase) await(s, k int) {
	if s == 0 {
		return
	}
	if before := &c.done[s-1]; before.Load() < int64(k+2) {
		par.Until(func() bool { return before.Load() >= int64(k+2) })
	}
}

// chaseWorker is one worker's scratch.
type chaseWorker struct {
	*chase
	sweeps []sweep
	y      [bandWidth]float64
}

// sweep reduces column s. The reflection of step k acts on the rows from s+1+k·bandWidth on. It is
// kept from store[k·bandWidth], its factor in place of the leading 1.
type sweep struct {
	s, k    int // k is the next step; all are done at finished
	store   []float64
	vectors [2][bandWidth]float64 // of step k, at k%2, and of the next
	tau     float64               // of step k
}

// run does the sweeps from first on, before last, side by side: each is a step behind the one before, so that a block
// of the band serves all of them while it is in the cache.
func (c *chaseWorker) run(a matrix, first, last int) {
	sweeps := c.sweeps[:last-first]
	for i := range sweeps {
		sweeps[i].s, sweeps[i].k, sweeps[i].store = first+i, 0, sweepVectors(a, first+i)
	}
	for t := 0; sweeps[len(sweeps)-1].k < finished; t++ {
		for i := range sweeps[:min(t+1, len(sweeps))] {
			if sweeps[i].k < finished {
				c.step(&sweeps[i])
			}
		}
	}
}

// step does the next step of w.
func (c *chaseWorker) step(w *sweep) {
	r := w.s + 1 + w.k*bandWidth
	v := w.vectors[w.k%2][:min(bandWidth, c.n-r)]
	c.await(w.s, w.k)
	if w.k == 0 {
		w.tau = c.annihilate(r, w.s, v)
	}
	c.twoSided(r, v, w.tau)
	at := r - w.s - 1
	w.store[at] = w.tau
	copy(w.store[at+1:at+len(v)], v[1:])
	w.k++
	if below := r + bandWidth; below < c.n {
		next := w.vectors[w.k%2][:min(bandWidth, c.n-below)]
		w.tau = c.offDiagonal(below, r, v, next, w.tau)
	} else {
		w.k = finished
	}
	c.done[w.s].Store(int64(w.k))
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

// This file stores the Gram matrices of all kernels in one block of memory, in tiles that stay in the cache.

package granger

import (
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// tileLen is how many elements of each kernel lie together in a stack. A tile of
// 200 kernels then takes 800 KiB and stays in the cache while all targets use it.
const tileLen = 1024

// tileGroup is how many tiles one goroutine takes at a time.
const tileGroup = 16

// stack holds the lower triangles of m Gram matrices, element (i,j) at place
// i(i+1)/2 + j, interleaved in tiles: tile t is an m×tileLen matrix whose row k
// holds the elements [t·tileLen, (t+1)·tileLen) of kernel k. The first r samples
// take a prefix of the tiles.
type stack struct {
	m, l int
	be   blas.Backend
	data []float32
}

// newStack copies the terms, each of which it releases afterwards.
func newStack(terms []*blas.Sym, be blas.Backend) *stack {
	s := &stack{m: len(terms), l: terms[0].N, be: be}
	s.data = make([]float32, s.tiles(s.l)*s.m*tileLen)
	par.For(s.m, func(k int) {
		place := 0
		for i := range s.l {
			row, _, cols, off := terms[k].Panel(i / blas.SymBlock)
			line := terms[k].F32[off+(i-row)*cols:]
			for done := 0; done <= i; {
				t, at := place/tileLen, place%tileLen
				n := min(tileLen-at, i+1-done)
				copy(s.data[(t*s.m+k)*tileLen+at:], line[done:done+n])
				done, place = done+n, place+n
			}
		}
		terms[k] = nil
	})
	return s
}

// tiles is the number of tiles that the triangle of the first r samples touches.
func (s *stack) tiles(r int) int { return (r*(r+1)/2 + tileLen - 1) / tileLen }

// tile is tile t, m×tileLen.
func (s *stack) tile(t int) []float32 { return s.data[t*s.m*tileLen : (t+1)*s.m*tileLen] }

// place locates element e of a triangle: its row and column.
type place struct{ i, j int }

// at is the place of the first element of tile t.
func at(t int) place {
	e := t * tileLen
	lo, hi := 0, e+1 // the largest i with i(i+1)/2 ≤ e
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; mid*(mid+1)/2 <= e {
			lo = mid
		} else {
			hi = mid
		}
	}
	return place{lo, e - lo*(lo+1)/2}
}

func (p *place) next() {
	if p.j++; p.j > p.i {
		p.i, p.j = p.i+1, 0
	}
}

// sums computes the lower triangles of K_η for the rows of the n×m eta on the
// first r samples: dst[a] is r×r. A cancelled ctx leaves tiles out.
func (s *stack) sums(ctx context.Context, dst []blas.General, eta []float32, r int) {
	n := len(dst)
	limit := r * (r + 1) / 2
	par.Ranges(s.tiles(r), tileGroup, func(lo, hi int) {
		out := make([]float32, n*tileLen)
		for t := lo; t < hi && ctx.Err() == nil; t++ {
			s.sumsTile(dst, eta, out, t, min(tileLen, limit-t*tileLen))
		}
	})
}

// sumsTile is the part of sums that count elements of tile t give; out is scratch.
func (s *stack) sumsTile(dst []blas.General, eta, out []float32, t, count int) {
	s.be.Sgemm(blas.NoTrans, blas.NoTrans, len(dst), tileLen, s.m, 1, eta, s.m, s.tile(t), tileLen, 0, out, tileLen)
	for a, d := range dst {
		p, line := at(t), out[a*tileLen:]
		for e := 0; e < count; {
			run := min(p.i+1-p.j, count-e)
			row := d.Data[p.i*d.Stride+p.j:]
			for k, v := range line[e : e+run] {
				row[k] = float64(v)
			}
			e += run
			p = place{p.i + 1, 0}
		}
	}
}

// forms computes out[a·m+k] = c_aᵀ·K_k·c_a for the n vectors c_a, of which only
// the first r elements differ from zero.
func (s *stack) forms(ctx context.Context, out []float64, c [][]float64, r int) {
	n := len(c)
	tiles := s.tiles(r)
	limit := r * (r + 1) / 2
	// Partial sums over fixed groups of tiles, added up in their order.
	groups := (tiles + tileGroup - 1) / tileGroup
	part := make([]float64, groups*n*s.m)
	par.For(groups, func(g int) {
		P, F := make([]float32, n*tileLen), make([]float32, n*s.m)
		sum := part[g*n*s.m : (g+1)*n*s.m]
		for t := g * tileGroup; t < min(tiles, (g+1)*tileGroup) && ctx.Err() == nil; t++ {
			count := min(tileLen, limit-t*tileLen)
			for a, v := range c {
				outer(P[a*tileLen:(a+1)*tileLen], v, at(t), count)
			}
			s.be.Sgemm(blas.NoTrans, blas.Trans, n, s.m, tileLen, 1, P, tileLen, s.tile(t), tileLen, 0, F, s.m)
			for i, v := range F {
				sum[i] += float64(v)
			}
		}
	})
	clear(out)
	for g := range groups {
		blas.Axpy(1, part[g*n*s.m:(g+1)*n*s.m], out)
	}
}

// outer fills p with the elements of 2·v·vᵀ from a place on, those on the
// diagonal once; behind count elements it is zero.
func outer(p []float32, v []float64, from place, count int) {
	for e := 0; e < count; {
		run := min(from.i+1-from.j, count-e)
		vi := 2 * v[from.i]
		for k := range run {
			p[e+k] = float32(vi * v[from.j+k])
		}
		if from.j+run == from.i+1 {
			p[e+run-1] /= 2
		}
		e += run
		from = place{from.i + 1, 0}
	}
	clear(p[count:])
}

// cross computes dst[a] = K_η(rows [r,hi), rows [0,r))·c_a, of length hi-r, for
// the n×m eta.
func (s *stack) cross(dst [][]float64, eta []float32, c [][]float64, r, hi int) {
	n := len(dst)
	first, last := r*(r+1)/2, hi*(hi+1)/2
	for a := range dst {
		clear(dst[a])
	}
	out := make([]float32, n*tileLen)
	for t := first / tileLen; t*tileLen < last; t++ {
		s.be.Sgemm(blas.NoTrans, blas.NoTrans, n, tileLen, s.m, 1, eta, s.m, s.tile(t), tileLen, 0, out, tileLen)
		p := at(t)
		for e := range min(tileLen, last-t*tileLen) {
			if p.i >= r && p.j < r {
				for a := range dst {
					dst[a][p.i-r] += float64(out[a*tileLen+e]) * c[a][p.j]
				}
			}
			p.next()
		}
	}
}

// This file stores the Gram matrices of all kernels in one block of memory, in tiles that stay in the cache.

package granger

import (
	"context"
	"sort"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
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

// runs calls f for the parts of rows that lie in the first count elements of tile t: n elements of row i from column j
// on, the first of them at place e of the tile.
func runs(t, count int, f func(i, j, e, n int)) {
	first := t * tileLen
	i := sort.Search(first, func(i int) bool { return (i+1)*(i+2)/2 > first }) // the row of the first element
	j := first - i*(i+1)/2
	for e := 0; e < count; i, j = i+1, 0 {
		n := min(i+1-j, count-e)
		f(i, j, e, n)
		e += n
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
			s.be.Sgemm(blas.NoTrans, blas.NoTrans, n, tileLen, s.m, 1, eta, s.m, s.tile(t), tileLen, 0, out, tileLen)
			for a, d := range dst {
				line := out[a*tileLen:]
				runs(t, min(tileLen, limit-t*tileLen), func(i, j, e, n int) {
					row := d.Data[i*d.Stride+j:]
					for k, v := range line[e : e+n] {
						row[k] = float64(v)
					}
				})
			}
		}
	})
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
				outer(P[a*tileLen:(a+1)*tileLen], v, t, count)
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

// outer fills p with the elements of 2·v·vᵀ that tile t holds, those on the
// diagonal once; behind count elements it is zero.
func outer(p []float32, v []float64, t, count int) {
	runs(t, count, func(i, j, e, n int) {
		vi := 2 * v[i]
		for k := range n {
			p[e+k] = float32(vi * v[j+k])
		}
		if j+n == i+1 {
			p[e+n-1] /= 2
		}
	})
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
		runs(t, min(tileLen, last-t*tileLen), func(i, j, e, n int) {
			if i < r {
				return
			}
			for a := range dst {
				for k := range min(n, r-j) {
					dst[a][i-r] += float64(out[a*tileLen+e+k]) * c[a][j+k]
				}
			}
		})
	}
}

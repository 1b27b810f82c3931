// This file computes bilinear forms with the terms of a sum of Gram matrices.

package linop

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// formsCols is the width of the tiles that Forms works in: with blas.SymBlock
// rows a tile of P takes 256 KiB and stays in the cache while the tiles of all
// kernels pass by.
const formsCols = 512

var level1 gonum.Implementation

// formsWork is one call of Forms: its arguments, and the partial sums of each block row.
type formsWork struct {
	sum   *GramSum
	U, V  blas.General
	idx   []int
	part  []float64 // panels×len(idx)
	panel func(b int)
}

// formsTile is a tile of P, and its copy in single precision.
type formsTile struct {
	p64 []float64
	p32 []float32
}

// Forms computes dst[i] = ⟨U, K_{idx[i]} V⟩ without multiplying by any K_j: with
// P = U·Vᵀ + V·Uᵀ formed tile by tile, each value is the inner product of P with
// the stored triangle of K_j. It costs the products that make P, 2kl² flops, and
// one pass over the kernels asked for.
func (s *GramSum) Forms(dst []float64, U, V blas.General, idx []int) {
	if len(dst) != len(idx) || U.Rows != s.Dim() || V.Rows != U.Rows || V.Cols != U.Cols {
		panic("linop: Forms: shape mismatch")
	}
	clear(dst)
	if len(idx) == 0 || U.Cols == 0 {
		return
	}
	w := s.forms.Take()
	if w.panel == nil {
		w.panel = w.run
	}
	panels := s.terms[0].Panels()
	w.sum, w.U, w.V, w.idx = s, U, V, idx
	w.part = resize(w.part, panels*len(idx))
	par.For(panels, w.panel)
	for b := range panels {
		blas.Axpy(1, w.part[b*len(idx):(b+1)*len(idx)], dst)
	}
	w.sum, w.U, w.V, w.idx = nil, blas.General{}, blas.General{}, nil
	s.forms.Put(w)
}

// run fills the partial sums of one block row; the longest rows go first.
func (w *formsWork) run(i int) {
	b := w.sum.terms[0].Panels() - 1 - i
	row, rows, cols, off := w.sum.terms[0].Panel(b)
	out := w.part[b*len(w.idx) : (b+1)*len(w.idx)]
	clear(out)
	t := w.sum.tiles.Take()
	t.p64 = resize(t.p64, blas.SymBlock*formsCols)
	for j0 := 0; j0 < row; j0 += formsCols {
		n := min(formsCols, row-j0)
		blas.FormTile(w.sum.be, t.p64, w.U, w.V, row, rows, j0, n)
		t.inner(out, w.sum.terms, w.idx, rows, n, off+j0, cols)
	}
	// The diagonal block holds both its triangles.
	blas.FormTile(w.sum.be, t.p64, w.U, w.V, row, rows, row, rows)
	t.inner(out, w.sum.terms, w.idx, rows, rows, off+row, cols)
	w.sum.tiles.Put(t)
}

// inner adds to out[k] the inner product of the m×n tile with the elements of
// terms[idx[k]] that start at off and have the stride ld.
func (t *formsTile) inner(out []float64, terms []*blas.Sym, idx []int, m, n, off, ld int) {
	scale := 0.0
	for k, j := range idx {
		s := terms[j]
		if s.Prec == blas.Float64 {
			for r := range m {
				out[k] += blas.Dot(t.p64[r*n:(r+1)*n], s.F64[off+r*ld:off+r*ld+n])
			}
			continue
		}
		if scale == 0 {
			scale = t.round(m * n)
		}
		var sum float64
		for r := range m {
			sum += level1.Dsdot(n, t.p32[r*n:(r+1)*n], 1, s.F32[off+r*ld:off+r*ld+n], 1)
		}
		out[k] += scale * sum
	}
}

// round makes the single precision copy of the tile's first n elements, divided
// by their largest magnitude, which it returns, so that nothing overflows.
func (t *formsTile) round(n int) float64 {
	t.p32 = resize(t.p32, blas.SymBlock*formsCols)
	var scale float64
	for _, v := range t.p64[:n] {
		scale = max(scale, math.Abs(v))
	}
	if !(scale > 0) || math.IsInf(scale, 0) {
		scale = 1
	}
	for i, v := range t.p64[:n] {
		t.p32[i] = float32(v / scale)
	}
	return scale
}

// resize returns a slice of length n with unspecified contents, in s's memory when it fits.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

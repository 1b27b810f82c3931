// This file multiplies by the rows and columns of Γ that belong to kernels of positive weight.

package bcd

import (
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// activeRows is the part of Γ whose rows and columns have positive weight, packed
// once for as long as these stay the same. It takes at most partShare² of the
// memory of Γ.
type activeRows struct {
	be      blas.Backend
	checked bool // rows are those of the present weights
	rows    []int
	packed  blas.Packed  // nil where Γ is multiplied whole
	x, y    blas.General // scratch
}

// partShare is the share of rows up to which their part of Γ is worth packing.
const partShare = 0.7

// prepare packs the part for the weights of f, unless it is packed, and reports whether it is to be used.
func (p *activeRows) prepare(f *features) bool {
	if p.checked || f.packed == nil {
		return p.packed != nil
	}
	p.checked = true
	var rows []int
	for i, r := range f.root {
		if r > 0 {
			rows = append(rows, i)
		}
	}
	if p.packed != nil && slices.Equal(rows, p.rows) {
		return true
	}
	if p.rows, p.packed = rows, nil; float64(len(rows)) > partShare*float64(f.Dim()) {
		return false
	}
	p.packed = p.be.NewPacked(len(rows), blas.Float64)
	p.packed.Sum([]float64{1}, []*blas.Sym{partOf(f.packed, rows)})
	return true
}

// partOf is the submatrix of a at the given rows and columns.
func partOf(a blas.Packed, rows []int) *blas.Sym {
	s := blas.NewSym(len(rows), blas.Float64)
	par.For(s.Panels(), func(b int) {
		first, count, cols, _ := s.Panel(b)
		line, some := make([]float64, a.Order()), make([]float64, cols)
		for i := first; i < first+count; i++ {
			a.Row(rows[i], line)
			for k := range some {
				some[k] = line[rows[k]]
			}
			s.SetPanel(b, i, 0, 1, cols, some, cols)
		}
	})
	return s
}

// apply computes dst = S·Γ·S·x for S = diag(root), which is 0 outside the part.
func (p *activeRows) apply(dst blas.General, root []float64, x blas.General) {
	p.x, p.y = blas.Reshape(p.x, len(p.rows), x.Cols), blas.Reshape(p.y, len(p.rows), x.Cols)
	for k, i := range p.rows {
		out := blas.Row(p.x, k)
		for j, v := range blas.Row(x, i) {
			out[j] = root[i] * v
		}
	}
	p.packed.Mul(p.y, p.x)
	blas.Zero(dst)
	for k, i := range p.rows {
		out := blas.Row(dst, i)
		for j, v := range blas.Row(p.y, k) {
			out[j] = root[i] * v
		}
	}
}

// This file leaves out of a system the rows and columns without an observed cell.

package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// subgrid is the rows and columns that have an observed cell.
type subgrid struct {
	rows, cols []int
	l          int // rows in all
	K          subOperator
	L          linop.Spectral
}

// newSubgrid returns the part of the grid that has observed cells, nil for all of it, and the cells within.
func newSubgrid(cells *linop.Cells) (*subgrid, *linop.Cells) {
	l, n := cells.Dims()
	col := make([]bool, n)
	g := &subgrid{l: l}
	for i := range l {
		any := false
		for j, in := range cells.Row(i) {
			if in {
				any, col[j] = true, true
			}
		}
		if any {
			g.rows = append(g.rows, i)
		}
	}
	for j, in := range col {
		if in {
			g.cols = append(g.cols, j)
		}
	}
	if len(g.rows) == l && len(g.cols) == n {
		return nil, cells
	}
	return g, linop.NewCells(len(g.rows), len(g.cols), func(i, j int) bool { return cells.Has(g.rows[i], g.cols[j]) })
}

// system is sys on the rows and columns of g. The columns of V that are left are
// not orthonormal: V_J·diag(ρ)·V_Jᵀ is decomposed anew by a singular value decomposition.
func (g *subgrid) system(be blas.Backend, sys System) (System, error) {
	g.K.K, g.K.rows = sys.K, g.rows
	L := sys.L
	if len(g.cols) < L.Dim() && L.Rank() > 0 && len(g.cols) > 0 {
		a := blas.NewGeneral(len(g.cols), L.Rank())
		for i, j := range g.cols {
			out := blas.Row(a, i)
			for b, v := range blas.Row(L.V, j) {
				out[b] = v * math.Sqrt(L.S[b])
			}
		}
		if !finite(sum(a)) {
			return System{}, checkSystem(sys.L, sys.Mu, 0)
		}
		L = new(linop.Spectral)
		if err := factored(be, L, a); err != nil {
			return System{}, err
		}
	} else if len(g.cols) < L.Dim() {
		L = &linop.Spectral{V: blas.NewGeneral(len(g.cols), 0)}
	}
	return System{K: &g.K, L: L, Mu: sys.Mu}, nil
}

// take copies the part of a, in the memory of dst.
func (g *subgrid) take(dst, a blas.General) blas.General {
	dst = blas.Reshape(dst, len(g.rows), len(g.cols))
	for i, r := range g.rows {
		out, in := blas.Row(dst, i), blas.Row(a, r)
		for j, c := range g.cols {
			out[j] = in[c]
		}
	}
	return dst
}

// put writes the part a to dst and 0 elsewhere.
func (g *subgrid) put(dst, a blas.General) {
	blas.Zero(dst)
	for i, r := range g.rows {
		out, in := blas.Row(dst, r), blas.Row(a, i)
		for j, c := range g.cols {
			out[c] = in[j]
		}
	}
}

// subOperator is the principal submatrix of K on some rows, which costs what K does.
// Scratch: two blocks of K's order.
type subOperator struct {
	K    linop.Operator
	rows []int
	x, y blas.General
}

func (o *subOperator) Dim() int { return len(o.rows) }

func (o *subOperator) Apply(dst, x blas.General) {
	if len(o.rows) == o.K.Dim() {
		o.K.Apply(dst, x)
		return
	}
	o.x, o.y = blas.Reshape(o.x, o.K.Dim(), x.Cols), blas.Reshape(o.y, o.K.Dim(), x.Cols)
	blas.Zero(o.x)
	for i, r := range o.rows {
		copy(blas.Row(o.x, r), blas.Row(x, i))
	}
	o.K.Apply(o.y, o.x)
	for i, r := range o.rows {
		copy(blas.Row(dst, i), blas.Row(o.y, r))
	}
}

// Dense writes the submatrix to dst, by way of all of K.
func (o *subOperator) Dense(dst blas.General) {
	if len(o.rows) == o.K.Dim() {
		_ = linop.Dense(context.Background(), dst, o.K) // only a context can fail it
		return
	}
	all := blas.NewGeneral(o.K.Dim(), o.K.Dim())
	_ = linop.Dense(context.Background(), all, o.K)
	for i, r := range o.rows {
		out, in := blas.Row(dst, i), blas.Row(all, r)
		for j, c := range o.rows {
			out[j] = in[c]
		}
	}
}

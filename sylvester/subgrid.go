// This file reduces a system to the rows and columns with an observed cell, and to weights of at most 1.

package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// subgrid is the rows and columns that have an observed cell, where w_ij = b_j·w′_ij with w′ ≤ 1:
//
//	P·(K⊗L)·P = P′·(K⊗√b·L·√b)·P′.
type subgrid struct {
	rows, cols []int
	l          int       // rows in all
	root       []float64 // √b_j of cols; empty for ones
	K          subOperator
	L          linop.Spectral
}

// newSubgrid returns the rows and columns that have an observed cell, and the cells within, of weights of at most 1.
// The former is nil where it is the whole grid, the largest weight in every column 1.
func newSubgrid(cells *linop.Cells) (*subgrid, *linop.Cells) {
	l, n := cells.Dims()
	row, col := make([]bool, l), make([]bool, n)
	cells.Each(func(i, j int, _ float64) { row[i], col[j] = true, true })
	b, part := cells.ByOutput()
	g := &subgrid{l: l, rows: chosen(row), cols: chosen(col)}
	if len(g.rows) == l && len(g.cols) == n && b == nil {
		return nil, cells
	}
	if b != nil {
		for _, j := range g.cols {
			g.root = append(g.root, math.Sqrt(b[j]))
		}
	}
	return g, linop.WeightedCells(len(g.rows), len(g.cols), func(i, j int) float64 {
		return square(part.Row(g.rows[i])[g.cols[j]])
	})
}

// chosen lists the places of true.
func chosen(in []bool) (at []int) {
	for i, yes := range in {
		if yes {
			at = append(at, i)
		}
	}
	return at
}

// system is sys on the rows and columns of g. The rows of V that are left, times √b, are
// not orthonormal columns: √b·V_J·diag(ρ)·V_Jᵀ·√b is decomposed anew by a singular value decomposition.
func (g *subgrid) system(be blas.Backend, sys System) (System, error) {
	out := System{K: sys.K, L: sys.L, Mu: sys.Mu}
	if len(g.rows) < g.l {
		g.K.K, g.K.rows = sys.K, g.rows
		out.K = &g.K
	}
	L := sys.L
	if len(g.cols) == L.Dim() && len(g.root) == 0 {
		return out, nil
	}
	out.L = &linop.Spectral{V: blas.NewGeneral(len(g.cols), 0)}
	if L.Rank() == 0 || len(g.cols) == 0 {
		return out, nil
	}
	a := blas.TakeRows(L.Factor(), g.cols)
	if len(g.root) > 0 {
		blas.ScaleRows(a, g.root, a)
	}
	if !finite(sum(a)) {
		return System{}, checkSystem(sys.L, sys.Mu, 0)
	}
	return out, factored(be, out.L, a)
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
	all := blas.NewGeneral(o.K.Dim(), o.K.Dim())
	_ = linop.Dense(context.Background(), all, o.K)
	for i, r := range o.rows {
		out, in := blas.Row(dst, i), blas.Row(all, r)
		for j, c := range o.rows {
			out[j] = in[c]
		}
	}
}

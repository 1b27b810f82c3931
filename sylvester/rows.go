package sylvester

import (
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// observedRows are the rows that have an observed cell, and the cells of these.
func observedRows(cells *linop.Cells) (rows []int, part *linop.Cells) {
	l, n := cells.Dims()
	rows = make([]int, 0, l)
	for i := range l {
		for _, root := range cells.Row(i) {
			if root > 0 {
				rows = append(rows, i)
				break
			}
		}
	}
	if len(rows) == l {
		return rows, cells
	}
	return rows, linop.WeightedCells(len(rows), n, func(i, j int) float64 { return square(cells.Row(rows[i])[j]) })
}

// putRows writes the rows a to dst, and 0 elsewhere.
func putRows(dst, a blas.General, rows []int) {
	blas.Zero(dst)
	for i, r := range rows {
		copy(blas.Row(dst, r), blas.Row(a, i))
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
	putRows(o.x, x, o.rows)
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

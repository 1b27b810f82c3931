// This file holds sets of observed cells, and operators restricted to them.

package linop

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Cells is a set Ω of cells of an l×n matrix, those where a target is observed.
// The complement Ωᶜ holds the missing ones. It is not changed after it is made, and
// serves any number of goroutines. Memory: l·n bytes.
type Cells struct {
	rows, cols, count int
	in                []bool // row-major
}

// NewCells returns the cells (i,j) of an l×n matrix for which observed is true.
func NewCells(l, n int, observed func(i, j int) bool) *Cells {
	if l < 0 || n < 0 {
		panic("linop: NewCells: negative shape")
	}
	c := &Cells{rows: l, cols: n, in: make([]bool, l*n)}
	for i := range l {
		for j := range n {
			if observed(i, j) {
				c.in[i*n+j] = true
				c.count++
			}
		}
	}
	return c
}

// ObservedCells returns the cells of Y that do not hold NaN.
func ObservedCells(Y blas.General) *Cells {
	return NewCells(Y.Rows, Y.Cols, func(i, j int) bool { return !math.IsNaN(Y.Data[i*Y.Stride+j]) })
}

// Dims are l and n.
func (c *Cells) Dims() (l, n int) { return c.rows, c.cols }

// Count is |Ω|.
func (c *Cells) Count() int { return c.count }

// Complete reports whether every cell is in Ω.
func (c *Cells) Complete() bool { return c.count == len(c.in) }

// Has reports whether the cell (i,j) is in Ω.
func (c *Cells) Has(i, j int) bool { return c.in[i*c.cols+j] }

// Row tells which cells of row i are in Ω. The caller must not change it.
func (c *Cells) Row(i int) []bool { return c.in[i*c.cols : (i+1)*c.cols] }

// Project copies to dst the cells of the l×n src in Ω and writes 0 to the others,
// whatever src holds there. dst may be src.
func (c *Cells) Project(dst, src blas.General) { c.keep(dst, src, true) }

// ProjectMissing is Project for Ωᶜ.
func (c *Cells) ProjectMissing(dst, src blas.General) { c.keep(dst, src, false) }

func (c *Cells) keep(dst, src blas.General, observed bool) {
	if src.Rows != c.rows || src.Cols != c.cols || dst.Rows != c.rows || dst.Cols != c.cols {
		panic("linop: Project: shape mismatch")
	}
	for i := range c.rows {
		out, from := blas.Row(dst, i), blas.Row(src, i)
		for j, in := range c.Row(i) {
			v := from[j]
			if in != observed {
				v = 0
			}
			out[j] = v
		}
	}
}

// Mask is the operator P_Ω·A·P_Ω, where A acts on the row-major vec of l×n
// matrices and P_Ω keeps the cells in Ω and writes 0 to the others: the
// principal submatrix of A on Ω, in the place of which conjugate gradients that
// start from zero outside Ω stay. It costs what A does.
type Mask struct {
	A     Operator // of order l·n
	Cells *Cells

	work par.Free[maskWork]
}

// maskWork is as many floats as the block that is multiplied.
type maskWork struct{ X blas.General }

// Dim is l·n.
func (m *Mask) Dim() int { return m.A.Dim() }

// Apply computes dst = P_Ω·A·P_Ω·x.
func (m *Mask) Apply(dst, x blas.General) {
	if m.A.Dim() != len(m.Cells.in) {
		panic("linop: Mask: the operator and the cells have different sizes")
	}
	checkBlocks(m.Dim(), dst, x)
	w := m.work.Take()
	w.X = blas.Reshape(w.X, x.Rows, x.Cols)
	for i, in := range m.Cells.in {
		if to := blas.Row(w.X, i); in {
			copy(to, blas.Row(x, i))
		} else {
			clear(to)
		}
	}
	m.A.Apply(dst, w.X)
	for i, in := range m.Cells.in {
		if !in {
			clear(blas.Row(dst, i))
		}
	}
	m.work.Put(w)
}

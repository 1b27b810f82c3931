// This file makes operators of functions and of dense matrices, and writes operators out as dense matrices.

package linop

import (
	"context"

	"github.com/iokl/iokl/blas"
)

// Func is an operator of order N given by a function that computes dst = A·x for
// N×k blocks, under the terms of [Operator.Apply].
type Func struct {
	N int
	F func(dst, x blas.General)
}

// Dim is N.
func (f Func) Dim() int { return f.N }

// Apply calls F.
func (f Func) Apply(dst, x blas.General) { f.F(dst, x) }

// Matrix is a dense symmetric matrix as an operator.
type Matrix struct {
	a  blas.General
	be blas.Backend
}

// NewDense returns the operator of the dense symmetric a. A product with one column
// reads its upper triangle, which takes half of the time of reading all; one with more
// reads both. It keeps a, and multiplies by whatever a holds at the time.
// A nil backend is the active one.
func NewDense(a blas.General, be blas.Backend) *Matrix {
	if a.Rows != a.Cols {
		panic("linop: NewDense of a matrix that is not square")
	}
	return &Matrix{a: a, be: blas.Or(be)}
}

// Dim is the order of the matrix.
func (m *Matrix) Dim() int { return m.a.Rows }

// Apply computes dst = A·x.
func (m *Matrix) Apply(dst, x blas.General) {
	checkBlocks(m.a.Rows, dst, x)
	if x.Cols == 1 {
		m.be.Dsymv(blas.Upper, x.Rows, 1, m.a.Data, m.a.Stride, x.Data, x.Stride, 0, dst.Data, dst.Stride)
		return
	}
	blas.Mul(m.be, dst, false, false, m.a, x)
}

// Dense copies the matrix to dst.
func (m *Matrix) Dense(dst blas.General) { blas.Copy(dst, m.a) }

// denseCols is how many columns of the identity Dense multiplies at once.
const denseCols = 64

// Dense writes A to the N×N dst: by the operator's own method when it is a
// [Denser], else by applying it to the identity, a block of columns at a time. The
// error is that of ctx, which is looked at before every block.
func Dense(ctx context.Context, dst blas.General, A Operator) error {
	n := A.Dim()
	if dst.Rows != n || dst.Cols != n {
		panic("linop: Dense: shape mismatch")
	}
	if d, ok := A.(Denser); ok {
		d.Dense(dst)
		return ctx.Err()
	}
	var e, ae blas.General
	for j := 0; j < n; j += denseCols {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(denseCols, n-j)
		e, ae = blas.Reshape(e, n, k), blas.Reshape(ae, n, k)
		blas.Zero(e)
		for i := range k {
			e.Data[(j+i)*k+i] = 1
		}
		A.Apply(ae, e)
		blas.Copy(blas.View(dst, 0, j, n, k), ae)
	}
	return ctx.Err()
}

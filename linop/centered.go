// Centred operators.

package linop

import (
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Centered is H·A·H, H = I − 11ᵀ/N: the Gram matrix of features from which their means are subtracted. On columns x
// whose elements add up to 0 it differs from A by a constant in every column of the product.
type Centered struct {
	A    Operator
	work par.Free[blas.General]
}

// Dim is N.
func (c *Centered) Dim() int { return c.A.Dim() }

// Precision is that of A's elements.
func (c *Centered) Precision() blas.Precision { return PrecisionOf(c.A) }

// Apply computes dst = H·A·H·x.
func (c *Centered) Apply(dst, x blas.General) {
	checkBlocks(c.Dim(), dst, x)
	in := c.work.Take()
	*in = blas.Reshape(*in, x.Rows, x.Cols)
	blas.Copy(*in, x)
	center(*in)
	c.A.Apply(dst, *in)
	center(dst)
	c.work.Put(in)
}

// Dense writes H·A·H to dst.
func (c *Centered) Dense(dst blas.General) {
	_ = Dense(context.Background(), dst, c.A) // only a context can fail it
	center(dst)
	for i := range dst.Rows {
		row, mean := blas.Row(dst, i), 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for j := range row {
			row[j] -= mean
		}
	}
}

// center takes from every column of x its mean.
func center(x blas.General) {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		blas.Axpy(1/float64(x.Rows), blas.Row(x, i), mean)
	}
	for i := range x.Rows {
		blas.Axpy(-1, mean, blas.Row(x, i))
	}
}

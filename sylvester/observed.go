// This file factorizes the matrix of the observed cells.

package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
)

// cellMatrix is √w_ij·K_ii′·L_jj′·√w_i′j′ of the observed cells, whose elements are computed when asked for.
type cellMatrix struct {
	K, L blas.General // K without Data where it is to be formed
	i, j []int        // row and column of every observed cell
	root []float64    // √w of these
}

// set is for the cells of a system.
func (c *cellMatrix) set(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) error {
	l, n := cells.Dims()
	if c.K.Rows != l {
		K := blas.NewGeneral(l, l)
		if err := dense(ctx, K, sys.K); err != nil {
			return err
		}
		c.K = K
	}
	c.L = blas.NewGeneral(n, n)
	sys.L.Dense(be, c.L)
	c.i, c.j, c.root = c.i[:0], c.j[:0], c.root[:0]
	cells.Each(func(i, j int, root float64) {
		c.i, c.j, c.root = append(c.i, i), append(c.j, j), append(c.root, root)
	})
	return nil
}

// element writes the elements between a cell of another matrix of the same K and L, and the first cells of c.
func (c *cellMatrix) element(other *cellMatrix, a int, dst []float64) {
	k, r, root := blas.Row(c.K, other.i[a]), blas.Row(c.L, other.j[a]), other.root[a]
	for b := range dst {
		dst[b] = root * c.root[b] * k[c.i[b]] * r[c.j[b]]
	}
}

// gather and scatter copy the observed cells of an l×n matrix to a column and back; the others become 0.
func (c *cellMatrix) gather(dst []float64, x blas.General) {
	for a, i := range c.i {
		dst[a] = x.Data[i*x.Stride+c.j[a]]
	}
}

func (c *cellMatrix) scatter(x blas.General, src []float64) {
	blas.Zero(x)
	for a, i := range c.i {
		x.Data[i*x.Stride+c.j[a]] = src[a]
	}
}

// ObservedFactor is the inverse of the matrix of the observed cells,
// √w_ij·K_ii′·L_jj′·√w_i′j′ + μ·[i = i′, j = j′], by Cholesky's factor: |Ω|³/3 flops, and 2|Ω|² for each
// product. Memory: |Ω|² + l² + n² floats, of which the last part does not stay.
type ObservedFactor struct {
	cellMatrix
	be     blas.Backend
	factor blas.General
	mu     float64
	l, n   int
	v      blas.General
}

// NewObservedFactor computes the factor. The error is that of a [Solver] for a matrix that is not
// positive definite or finite, of a limit of memory, or of ctx.
func NewObservedFactor(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) (*ObservedFactor, error) {
	o := new(ObservedFactor)
	return o, o.set(ctx, be, sys, cells)
}

// set computes the factor.
func (o *ObservedFactor) set(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) error {
	o.l, o.n = cells.Dims()
	N := cells.Count()
	floats := float64(N)*float64(N) + float64(o.l)*float64(o.l) + float64(o.n)*float64(o.n)
	if err := memory.Check("sylvester: a factor for the observed cells", 8*floats, "use the method auto"); err != nil {
		return err
	}
	if err := o.cellMatrix.set(ctx, be, sys, cells); err != nil {
		return err
	}
	o.be, o.mu, o.factor, o.v = be, math.NaN(), blas.Reshape(o.factor, N, N), blas.Reshape(o.v, N, 1)
	par.Ranges(N, blas.SymBlock, func(lo, hi int) {
		for a := lo; a < hi; a++ {
			row := blas.Row(o.factor, a)[:a+1]
			o.element(&o.cellMatrix, a, row)
			row[a] += sys.Mu
		}
	})
	if !be.Potrf(o.factor) {
		return fmt.Errorf("%w: the %d×%d matrix of the observed cells", ErrNotSPD, N, N)
	}
	o.mu = sys.Mu
	return nil
}

// Dim is l·n.
func (o *ObservedFactor) Dim() int { return o.l * o.n }

// Apply computes dst = A_ΩΩ⁻¹·x on the observed cells and 0 elsewhere, for one column.
func (o *ObservedFactor) Apply(dst, x blas.General) {
	o.gather(o.v.Data, o.matrix(x))
	blas.Potrs(o.be, o.factor, o.v)
	o.scatter(o.matrix(dst), o.v.Data)
}

// matrix is vec as a matrix.
func (o *ObservedFactor) matrix(v blas.General) blas.General {
	return blas.General{Rows: o.l, Cols: o.n, Stride: o.n, Data: v.Data}
}

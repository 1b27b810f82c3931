// This file factorizes the matrix of the observed cells.

package sylvester

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// ObservedFactor is the inverse of the matrix of the observed cells,
// √w_ij·K_ii′·L_jj′·√w_i′j′ + μ·[i = i′, j = j′], by Cholesky's factor: |Ω|³/3 flops, and 2|Ω|² for each
// product. Memory: |Ω|² + l² + n² floats, of which the last part does not stay.
type ObservedFactor struct {
	be     blas.Backend
	factor blas.General
	dense  blas.General // K; without Data where it is to be formed
	at     []int        // position in vec of every observed cell
	root   []float64    // √w of these
	dim    int
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
	l, n := cells.Dims()
	N := cells.Count()
	floats := float64(N)*float64(N) + float64(l)*float64(l) + float64(n)*float64(n)
	if err := memory.Check("sylvester: a factor for the observed cells", 8*floats, "use the method auto"); err != nil {
		return err
	}
	L := blas.NewGeneral(n, n)
	if o.dense.Rows != l {
		K := blas.NewGeneral(l, l)
		if err := linop.Dense(ctx, K, sys.K); err != nil {
			return err
		}
		if s := sum(K); !finite(s) {
			return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, s)
		}
		o.dense = K
	}
	sys.L.Dense(be, L)
	o.be, o.dim, o.at, o.root = be, l*n, o.at[:0], o.root[:0]
	cells.Each(func(i, j int, root float64) { o.at, o.root = append(o.at, i*n+j), append(o.root, root) })
	o.factor, o.v = blas.Reshape(o.factor, N, N), blas.Reshape(o.v, N, 1)
	i, j := make([]int, N), make([]int, N)
	for a, p := range o.at {
		i[a], j[a] = p/n, p%n
		k, r := blas.Row(o.dense, i[a]), blas.Row(L, j[a])
		row := blas.Row(o.factor, a)[:a+1]
		for b := range row {
			row[b] = o.root[a] * o.root[b] * k[i[b]] * r[j[b]]
		}
		row[a] += sys.Mu
	}
	if !be.Potrf(o.factor) {
		return fmt.Errorf("%w: the %d×%d matrix of the observed cells", ErrNotSPD, N, N)
	}
	return nil
}

// Dim is l·n.
func (o *ObservedFactor) Dim() int { return o.dim }

// Apply computes dst = A_ΩΩ⁻¹·x on the observed cells and 0 elsewhere, for one column.
func (o *ObservedFactor) Apply(dst, x blas.General) {
	for a, p := range o.at {
		o.v.Data[a] = x.Data[p]
	}
	blas.Potrs(o.be, o.factor, o.v)
	clear(dst.Data)
	for a, p := range o.at {
		dst.Data[p] = o.v.Data[a]
	}
}

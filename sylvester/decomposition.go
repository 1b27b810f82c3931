package sylvester

import (
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// Decomposition is K = T·diag(Sigma)·Tᵀ with orthonormal columns of the l×q T. All
// eigenvectors are kept for q = l; for q < l it is a K of rank q, or the leading part
// of one. It does not depend on L or μ, so one serves any number of systems.
type Decomposition struct {
	T     blas.General
	Sigma []float64
}

// Decompose computes all eigenvectors and eigenvalues of K, about 10·l³ flops; Sigma
// ascends. Memory: 4·l² floats, of which l² stay. A nil backend is the
// active one. The error is ErrNotFinite, that of ctx, that of the backend, or that of
// too little memory.
func Decompose(ctx context.Context, K linop.Operator, be blas.Backend) (*Decomposition, error) {
	l := K.Dim()
	if err := memory.Check("sylvester: an eigendecomposition", 32*float64(l)*float64(l),
		"use factors of K or random features"); err != nil {
		return nil, err
	}
	d := &Decomposition{T: blas.NewGeneral(l, l), Sigma: make([]float64, l)}
	if err := dense(ctx, d.T, K); err != nil {
		return nil, err
	}
	phase.Decomposed(ctx, l)
	err := blas.Until(ctx, blas.Or(be)).Syevd(d.T, d.Sigma)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d, err
}

// whole reports whether T holds all eigenvectors.
func (d *Decomposition) whole() bool { return len(d.Sigma) == d.T.Rows }

// Clip replaces eigenvalues that rounding has made negative by 0, and returns d.
func (d *Decomposition) Clip() *Decomposition {
	for a, v := range d.Sigma {
		d.Sigma[a] = max(v, 0)
	}
	return d
}

// This file is the solver eigen, which works in the eigenvectors of K.

package sylvester

import (
	"context"
	"fmt"

	"github.com/iokl/iokl/blas"
)

// eigen solves by the eigendecompositions K = T·diag(σ)·Tᵀ and L = V·diag(ρ)·Vᵀ:
//
//	C = T·X̃·Vᵀ,   x̃_ij = (TᵀYV)_ij/(σ_i·ρ_j + μ)
//
// (mathematics.md §3). A second solve costs two products of l×l by l×r. It is the method of [BartelsStewart] too, since
// the Schur forms of the symmetric K and L are their eigendecompositions.
type eigen struct {
	vectors blas.General // T
	sigma   []float64    // ascending
}

func (e *eigen) floats() float64 { return 4 }

func (e *eigen) norm() float64 { return max(e.sigma[len(e.sigma)-1], -e.sigma[0]) }

func (e *eigen) factor(ctx context.Context, be blas.Backend, K blas.General) error {
	e.vectors, e.sigma = K, resize(e.sigma, K.Rows)
	return blas.Until(ctx, be).Syevd(K, e.sigma)
}

func (e *eigen) apply(
	_ context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64,
) (int, error) {
	if len(rho) == 0 {
		return 1, nil
	}
	if low := e.sigma[0]*rho[0] + mu; !(low > 0) {
		return 1, fmt.Errorf("%w: smallest eigenvalue %g", ErrNotSPD, low)
	}
	blas.Mul(be, work, true, false, e.vectors, B)
	for i, sigma := range e.sigma {
		row := blas.Row(work, i)
		for j, rho := range rho {
			row[j] /= sigma*rho + mu
		}
	}
	blas.Mul(be, X, false, false, e.vectors, work)
	return 1, nil
}

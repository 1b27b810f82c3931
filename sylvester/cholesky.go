// This file is the solver cholesky, which factorizes for every distinct eigenvalue of L.

package sylvester

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/iokl/iokl/blas"
)

// cholesky factorizes ρ·K + μI once for every distinct eigenvalue ρ of L: l³/3
// operations each, the cheapest direct method when L has few distinct ones (one
// for the identity).
type cholesky struct {
	k     blas.General // K, lower triangle
	low   blas.General // the factor of one group of columns
	bound float64      // upper bound of ‖K‖₂
}

func (s *cholesky) floats() float64 { return 2 }

func (s *cholesky) norm() float64 { return s.bound }

func (s *cholesky) factor(_ context.Context, _ blas.Backend, K blas.General) error {
	s.k, s.low, s.bound = K, blas.Reshape(s.low, K.Rows, K.Rows), lapack64.Lange(lapack.MaxRowSum, K, nil)
	return nil
}

func (s *cholesky) apply(
	ctx context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64,
) (int, error) {
	l := X.Rows
	groups := distinct(rho)
	for i, g := range groups {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		for i := range l {
			out := blas.Row(s.low, i)[:i+1]
			for j, v := range blas.Row(s.k, i)[:i+1] {
				out[j] = rho[g[0]] * v
			}
			out[i] += mu
		}
		if !be.Potrf(s.low) {
			return i, fmt.Errorf("%w: Cholesky's factorization breaks down at ρ/μ = %g", ErrNotSPD, rho[g[0]]/mu)
		}
		k := g[1] - g[0]
		block := blas.Reshape(work, l, k)
		blas.Copy(block, blas.View(B, 0, g[0], l, k))
		blas.Potrs(be, s.low, block)
		blas.Copy(blas.View(X, 0, g[0], l, k), block)
	}
	return len(groups), nil
}

// distinct returns the ranges of values that agree to rounding, of values in
// descending order as a linop.Spectral has them.
func distinct(rho []float64) (groups [][2]int) {
	for j, v := range rho {
		if g := len(groups) - 1; g >= 0 && math.Abs(rho[groups[g][0]]-v) <= 0x1p-52*v {
			groups[g][1]++
		} else {
			groups = append(groups, [2]int{j, j + 1})
		}
	}
	return groups
}

package sylvester

import (
	"context"
	"fmt"
	"math"
	"slices"

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

func newCholesky(Config) engine { return &direct{name: "cholesky", factors: &cholesky{}} }

func (s *cholesky) floats() float64 { return 2 }

func (s *cholesky) norm() float64 { return s.bound }

func (s *cholesky) factor(_ blas.Backend, K blas.General) error {
	s.k, s.low, s.bound = K, blas.Reshape(s.low, K.Rows, K.Rows), infNorm(K)
	return nil
}

func (s *cholesky) apply(ctx context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64) (int, error) {
	groups := distinct(rho)
	for i, group := range groups {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		if err := s.columns(be, X, B, work, group, rho[group[0]], mu); err != nil {
			return i, err
		}
	}
	return len(groups), nil
}

// columns solves for the columns in group, which share the eigenvalue rho of L.
func (s *cholesky) columns(be blas.Backend, X, B, work blas.General, group []int, rho, mu float64) error {
	l := s.k.Rows
	for i := range l {
		out := blas.Row(s.low, i)[:i+1]
		for j, v := range blas.Row(s.k, i)[:i+1] {
			out[j] = rho * v
		}
		out[i] += mu
	}
	if !be.Potrf(s.low) {
		return fmt.Errorf("%w: Cholesky's factorization breaks down at ρ/μ = %g", ErrNotSPD, rho/mu)
	}
	k := len(group)
	block := blas.Reshape(work, l, k)
	for i := range l {
		out, in := blas.Row(block, i), blas.Row(B, i)
		for a, j := range group {
			out[a] = in[j]
		}
	}
	be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, l, k, 1, s.low.Data, l, block.Data, k)
	be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, l, k, 1, s.low.Data, l, block.Data, k)
	for i := range l {
		out, in := blas.Row(X, i), blas.Row(block, i)
		for a, j := range group {
			out[j] = in[a]
		}
	}
	return nil
}

// distinct groups the indices of values that agree to rounding.
func distinct(rho []float64) [][]int {
	by := make([]int, len(rho))
	for j := range by {
		by[j] = j
	}
	slices.SortStableFunc(by, func(a, b int) int {
		switch {
		case rho[a] > rho[b]:
			return -1
		case rho[a] < rho[b]:
			return 1
		}
		return 0
	})
	var groups [][]int
	for _, j := range by {
		last := len(groups) - 1
		if last >= 0 && rho[groups[last][0]]-rho[j] <= 0x1p-52*rho[j] {
			groups[last] = append(groups[last], j)
		} else {
			groups = append(groups, []int{j})
		}
	}
	return groups
}

// distinctCount is the number of groups that distinct would return for values in
// descending order, as a [linop.Spectral] has them, and at most one too many for
// each that is out of order.
func distinctCount(rho []float64) int {
	count := 0
	last := math.Inf(1)
	for _, v := range rho {
		if !(math.Abs(last-v) <= 0x1p-52*v) {
			count, last = count+1, v
		}
	}
	return count
}

// infNorm is the largest sum of magnitudes in a row of a.
func infNorm(a blas.General) float64 {
	var top float64
	for i := range a.Rows {
		var s float64
		for _, v := range blas.Row(a, i) {
			s += math.Abs(v)
		}
		top = max(top, s)
	}
	return top
}

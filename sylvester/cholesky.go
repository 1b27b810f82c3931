package sylvester

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// cholesky factorizes ρ·K + μI once for every distinct eigenvalue ρ of L: l³/3
// operations each, the cheapest exact method when L has few distinct ones (one
// for the identity). The dense K is kept until Invalidate.
// Memory: 2l² + l·(2n + 4r) floats.
type cholesky struct {
	*frame
	k      blas.General // K, lower triangle
	factor blas.General
	block  blas.General // the columns of one eigenvalue
	norm   float64      // upper bound of ‖K‖₂
	kept   bool
}

func newCholesky(cfg Config) Solver { return &cholesky{frame: &frame{be: cfg.Backend}} }

func (s *cholesky) Name() string { return "cholesky" }

func (s *cholesky) Invalidate() { s.kept = false }

func (s *cholesky) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	return s.exactly(s.Name(), C, opt, &s.norm, func(res *Result) error { return s.solve(ctx, C, sys, Y, res) })
}

// solve counts in res.Iter the factorizations.
func (s *cholesky) solve(ctx context.Context, C blas.General, sys System, Y blas.General, res *Result) error {
	if !s.kept {
		if err := exactMemory(s.Name(), Y, sys, 2); err != nil {
			return err
		}
	}
	if err := s.begin(C, sys, Y); err != nil {
		return err
	}
	if err := s.densify(ctx); err != nil {
		return err
	}
	s.rotate()
	for _, group := range distinct(sys.L.S) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.columns(group); err != nil {
			return err
		}
		res.Iter++
	}
	s.restore(C)
	return nil
}

func (s *cholesky) densify(ctx context.Context) error {
	l := s.sys.K.Dim()
	if s.kept && s.k.Rows == l {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.kept = false
	s.k, s.factor = blas.Reshape(s.k, l, l), blas.Reshape(s.factor, l, l)
	linop.Dense(s.k, s.sys.K)
	if v := sum(s.k); !finite(v) {
		return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, v)
	}
	s.norm = infNorm(s.k)
	s.kept = true
	return nil
}

// columns solves for the columns in group, which share one eigenvalue of L.
func (s *cholesky) columns(group []int) error {
	l := s.k.Rows
	rho := s.sys.L.S[group[0]]
	for i := range l {
		out := blas.Row(s.factor, i)[:i+1]
		for j, v := range blas.Row(s.k, i)[:i+1] {
			out[j] = rho * v
		}
		out[i] += s.sys.Mu
	}
	if !s.be.Potrf(s.factor) {
		return fmt.Errorf("%w: %g·K + %g·I", ErrNotSPD, rho, s.sys.Mu)
	}
	k := len(group)
	s.block = blas.Reshape(s.block, l, k)
	for i := range l {
		out, in := blas.Row(s.block, i), blas.Row(s.yt, i)
		for a, j := range group {
			out[a] = in[j]
		}
	}
	s.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, l, k, 1, s.factor.Data, l, s.block.Data, k)
	s.be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, l, k, 1, s.factor.Data, l, s.block.Data, k)
	for i := range l {
		out, in := blas.Row(s.ct, i), blas.Row(s.block, i)
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

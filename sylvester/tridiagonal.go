package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// tridiagonal is the symmetric case of the Hessenberg–Schur method (Golub, Nash,
// Van Loan, IEEE Trans. Automat. Control 24, 1979). With K = Q·T·Qᵀ, T
// tridiagonal, each column in the eigenvector coordinates of L is a tridiagonal
// system,
//
//	(ρ_j·T + μI)·x_j = Qᵀ·ỹ_j,   c̃_j = Q·x_j,
//
// so that K is only reduced (4/3·l³ operations) and never diagonalised. The
// reduction is kept until Invalidate; a second solve costs 4l²r operations.
// Memory: l² + l·(2n + 4r) floats.
type tridiagonal struct {
	*frame
	q      blas.General // Q in the backend's own form
	d, e   []float64    // of T
	tau    []float64
	norm   float64 // upper bound of ‖K‖₂
	pivots blas.General
	kept   bool
}

func newTridiagonal(cfg Config) Solver { return &tridiagonal{frame: &frame{be: cfg.Backend}} }

func (s *tridiagonal) Name() string { return "tridiagonal" }

func (s *tridiagonal) Invalidate() { s.kept = false }

func (s *tridiagonal) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	return s.exactly(s.Name(), C, opt, &s.norm, func(res *Result) error {
		res.Iter = 1
		return s.solve(ctx, C, sys, Y)
	})
}

func (s *tridiagonal) solve(ctx context.Context, C blas.General, sys System, Y blas.General) error {
	if !s.kept {
		if err := exactMemory(s.Name(), Y, sys, 1); err != nil {
			return err
		}
	}
	if err := s.begin(C, sys, Y); err != nil {
		return err
	}
	if err := s.reduce(ctx); err != nil {
		return err
	}
	s.rotate()
	if sys.L.Rank() > 0 {
		blas.Copy(s.ct, s.yt)
		s.be.Ormtr(true, s.q, s.tau, s.ct)
		if err := s.columns(); err != nil {
			return err
		}
		s.be.Ormtr(false, s.q, s.tau, s.ct)
	}
	s.restore(C)
	return nil
}

// reduce computes T and Q unless they are kept from an earlier call.
func (s *tridiagonal) reduce(ctx context.Context) error {
	l := s.sys.K.Dim()
	if s.kept && len(s.d) == l {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.kept = false
	s.q = blas.Reshape(s.q, l, l)
	s.d, s.e, s.tau = make([]float64, l), make([]float64, l-1), make([]float64, l-1)
	linop.Dense(s.q, s.sys.K)
	if v := sum(s.q); !finite(v) {
		return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, v)
	}
	s.be.Sytrd(s.q, s.d, s.e, s.tau)
	s.norm = 0
	for i, d := range s.d { // Gershgorin
		row := math.Abs(d)
		if i > 0 {
			row += math.Abs(s.e[i-1])
		}
		if i < l-1 {
			row += math.Abs(s.e[i])
		}
		s.norm = max(s.norm, row)
	}
	s.kept = true
	return nil
}

// columns solves the tridiagonal systems of all columns of ct side by side, by
// LDLᵀ factorization: pivots are positive exactly when the system is positive definite.
func (s *tridiagonal) columns() error {
	l, r := s.ct.Rows, s.ct.Cols
	s.pivots = blas.Reshape(s.pivots, l, r)
	rho, mu := s.sys.L.S, s.sys.Mu
	for i := range l {
		p, x := blas.Row(s.pivots, i), blas.Row(s.ct, i)
		for j := range p {
			p[j] = rho[j]*s.d[i] + mu
		}
		if i > 0 {
			before, xb := blas.Row(s.pivots, i-1), blas.Row(s.ct, i-1)
			for j := range p {
				off := rho[j] * s.e[i-1]
				m := off / before[j]
				p[j] -= m * off
				x[j] -= m * xb[j]
			}
		}
		for j, v := range p {
			if !(v > 0) {
				return fmt.Errorf("%w: pivot %g in column %d", ErrNotSPD, v, j)
			}
		}
	}
	for i := l - 1; i >= 0; i-- {
		p, x := blas.Row(s.pivots, i), blas.Row(s.ct, i)
		if i == l-1 {
			for j := range x {
				x[j] /= p[j]
			}
			continue
		}
		next := blas.Row(s.ct, i+1)
		for j := range x {
			x[j] = (x[j] - rho[j]*s.e[i]*next[j]) / p[j]
		}
	}
	return nil
}

// exactMemory checks that squares·l² floats and the blocks of a frame fit. It is
// asked before a factorization; a later solve finds that memory in place.
func exactMemory(name string, Y blas.General, sys System, squares float64) error {
	l, n, r := float64(Y.Rows), float64(Y.Cols), float64(sys.L.Rank())
	return memory.Check("sylvester: the solver "+name, 8*(squares*l*l+2*l*n+4*l*r),
		"use an iterative solver such as nystrom or krylov, or factors of K")
}

// This file solves shifted systems by a tridiagonal reduction of K.

package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// Tridiagonal is a symmetric K = Q·T·Qᵀ with T tridiagonal. In the coordinates of
// Q a system with ρ·K + μI, of any ρ and μ, costs a number of operations that is linear
// in the order.
type Tridiagonal struct {
	be   blas.Backend
	q    blas.General // Q in the backend's own form
	d, e []float64    // of T
	tau  []float64
}

// Reduce decomposes K, of which the lower triangle is read, in (4/3)·l³ operations.
// It keeps the memory of K and overwrites it. Once ctx has ended the result means nothing.
func (t *Tridiagonal) Reduce(ctx context.Context, be blas.Backend, K blas.General) {
	l := K.Rows
	t.be, t.q = be, K
	t.d, t.e, t.tau = resize(t.d, l), resize(t.e, l-1), resize(t.tau, l-1)
	blas.Until(ctx, be).Sytrd(K, t.d, t.e, t.tau)
}

// ToQ overwrites X by Qᵀ·X, and FromQ by Q·X, in 2l² operations a column.
func (t *Tridiagonal) ToQ(X blas.General) { t.be.Ormtr(true, t.q, t.tau, X) }

// FromQ overwrites X by Q·X.
func (t *Tridiagonal) FromQ(X blas.General) { t.be.Ormtr(false, t.q, t.tau, X) }

// Solve overwrites the columns of X by the solutions of (ρ_j·T + μI)·x_j = x_j, side
// by side, by LDLᵀ factorization; pivots is scratch of the shape of X. The error is
// ErrNotSPD: pivots are positive exactly when the system is positive definite.
func (t *Tridiagonal) Solve(X, pivots blas.General, rho []float64, mu float64) error {
	l := X.Rows
	for i := range l {
		p, x := blas.Row(pivots, i), blas.Row(X, i)
		for j := range p {
			p[j] = rho[j]*t.d[i] + mu
		}
		if i > 0 {
			before, xb := blas.Row(pivots, i-1), blas.Row(X, i-1)
			for j := range p {
				off := rho[j] * t.e[i-1]
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
		p, x := blas.Row(pivots, i), blas.Row(X, i)
		if i == l-1 {
			for j := range x {
				x[j] /= p[j]
			}
			continue
		}
		next := blas.Row(X, i+1)
		for j := range x {
			x[j] = (x[j] - rho[j]*t.e[i]*next[j]) / p[j]
		}
	}
	return nil
}

// tridiagonal is the symmetric case of the Hessenberg–Schur method (Golub, Nash,
// Van Loan, IEEE Trans. Automat. Control 24, 1979): in the eigenvector coordinates of
// L each column is a tridiagonal system,
//
//	(ρ_j·T + μI)·x_j = Qᵀ·ỹ_j,   c̃_j = Q·x_j,
//
// so that K is only reduced and never diagonalised. A second solve costs 4l²r operations.
type tridiagonal struct{ Tridiagonal }

func (s *tridiagonal) floats() float64 { return 1 }

func (s *tridiagonal) factor(ctx context.Context, be blas.Backend, K blas.General) error {
	s.Reduce(ctx, be, K)
	return nil
}

// norm is Gershgorin's bound for T.
func (s *tridiagonal) norm() float64 {
	top := 0.0
	for i, d := range s.d {
		row := math.Abs(d)
		if i > 0 {
			row += math.Abs(s.e[i-1])
		}
		if i < len(s.e) {
			row += math.Abs(s.e[i])
		}
		top = max(top, row)
	}
	return top
}

func (s *tridiagonal) apply(
	_ context.Context, _ blas.Backend, X, B, work blas.General, rho []float64, mu float64,
) (int, error) {
	if len(rho) == 0 {
		return 1, nil
	}
	blas.Copy(X, B)
	s.ToQ(X)
	if err := s.Solve(X, work, rho, mu); err != nil {
		return 1, err
	}
	s.FromQ(X)
	return 1, nil
}

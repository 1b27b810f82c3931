package sylvester

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// tridiagonal is the symmetric case of the Hessenberg–Schur method (Golub, Nash,
// Van Loan, IEEE Trans. Automat. Control 24, 1979). With K = Q·T·Qᵀ, T
// tridiagonal, each column in the eigenvector coordinates of L is a tridiagonal
// system,
//
//	(ρ_j·T + μI)·x_j = Qᵀ·ỹ_j,   c̃_j = Q·x_j,
//
// so that K is only reduced (4/3·l³ operations) and never diagonalised. A second
// solve costs 4l²r operations.
type tridiagonal struct {
	q    blas.General // Q in the backend's own form
	d, e []float64    // of T
	tau  []float64
}

func newTridiagonal(Config) engine { return &direct{name: "tridiagonal", factors: &tridiagonal{}} }

func (s *tridiagonal) floats() float64 { return 1 }

func (s *tridiagonal) factor(be blas.Backend, K blas.General) error {
	l := K.Rows
	s.q = K
	s.d, s.e, s.tau = resize(s.d, l), resize(s.e, l-1), resize(s.tau, l-1)
	be.Sytrd(K, s.d, s.e, s.tau)
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

func (s *tridiagonal) apply(_ context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64) (int, error) {
	if len(rho) == 0 {
		return 1, nil
	}
	blas.Copy(X, B)
	be.Ormtr(true, s.q, s.tau, X)
	if err := s.columns(X, work, rho, mu); err != nil {
		return 1, err
	}
	be.Ormtr(false, s.q, s.tau, X)
	return 1, nil
}

// columns overwrites the columns of X by the solutions of their tridiagonal
// systems, side by side, by LDLᵀ factorization: pivots are positive exactly when
// the system is positive definite.
func (s *tridiagonal) columns(X, pivots blas.General, rho []float64, mu float64) error {
	l := X.Rows
	for i := range l {
		p, x := blas.Row(pivots, i), blas.Row(X, i)
		for j := range p {
			p[j] = rho[j]*s.d[i] + mu
		}
		if i > 0 {
			before, xb := blas.Row(pivots, i-1), blas.Row(X, i-1)
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
		p, x := blas.Row(pivots, i), blas.Row(X, i)
		if i == l-1 {
			for j := range x {
				x[j] /= p[j]
			}
			continue
		}
		next := blas.Row(X, i+1)
		for j := range x {
			x[j] = (x[j] - rho[j]*s.e[i]*next[j]) / p[j]
		}
	}
	return nil
}

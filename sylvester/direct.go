package sylvester

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/phase"
)

// factors decompose a dense K, for a direct solver of the decoupled systems.
type factors interface {
	// floats is what they take beside a block, in units of l².
	floats() float64
	// factor takes over K, and the memory it is in. Once ctx has ended the factors mean nothing.
	factor(ctx context.Context, be blas.Backend, K blas.General) error
	// apply writes to X the solutions of (ρ_j·K + μI)·x_j = b_j; B and work, of the
	// shape of X, are overwritten. It returns the number of factorizations.
	apply(ctx context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64) (int, error)
	// norm is an upper bound of ‖K‖₂.
	norm() float64
}

// direct is the method of one kind of factors, which are kept until Invalidate.
// Where rounding leaves more than the tolerance, later rounds refine by a solve
// with the same factors each.
type direct struct {
	factors
	name  string
	order int          // of the K factored, 0 for none
	K     blas.General // its memory
}

func (s *direct) Name() string { return s.name }

func (s *direct) Invalidate() { s.order = 0 }

// kept reports whether the factors of a K of order l are there.
func (s *direct) kept(l int) bool { return s.order == l }

// fits refuses factors of order l for n columns, r of which L keeps, that memory does not hold.
func (s *direct) fits(l, n, r int) error {
	if s.kept(l) {
		return nil
	}
	return memory.Check("sylvester: the solver "+s.name,
		8*float64(l)*(s.floats()*float64(l)+2*float64(n)+4*float64(r)),
		"use an iterative solver such as nystrom, or factors of K")
}

func (s *direct) prepare(ctx context.Context, f *frame) error {
	f.direct()
	l := f.Y.Rows
	if s.kept(l) {
		return nil
	}
	if err := s.fits(l, f.Y.Cols, f.sys.L.Rank()); err != nil {
		return err
	}
	s.order = 0
	s.K = blas.Reshape(s.K, l, l)
	if err := dense(ctx, s.K, f.sys.K); err != nil {
		return err
	}
	err := s.factor(ctx, f.be, s.K)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return err
	}
	s.order = l
	return nil
}

func (s *direct) round(ctx context.Context, f *frame, round int) error {
	right, work := f.yt, f.rt
	if round == 0 {
		f.rotate()
	} else {
		right, work = f.rt, f.yt
	}
	f.rotated = false // Ỹ is overwritten
	count, err := s.apply(ctx, f.be, f.ct, right, work, f.rho, f.mu)
	f.res.Iter += count
	switch {
	case err != nil:
		return err
	case round == 0:
		f.restore()
	default:
		f.correct()
	}
	return nil
}

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
	e.vectors, e.sigma = K, blas.Resize(e.sigma, K.Rows)
	phase.Decomposed(ctx, K.Rows)
	return blas.Until(ctx, be).Syevd(K, e.sigma)
}

func (e *eigen) apply(
	_ context.Context, be blas.Backend, X, B, work blas.General, rho []float64, mu float64,
) (int, error) {
	if len(rho) == 0 {
		return 1, nil
	}
	if low := e.sigma[0]*rho[0] + mu; !(low > 0) {
		return 1, notPositive(low, "smallest eigenvalue %g", low)
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
	phase.Decomposed(ctx, l)
	t.be, t.q = be, K
	t.d, t.e, t.tau = blas.Resize(t.d, l), blas.Resize(t.e, l-1), blas.Resize(t.tau, l-1)
	blas.Until(ctx, be).Sytrd(K, t.d, t.e, t.tau)
}

// ToQ overwrites X by Qᵀ·X, and FromQ by Q·X, in 2l² operations a column.
func (t *Tridiagonal) ToQ(X blas.General) { t.be.Ormtr(true, t.q, t.tau, X) }

// FromQ overwrites X by Q·X.
func (t *Tridiagonal) FromQ(X blas.General) { t.be.Ormtr(false, t.q, t.tau, X) }

// Quadratic is bᵀ(T + σI)⁻¹b, and whether that matrix is positive definite; 0 where it is not.
func (t *Tridiagonal) Quadratic(b []float64, sigma float64) (sum float64, definite bool) {
	var pivot, y float64
	for i, v := range b {
		p := t.d[i] + sigma
		if i > 0 {
			m := t.e[i-1] / pivot
			p, v = p-m*t.e[i-1], v-m*y
		}
		if !(p > 0) {
			return 0, false
		}
		pivot, y = p, v
		sum += y * y / p
	}
	return sum, true
}

// Solve overwrites the columns of X by the solutions of (ρ_j·T + μI)·x_j = x_j, side
// by side, by LDLᵀ factorization; pivots is scratch of the shape of X. The error is
// ErrNotSPD: pivots are positive exactly when the system is positive definite; or ErrNotFinite where one overflows.
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
				return notPositive(v, "pivot %g in column %d", v, j)
			}
		}
	}
	for i := l - 1; i >= 0; i-- {
		p, x := blas.Row(pivots, i), blas.Row(X, i)
		if i < l-1 {
			for j, v := range blas.Row(X, i+1) {
				x[j] -= rho[j] * t.e[i] * v
			}
		}
		for j := range x {
			x[j] /= p[j]
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
func (s *tridiagonal) norm() float64 { return small.Dlanst(lapack.MaxRowSum, len(s.d), s.d, s.e) }

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
		for i := range l {
			out := blas.Row(s.low, i)[:i+1]
			for j, v := range blas.Row(s.k, i)[:i+1] {
				out[j] = rho[g[0]] * v
			}
			out[i] += mu
		}
		phase.Decomposed(ctx, l)
		regular := blas.Until(ctx, be).Potrf(s.low)
		if err := ctx.Err(); err != nil {
			return i, err
		}
		if !regular {
			norm := rho[g[0]]*s.bound + mu
			return i, notPositive(norm, "Cholesky's factorization of ρK + μI, of norm %.3g, breaks down", norm)
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

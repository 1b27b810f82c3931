// Positive semidefinite matrices by their eigenpairs, and orthonormal bases.

package linop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
)

var (
	// ErrNotConverged says that an iteration ended before it met its tolerance. The errors of that kind of packages cg,
	// lanczos, frankwolfe, sylvester, bcd and iokl wrap it.
	ErrNotConverged = errors.New("not converged")
	// ErrNotFinite says that a matrix has an element that is NaN or infinite.
	ErrNotFinite = errors.New("linop: the matrix is not finite")
)

// Spectral is a symmetric positive semidefinite n×n matrix kept as
// V·diag(S)·Vᵀ, with V n×r of orthonormal columns and S ≥ 0 in descending order.
// r may be far below n; no n×n array exists then. r = 0 is the zero matrix.
type Spectral struct {
	V blas.General
	S []float64
}

// NewSpectral decomposes the dense symmetric a (its lower triangle is read; a is
// kept as it is), dropping eigenvalues that are at most drop·λ_max, and with
// them every negative one. The error is ErrNotFinite, or the backend's when its
// iteration did not converge.
func NewSpectral(be blas.Backend, a blas.General, drop float64) (*Spectral, error) {
	n := a.Rows
	if a.Cols != n {
		panic("linop: NewSpectral of a matrix that is not square")
	}
	v := blas.Clone(a)
	w := make([]float64, n)
	for i := range n {
		for j, x := range blas.Row(a, i)[:i+1] {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%w: %g at row %d, column %d", ErrNotFinite, x, i, j)
			}
		}
	}
	if err := be.Syevd(v, w); err != nil {
		return nil, err
	}
	if n == 0 {
		return &Spectral{V: v}, nil
	}
	return Leading(v, w, max(0, drop*w[n-1])), nil
}

// Leading is v·diag(w)·vᵀ for ascending w, without the pairs with w ≤ least, least ≥ 0.
func Leading(v blas.General, w []float64, least float64) *Spectral {
	n, r := len(w), 0
	for r < n && w[n-1-r] > least {
		r++
	}
	s := &Spectral{V: blas.NewGeneral(v.Rows, r), S: make([]float64, r)}
	for j := range r {
		s.S[j] = w[n-1-j]
		for i := range v.Rows {
			s.V.Data[i*s.V.Stride+j] = v.Data[i*v.Stride+n-1-j]
		}
	}
	return s
}

// ScaledIdentity is c·I of order n.
func ScaledIdentity(n int, c float64) *Spectral {
	s := &Spectral{V: blas.NewGeneral(n, n), S: make([]float64, n)}
	for i := range n {
		s.V.Data[i*n+i] = 1
		s.S[i] = c
	}
	return s
}

// Dim is n, the order of the matrix.
func (s *Spectral) Dim() int { return s.V.Rows }

// Rank is the number of eigenpairs kept.
func (s *Spectral) Rank() int { return len(s.S) }

// Trace is the sum of the eigenvalues.
func (s *Spectral) Trace() float64 {
	var t float64
	for _, v := range s.S {
		t += v
	}
	return t
}

// Rotate computes dst = C·V (l×r) for the l×n C.
func (s *Spectral) Rotate(be blas.Backend, dst, C blas.General) {
	blas.Mul(be, dst, false, false, C, s.V)
}

// MulRight computes dst = C·L for l×n matrices; dst may be C. It
// allocates l·r floats; [Spectral.MulRightWith] does not.
func (s *Spectral) MulRight(be blas.Backend, dst, C blas.General) {
	s.MulRightWith(be, dst, C, new(blas.General))
}

// MulRightWith is MulRight with scratch of the caller, which is enlarged to l×r where it is smaller.
func (s *Spectral) MulRightWith(be blas.Backend, dst, C blas.General, work *blas.General) {
	*work = blas.Reshape(*work, C.Rows, s.Rank())
	s.rotateScaled(be, *work, C)
	blas.Mul(be, dst, false, true, *work, s.V)
}

// rotateScaled computes dst = C·V·diag(S) (l×r).
func (s *Spectral) rotateScaled(be blas.Backend, dst, C blas.General) {
	s.Rotate(be, dst, C)
	blas.ScaleColumns(dst, s.S)
}

// Dense writes the n×n matrix to dst.
func (s *Spectral) Dense(be blas.Backend, dst blas.General) {
	scaled := blas.Clone(s.V)
	blas.ScaleColumns(scaled, s.S)
	blas.Mul(be, dst, false, true, scaled, s.V)
}

// Factor is R = V·diag(√S) (n×r), for which the matrix is R·Rᵀ.
func (s *Spectral) Factor() blas.General {
	R := blas.Clone(s.V)
	blas.ScaleColumns(R, blas.Roots(s.S))
	return R
}

// Elements returns a function that computes the element (i,j), at 2r flops.
func (s *Spectral) Elements() func(i, j int) float64 {
	R := s.Factor()
	return func(i, j int) float64 { return blas.Dot(blas.Row(R, i), blas.Row(R, j)) }
}

// Clone returns a copy.
func (s *Spectral) Clone() *Spectral {
	return &Spectral{V: blas.Clone(s.V), S: append([]float64(nil), s.S...)}
}

// RankDrop sets the rank of a matrix: singular values and eigenvalues of at most RankDrop·ε·N times the largest count
// as 0, with the machine precision ε and the order N.
const RankDrop = 4

// RowBasis returns an orthonormal basis P (n×k) of the row space of the N×n Y, with k ≥ 1 unless N = 0. If Y has full
// column rank or no columns, the basis is the identity: P then has its shape and no data. Singular values below the
// bound of [RankDrop] count as 0. The error is ErrNotFinite, or that of the backend.
func RowBasis(be blas.Backend, Y blas.General) (blas.General, error) {
	N, n := Y.Rows, Y.Cols
	full := blas.General{Rows: n, Cols: n}
	k := min(N, n)
	switch {
	case n == 0:
		return full, nil
	case N == 0:
		return blas.NewGeneral(n, 0), nil
	}
	T := blas.Transposed(Y) // n×N
	if n <= N {
		T = blas.Clone(Y)
	}
	R := blas.NewGeneral(k, k)
	be.QR(T, R)
	if v := blas.Frob(R); math.IsNaN(v) || math.IsInf(v, 0) {
		return full, fmt.Errorf("%w: the norm of a %d×%d matrix is %g", ErrNotFinite, N, n, v)
	}
	// n > N: Yᵀ = T·R, so the left singular vectors of R turn T. n ≤ N: Y = T·R,
	// and its right ones span the row space.
	s, u, vt := make([]float64, k), blas.NewGeneral(k, k), blas.NewGeneral(k, k)
	if err := be.SVD(R, s, u, vt); err != nil {
		return full, fmt.Errorf("linop: a basis of the rows of a %d×%d matrix: %w", N, n, err)
	}
	rank := 1
	for rank < k && s[rank] > RankDrop*0x1p-52*float64(max(N, n))*s[0] {
		rank++
	}
	switch {
	case n <= N && rank == n:
		return full, nil
	case n <= N:
		return blas.Transposed(blas.View(vt, 0, 0, rank, n)), nil
	case rank == k:
		return T, nil
	}
	return blas.Product(be, false, false, T, blas.View(u, 0, 0, k, rank)), nil
}

// LeadingBasis returns an orthonormal basis (n×k) of approximately the k leading right singular vectors of the N×n B,
// by two steps of randomized subspace iteration (Halko, Martinsson and Tropp, doi:10.1137/090771806).
func LeadingBasis(ctx context.Context, be blas.Backend, B blas.General, k int, seed uint64) (blas.General, error) {
	T, S := blas.NewGeneral(B.Cols, k), blas.NewGeneral(B.Rows, k)
	FillNormal(T, seed)
	for range 3 {
		if err := ctx.Err(); err != nil {
			return T, err
		}
		blas.Mul(be, S, false, false, B, T)
		be.QR(S, blas.General{})
		blas.Mul(be, T, true, false, B, S)
		be.QR(T, blas.General{})
	}
	return T, nil
}

// Outside returns an orthonormal basis of the projection of the range of W (n×k) on the orthogonal complement of the
// range of P, whose columns are orthonormal.
func Outside(be blas.Backend, P, W blas.General) blas.General {
	W = blas.Clone(W)
	whole := columnNorms(W)
	for range 2 { // the second time for what rounding left
		a := blas.Product(be, true, false, P, W)
		blas.Gemm(be, false, false, -1, P, a, 1, W)
	}
	scale := columnNorms(W)
	for j, v := range scale {
		if scale[j] = 0; v > 0x1p-40*whole[j] { // more than rounding
			scale[j] = 1 / v
		}
	}
	blas.ScaleColumns(W, scale)
	D, d := blas.NewGeneral(W.Cols, W.Cols), make([]float64, W.Cols)
	blas.GramOf(be, D, W)
	if be.Syevd(D, d) != nil {
		return blas.General{}
	}
	first := slices.IndexFunc(d, func(v float64) bool { return v > 1e-8*d[len(d)-1] })
	if first < 0 || !(d[len(d)-1] > 0) {
		return blas.General{}
	}
	keep := W.Cols - first
	Q := blas.Product(be, false, false, W, blas.View(D, 0, first, W.Cols, keep))
	be.QR(Q, blas.General{})
	a := blas.Product(be, true, false, P, Q)
	blas.Gemm(be, false, false, -1, P, a, 1, Q)
	return Q
}

// Orthonormal returns an orthonormal basis of the range of P (n×k), whose columns are orthonormal up to rounding.
func Orthonormal(be blas.Backend, P blas.General) blas.General {
	D, Q := blas.NewGeneral(P.Cols, P.Cols), blas.Like(P)
	blas.GramOf(be, D, P)
	blas.Scal(-0.5, D.Data)
	for i := range P.Cols {
		D.Data[i*D.Stride+i] += 1.5
	}
	blas.Mul(be, Q, false, false, P, D) // P(3I − PᵀP)/2
	return Q
}

// FillNormal fills a with independent standard normal numbers, by the seed.
func FillNormal(a blas.General, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x6f757470757473))
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
	}
}

// columnNorms are the norms of the columns of a.
func columnNorms(a blas.General) []float64 {
	norms := make([]float64, a.Cols)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			norms[j] = math.Hypot(norms[j], v)
		}
	}
	return norms
}

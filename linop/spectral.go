// This file holds positive semidefinite matrices by their eigenpairs.

package linop

import (
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
)

// ErrNotFinite says that a matrix has an element that is NaN or infinite.
var ErrNotFinite = errors.New("linop: the matrix is not finite")

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

// Leading is v·diag(w)·vᵀ for ascending w, without those that are not above least ≥ 0.
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
	if s.Rank() > 0 {
		blas.Mul(be, dst, false, false, C, s.V)
	}
}

// MulRight computes dst = C·L for l×n matrices; dst may be C. It
// allocates l·r floats; [Spectral.MulRightWith] does not.
func (s *Spectral) MulRight(be blas.Backend, dst, C blas.General) {
	var work blas.General
	s.MulRightWith(be, dst, C, &work)
}

// MulRightWith is MulRight with scratch of the caller's, which grows to l×r when
// it is smaller and is left for the next call.
func (s *Spectral) MulRightWith(be blas.Backend, dst, C blas.General, work *blas.General) {
	r := s.Rank()
	if r == 0 {
		blas.Zero(dst)
		return
	}
	*work = blas.Reshape(*work, C.Rows, r)
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
	if s.Rank() == 0 {
		blas.Zero(dst)
		return
	}
	scaled := blas.Clone(s.V)
	blas.ScaleColumns(scaled, s.S)
	blas.Mul(be, dst, false, true, scaled, s.V)
}

// Clone returns a copy.
func (s *Spectral) Clone() *Spectral {
	return &Spectral{V: blas.Clone(s.V), S: append([]float64(nil), s.S...)}
}

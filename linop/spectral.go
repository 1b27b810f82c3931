package linop

import "github.com/iokl/iokl/blas"

// Spectral is a symmetric positive semidefinite n×n matrix kept as
// V·diag(S)·Vᵀ, with V n×r of orthonormal columns and S ≥ 0 in descending order.
// r may be far below n; no n×n array exists then. r = 0 is the zero matrix.
type Spectral struct {
	V blas.General
	S []float64
}

// NewSpectral decomposes the dense symmetric a (its lower triangle is read; a is
// kept as it is), dropping eigenvalues that are at most drop·λ_max, and with
// them every negative one.
func NewSpectral(be blas.Backend, a blas.General, drop float64) (*Spectral, error) {
	n := a.Rows
	if a.Cols != n {
		panic("linop: NewSpectral of a matrix that is not square")
	}
	v := blas.Clone(a)
	w := make([]float64, n)
	if err := be.Syevd(v, w); err != nil {
		return nil, err
	}
	r := 0
	for r < n && w[n-1-r] > max(0, drop*w[n-1]) {
		r++
	}
	s := &Spectral{V: blas.NewGeneral(n, r), S: make([]float64, r)}
	for j := range r {
		s.S[j] = w[n-1-j]
		for i := range n {
			s.V.Data[i*s.V.Stride+j] = v.Data[i*v.Stride+n-1-j]
		}
	}
	return s, nil
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

// MulRight computes dst = C·L for l×n matrices; dst does not overlap C.
func (s *Spectral) MulRight(be blas.Backend, dst, C blas.General) {
	r := s.Rank()
	if r == 0 {
		blas.Zero(dst)
		return
	}
	T := blas.NewGeneral(C.Rows, r)
	s.Rotate(be, T, C)
	for i := range T.Rows {
		row := blas.Row(T, i)
		for j := range row {
			row[j] *= s.S[j]
		}
	}
	blas.Mul(be, dst, false, true, T, s.V)
}

// Dense writes the n×n matrix to dst.
func (s *Spectral) Dense(be blas.Backend, dst blas.General) {
	s.MulRight(be, dst, eye(s.Dim()))
}

func eye(n int) blas.General {
	return ScaledIdentity(n, 1).V
}

// Clone returns a copy.
func (s *Spectral) Clone() *Spectral {
	return &Spectral{V: blas.Clone(s.V), S: append([]float64(nil), s.S...)}
}

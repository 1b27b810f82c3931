// This file computes singular value decompositions.

package lapack

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/par"
)

// svdLeaf is the order up to which the QR iteration of gonum serves the core.
const svdLeaf = 64

// SVD computes the singular value decomposition a = u·diag(s)·vt of an m×n matrix,
// which is destroyed; with k = min(m,n), u is m×k or m×m, vt is k×n or n×n, and s
// descends. An empty u or vt is not wanted; without both, singular values are all
// it computes. A rectangular matrix is first reduced to its
// triangular factor, of order k; that is made bidiagonal. Errors are of the order
// of k roundings of ‖a‖ in u·diag(s)·vt, of 1 in uᵀ·u and v·vᵀ.
// Scratch: about 17k² + 3mn floats.
func (impl Implementation) SVD(a matrix, s []float64, u, vt matrix) error {
	m, n := a.Rows, a.Cols
	if m == 0 || n == 0 {
		return nil
	}
	for i := range m {
		if !finite(row(a, i)) {
			return fmt.Errorf("%w: %d×%d matrix has elements that are not finite", ErrNoConvergence, m, n)
		}
	}
	if m < n {
		ut, v := zeros(u.Cols, u.Rows), zeros(vt.Cols, vt.Rows)
		if err := impl.SVD(transposed(a), s, v, ut); err != nil {
			return err
		}
		transpose(u, ut)
		transpose(vt, v)
		return nil
	}
	r, tau := a, make([]float64, n)
	if m > n {
		impl.Geqrf(a, tau)
		r = zeros(n, n)
		upperTriangle(r, a)
	}
	if u.Rows == 0 && vt.Rows == 0 {
		return impl.singularValues(r, s)
	}
	if u.Rows == 0 {
		u = zeros(n, n)
	}
	if vt.Rows == 0 {
		vt = zeros(n, n)
	}
	if err := impl.squareSVD(r, s, view(u, 0, 0, n, n), vt); err != nil || u.Rows == n {
		return err
	}
	for i := range u.Rows {
		if i < n {
			clear(row(u, i)[n:])
			continue
		}
		clear(row(u, i))
		if i < u.Cols {
			row(u, i)[i] = 1
		}
	}
	impl.Ormqr(blas.Left, false, a, tau, u)
	return nil
}

// singularValues computes the singular values of the square a, which is destroyed.
func (impl Implementation) singularValues(a matrix, s []float64) error {
	n := a.Rows
	exp := normExponent(a)
	b := impl.bidiagonalize(a)
	copy(s, b.d)
	if !(gonum.Implementation{}).Dbdsqr(blas.Upper, n, 0, 0, 0, s, b.e[:n-1], nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
		return fmt.Errorf("%w: singular values of order %d", ErrNoConvergence, n)
	}
	scaleBy(exp, s[:n])
	return nil
}

// normExponent multiplies a by 2⁻ᵉ so that its Frobenius norm is in [½,1), and returns e.
func normExponent(a matrix) int {
	norm := 0.0
	for i := range a.Rows {
		norm = math.Hypot(norm, nrm2(row(a, i)))
	}
	_, exp := math.Frexp(norm)
	for i := range a.Rows {
		scaleBy(-exp, row(a, i))
	}
	return exp
}

func (impl Implementation) squareSVD(a matrix, s []float64, u, vt matrix) error {
	n := a.Rows
	if n <= svdLeaf {
		var size [1]float64
		call := func(work []float64, lwork int) bool {
			return gonum.Implementation{}.Dgesvd(lapack.SVDStore, lapack.SVDStore, n, n, a.Data, a.Stride, s, u.Data, u.Stride, vt.Data, vt.Stride, work, lwork)
		}
		call(size[:], -1)
		if !call(make([]float64, int(size[0])), int(size[0])) {
			return fmt.Errorf("%w: singular values of order %d", ErrNoConvergence, n)
		}
		return nil
	}
	return impl.bidiagonalSVD(a, s, u, vt)
}

// bidiagonalSVD goes through an upper bidiagonal B, and the eigenvectors of the
// symmetric tridiagonal matrix T that Golub and Kahan's matrix
//
//	⎡ 0  Bᵀ ⎤
//	⎣ B  0  ⎦
//
// becomes when its rows and columns are shuffled: B·v = σ·u where (v,u) belongs to
// the eigenvalue σ of T (SIAM J. Numer. Anal. 2, 1965), half of its eigenvectors.
func (impl Implementation) bidiagonalSVD(a matrix, s []float64, u, vt matrix) error {
	n := a.Rows
	exp := normExponent(a)
	b := impl.bidiagonalize(a)
	U, V := zeros(n, n), zeros(n, n) // singular vectors as rows
	if err := impl.shuffled(b, s, U, V); err != nil {
		return err
	}
	impl.separate(s, U)
	impl.separate(s, V)
	impl.timesTransposed(U, b.left, b.tauLeft, 0)
	impl.timesTransposed(V, b.right, b.tauRight, 1)
	transpose(u, U)
	copyMatrix(vt, V)
	scaleBy(exp, s)
	return nil
}

// shuffled computes the singular values of B and its vectors, rows of U and V,
// from the eigenvectors of T: unit vectors that may be far from orthogonal, or
// zero, where singular values are rounding.
func (impl Implementation) shuffled(b bidiagonal, s []float64, U, V matrix) error {
	n := len(s)
	d, e, Z := make([]float64, 2*n), make([]float64, 2*n), zeros(2*n, 2*n)
	for i := range n {
		e[2*i], e[2*i+1] = b.d[i], b.e[i]
	}
	const below = -1e-8 // eigenvalues come in pairs ±σ to within 2n roundings
	by, err := impl.tridiagonalEigenFrom(below, d, e[:2*n-1], Z)
	if err != nil {
		return err
	}
	slices.Reverse(by)
	for j, r := range by[:n] {
		s[j] = max(0, d[r])
	}
	par.Ranges(n, 16, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			vj, uj, z := row(V, j), row(U, j), row(Z, by[j])
			for i := range vj {
				vj[i], uj[i] = z[2*i], z[2*i+1]
			}
			for _, x := range [][]float64{vj, uj} {
				if norm := nrm2(x); norm > 0 {
					scal(1/norm, x)
				}
			}
		}
	})
	return nil
}

// separate makes the rows of W, singular vectors of s, orthonormal. Eigenvectors
// of T are; their halves are as far from it as rounding moves the eigenvectors of
// σ_i and −σ_j towards each other, which is ‖T‖/(σ_i + σ_j) times as much. To
// correct σ_j's against those of larger singular values leaves B·v = σ·u as it
// was, to rounding. Where σ_j is rounding, any vector does that is orthogonal to
// those of larger ones.
func (impl Implementation) separate(s []float64, W matrix) {
	n := len(s)
	from := 0
	if s[n-1] > 16*eps*float64(n)*s[0] {
		from, _ = slices.BinarySearchFunc(s, s[0]/4, func(v, least float64) int { return cmp.Compare(least, v) })
	}
	if from == n {
		return
	}
	rows := view(W, from, 0, n-from, n)
	columns := zeros(n, n-from)
	transpose(columns, rows)
	impl.reorthogonalize(columns)
	transpose(rows, columns)
}

// reorthogonalize replaces the columns of u by the orthonormal ones of its QR
// factorization, each on the side where it was. Columns of zeros are filled in.
func (impl Implementation) reorthogonalize(u matrix) {
	r := zeros(u.Cols, u.Cols)
	impl.QR(u, r)
	for j := range u.Cols {
		if r.Data[j*r.Stride+j] < 0 {
			for i := range u.Rows {
				u.Data[i*u.Stride+j] *= -1
			}
		}
	}
}

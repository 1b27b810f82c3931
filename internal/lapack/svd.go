package lapack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// svdLeaf is the order up to which the QR iteration of gonum serves the core.
const svdLeaf = 64

// SVD computes the thin singular value decomposition a = u·diag(s)·vt with
// k = min(m,n); a is destroyed. A rectangular matrix is first reduced to its
// triangular factor, of order k; that is decomposed through its polar factor.
// Scratch: about 8k² + 3mn floats.
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
		at, ut, v := zeros(n, m), zeros(m, m), zeros(n, m)
		transpose(at, a)
		if err := impl.SVD(at, s, v, ut); err != nil {
			return err
		}
		transpose(u, ut)
		transpose(vt, v)
		return nil
	}
	if m == n {
		return impl.squareSVD(a, s, u, vt)
	}
	r, ur := zeros(n, n), zeros(n, n)
	impl.QR(a, r)
	if err := impl.squareSVD(r, s, ur, vt); err != nil {
		return err
	}
	impl.gemm(nt, nt, 1, a, ur, 0, u)
	return nil
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
	return impl.polarSVD(a, s, u, vt)
}

// polarSVD computes the decomposition from the polar factor X of a and the
// eigenvectors of the positive semidefinite Xᵀ·a = V·diag(s)·Vᵀ, with U = X·V
// (Nakatsukasa and Higham, SIAM J. Sci. Comput. 35, 2013).
func (impl Implementation) polarSVD(a matrix, s []float64, u, vt matrix) error {
	n := a.Rows
	scale := 0.0
	for i := range n {
		scale = math.Hypot(scale, nrm2(row(a, i)))
	}
	if scale == 0 {
		clear(s)
		setIdentity(u)
		setIdentity(vt)
		return nil
	}
	_, exp := math.Frexp(scale)
	for i := range n {
		scaleBy(-exp, row(a, i))
	}
	X := zeros(n, n)
	copyMatrix(X, a)
	if !impl.polar(X) {
		return fmt.Errorf("%w: polar factor of order %d", ErrNoConvergence, n)
	}
	H, V, w := zeros(n, n), zeros(n, n), make([]float64, n)
	impl.gemm(tr, nt, 1, X, a, 0, H)
	for i := range n {
		for j := range i {
			H.Data[i*n+j] = (H.Data[i*n+j] + H.Data[j*n+i]) / 2
		}
	}
	if err := impl.Syevd(H, w); err != nil {
		return err
	}
	by := descending(w)
	for i, j := range by {
		s[i] = math.Ldexp(math.Abs(w[j]), exp)
		for k := range n {
			v := H.Data[k*n+j]
			vt.Data[i*vt.Stride+k] = v
			V.Data[k*n+i] = math.Copysign(v, v*w[j]) // a negative eigenvalue is rounding: turn its column of U
		}
	}
	impl.gemm(nt, nt, 1, X, V, 0, u)
	impl.reorthogonalize(u)
	return nil
}

func setIdentity(a matrix) {
	for i := range a.Rows {
		clear(row(a, i))
		a.Data[i*a.Stride+i] = 1
	}
}

// descending lists the indices of w by descending magnitude.
func descending(w []float64) []int {
	neg := make([]float64, len(w))
	by := make([]int, len(w))
	for i, v := range w {
		neg[i], by[i] = -math.Abs(v), i
	}
	sortByValue(by, neg)
	return by
}

// reorthogonalize replaces the columns of u by the orthonormal ones of its QR
// factorization. Columns that are orthonormal to rounding stay; what X lacks in
// the null space of a singular matrix is filled in.
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

// polar overwrites x, ‖x‖₂ ≤ 1, by its orthogonal polar factor, by the
// dynamically weighted Halley iteration
//
//	X ← X·(a·I + b·XᵀX)·(I + c·XᵀX)⁻¹
//
// for a smallest singular value of at least l (Nakatsukasa, Bai, Gygi, SIAM J.
// Matrix Anal. Appl. 31, 2010). While c is large the step goes through the QR
// factorization of [√c·X; I], which is stable; then through Cholesky's. It
// reports false when the iteration breaks down.
func (impl Implementation) polar(x matrix) bool {
	n := x.Rows
	stacked, q12 := zeros(2*n, n), zeros(n, n)
	l := 0x1p-53 / float64(n)
	for iter := 0; iter < 12 && math.Abs(l-1) > 8*eps; iter++ {
		l2 := l * l
		d := math.Cbrt(4 * (1 - l2) / (l2 * l2))
		root := math.Sqrt(1 + d)
		a := root + math.Sqrt(8-4*d+8*(2-l2)/(l2*root))/2
		b := (a - 1) * (a - 1) / 4
		c := a + b - 1
		ok := true
		if c > 100 {
			impl.halleyQR(x, stacked, q12, a, b, c)
		} else {
			ok = impl.halleyCholesky(x, stacked, a, b, c)
		}
		if !ok {
			return false
		}
		l = min(1, l*(a+b*l2)/(1+c*l2))
	}
	return true
}

// halleyQR computes X ← (b/c)·X + (a − b/c)/√c·Q₁·Q₂ᵀ with [√c·X; I] = [Q₁; Q₂]·R.
func (impl Implementation) halleyQR(x, stacked, q12 matrix, a, b, c float64) {
	n := x.Rows
	root := math.Sqrt(c)
	for i := range n {
		out := row(stacked, i)
		for j, v := range row(x, i) {
			out[j] = root * v
		}
	}
	setIdentity(view(stacked, n, 0, n, n))
	impl.QR(stacked, matrix{})
	impl.gemm(nt, tr, (a-b/c)/root, view(stacked, 0, 0, n, n), view(stacked, n, 0, n, n), 0, q12)
	impl.combine(x, b/c, q12)
}

// halleyCholesky computes X ← (b/c)·X + (a − b/c)·(X·L⁻ᵀ)·L⁻¹ with I + c·XᵀX = L·Lᵀ.
func (impl Implementation) halleyCholesky(x, stacked matrix, a, b, c float64) bool {
	n := x.Rows
	Z, Y := view(stacked, 0, 0, n, n), view(stacked, n, 0, n, n)
	setIdentity(Z)
	impl.bl.Dsyrk('L', tr, n, n, c, x.Data, x.Stride, 1, Z.Data, Z.Stride)
	if !impl.Potrf(Z) {
		return false
	}
	copyMatrix(Y, x)
	impl.bl.Dtrsm('R', 'L', tr, 'N', n, n, a-b/c, Z.Data, Z.Stride, Y.Data, Y.Stride)
	impl.bl.Dtrsm('R', 'L', nt, 'N', n, n, 1, Z.Data, Z.Stride, Y.Data, Y.Stride)
	impl.combine(x, b/c, Y)
	return true
}

// combine computes x = alpha·x + y.
func (impl Implementation) combine(x matrix, alpha float64, y matrix) {
	for i := range x.Rows {
		xi := row(x, i)
		scal(alpha, xi)
		axpy(1, row(y, i), xi)
	}
}

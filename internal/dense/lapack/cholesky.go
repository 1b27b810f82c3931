// Cholesky factorizations, and inverses of triangular and of factorized matrices.

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/base/par"
)

// inverseLeaf is the order up to which gonum inverts and multiplies triangles.
const inverseLeaf = 32

// Trtri overwrites the triangle ul of a by its inverse. With L⁻¹ = X,
//
//	X21 = −L22⁻¹·L21·L11⁻¹
//
// and the transposed of it for an upper triangle. The diagonal holds no zeros.
func (impl Implementation) Trtri(ul blas.Uplo, d blas.Diag, a matrix) {
	n := order(a)
	if n <= inverseLeaf {
		gonum.Implementation{}.Dtrti2(ul, d, n, a.Data, max(a.Stride, 1))
		return
	}
	a11, off, a22 := quarters(ul, a, half(n, inverseLeaf))
	left, right := a11, a22
	if ul == blas.Lower {
		left, right = a22, a11
	}
	// Products with both inverses would multiply their errors (Du Croz and Higham, Stability of methods for matrix
	// inversion, IMA Journal of Numerical Analysis 12, 1992).
	impl.Trtri(ul, d, left)
	impl.bl.Dtrmm(blas.Left, ul, nt, d, off.Rows, off.Cols, -1, left.Data, left.Stride, off.Data, off.Stride)
	impl.trsm(blas.Right, ul, nt, d, 1, right, off)
	impl.Trtri(ul, d, right)
}

// quarters are the two triangles of order h and n−h on the diagonal of a
// triangle, and the rectangle between them.
func quarters(ul blas.Uplo, a matrix, h int) (a11, off, a22 matrix) {
	n := a.Rows
	off = view(a, h, 0, n-h, h)
	if ul == blas.Upper {
		off = view(a, 0, h, h, n-h)
	}
	return view(a, 0, 0, h, h), off, view(a, h, h, n-h, n-h)
}

// Potri overwrites the Cholesky factor in the lower triangle of a by that triangle
// of the inverse of the matrix that was factorized.
func (impl Implementation) Potri(a matrix) { impl.CholeskyInverse(blas.Lower, a) }

// CholeskyInverse is Potri of the factor in the triangle ul.
func (impl Implementation) CholeskyInverse(ul blas.Uplo, a matrix) {
	impl.Trtri(ul, blas.NonUnit, a)
	impl.square(ul, a)
}

// square overwrites a triangle by that triangle of Lᵀ·L or U·Uᵀ:
//
//	A11 = L11ᵀ·L11 + L21ᵀ·L21,   A21 = L22ᵀ·L21,   A22 = L22ᵀ·L22
func (impl Implementation) square(ul blas.Uplo, a matrix) {
	n := order(a)
	if n <= inverseLeaf {
		gonum.Implementation{}.Dlauu2(ul, n, a.Data, max(a.Stride, 1))
		return
	}
	h := half(n, inverseLeaf)
	a11, off, a22 := quarters(ul, a, h)
	side, trans := blas.Left, tr
	if ul == blas.Upper {
		side, trans = blas.Right, nt
	}
	impl.square(ul, a11)
	impl.bl.Dsyrk(ul, trans, h, n-h, 1, off.Data, off.Stride, 1, a11.Data, a11.Stride)
	impl.bl.Dtrmm(side, ul, tr, blas.NonUnit, off.Rows, off.Cols, 1, a22.Data, a22.Stride, off.Data, off.Stride)
	impl.square(ul, a22)
}

// Getri overwrites the factors of the square a and the pivots from LU by a⁻¹: it
// solves X·L = U⁻¹ and undoes the exchanges. The diagonal of U holds no zeros.
// Scratch: n² floats.
func (impl Implementation) Getri(a matrix, pivots []int) {
	n := order(a)
	L := zeros(n, n)
	for i := range n {
		copy(row(L, i), row(a, i)[:i])
	}
	impl.Trtri(blas.Upper, blas.NonUnit, a)
	for i := range n {
		clear(row(a, i)[:i])
	}
	impl.trsm(blas.Right, blas.Lower, nt, blas.Unit, 1, L, a)
	par.Ranges(n, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r := row(a, i)
			for j := n - 1; j >= 0; j-- {
				r[j], r[pivots[j]] = r[pivots[j]], r[j]
			}
		}
	})
}

// potrfLeaf is the order up to which gonum serves the Cholesky factorization.
const potrfLeaf = 48

// Potrf overwrites the lower triangle of the symmetric a by its Cholesky factor
// and reports whether a is positive definite.
func (impl Implementation) Potrf(a matrix) bool { return impl.Cholesky(blas.Lower, a) }

// Cholesky overwrites one triangle of the symmetric a, of which only that triangle
// is read, by L of a = L·Lᵀ or U of a = Uᵀ·U, and reports whether a is positive
// definite. It splits the matrix in half:
//
//	A11 = L11·L11ᵀ,   L21 = A21·L11⁻ᵀ,   A22 − L21·L21ᵀ = L22·L22ᵀ
//	A11 = U11ᵀ·U11,   U12 = U11⁻ᵀ·A12,   A22 − U12ᵀ·U12 = U22ᵀ·U22
func (impl Implementation) Cholesky(ul blas.Uplo, a matrix) bool {
	n := order(a)
	if n <= potrfLeaf {
		return gonum.Implementation{}.Dpotf2(ul, n, a.Data, max(a.Stride, 1)) && finiteDiagonal(a)
	}
	a11, off, a22 := quarters(ul, a, half(n, potrfLeaf))
	if !impl.Cholesky(ul, a11) {
		return false
	}
	side, trans := blas.Right, nt
	if ul == blas.Upper {
		side, trans = blas.Left, tr
	}
	impl.trsm(side, ul, tr, blas.NonUnit, 1, a11, off)
	impl.bl.Dsyrk(ul, trans, a22.Rows, a11.Rows, -1, off.Data, off.Stride, 1, a22.Data, a22.Stride)
	return impl.Cholesky(ul, a22)
}

// half is where an order n is split: near the middle, at a multiple of leaf.
func half(n, leaf int) int { return (n/2 + leaf - 1) / leaf * leaf }

func finiteDiagonal(a matrix) bool {
	for i := range a.Rows {
		if math.IsInf(row(a, i)[i], 1) {
			return false
		}
	}
	return true
}

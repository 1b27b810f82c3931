// This file factorizes positive definite matrices (Cholesky).

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

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

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// potrfLeaf is the order from which the Cholesky factorization works by blocks.
const potrfLeaf = 48

// Potrf overwrites the lower triangle of the symmetric a by its Cholesky factor
// and reports whether a is positive definite. It splits the matrix in half:
//
//	A11 = L11·L11ᵀ,   L21 = A21·L11⁻ᵀ,   A22 − L21·L21ᵀ = L22·L22ᵀ
func (impl Implementation) Potrf(a matrix) bool {
	n := order(a)
	if n <= potrfLeaf {
		return potrfRows(a)
	}
	h := (n/2 + potrfLeaf - 1) / potrfLeaf * potrfLeaf
	a11, a21, a22 := view(a, 0, 0, h, h), view(a, h, 0, n-h, h), view(a, h, h, n-h, n-h)
	if !impl.Potrf(a11) {
		return false
	}
	impl.bl.Dtrsm(blas.Right, blas.Lower, tr, blas.NonUnit, n-h, h, 1, a11.Data, a.Stride, a21.Data, a.Stride)
	impl.bl.Dsyrk(blas.Lower, nt, n-h, h, -1, a21.Data, a.Stride, 1, a22.Data, a.Stride)
	return impl.Potrf(a22)
}

// potrfRows factorizes row by row with inner products.
func potrfRows(a matrix) bool {
	for i := range a.Rows {
		ri := row(a, i)
		for j := range i {
			rj := row(a, j)
			ri[j] = (ri[j] - dot(ri[:j], rj[:j])) / rj[j]
		}
		d := ri[i] - dot(ri[:i], ri[:i])
		if !(d > 0) || math.IsInf(d, 1) {
			return false
		}
		ri[i] = math.Sqrt(d)
	}
	return true
}

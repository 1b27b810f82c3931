// This file factorizes matrices as P·L·U.

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// luLeaf is the number of columns up to which the LU factorization works column by column.
const luLeaf = 16

// LU overwrites the m×n a by the factors of a = P·L·U with partial pivoting, the
// unit diagonal of L left out; row i was exchanged with row pivots[i] ≥ i, for each
// of the min(m,n) steps i in turn. It reports whether U has no zero on its
// diagonal. The columns are split in half (doi:10.1137/S0895479896297744):
//
//	⎡A11⎤   ⎡L11⎤
//	⎣A21⎦ = ⎣L21⎦·U11,   U12 = L11⁻¹·A12,   A22 − L21·U12 = L22·U22
func (impl Implementation) LU(a matrix, pivots []int) bool {
	k := min(a.Rows, a.Cols)
	return impl.lu(a, pivots[:k], zeros(min(luLeaf, k), a.Rows))
}

// lu is LU with scratch for a panel, transposed.
func (impl Implementation) lu(a matrix, pivots []int, panel matrix) bool {
	m, n := a.Rows, a.Cols
	if n <= luLeaf && n <= m {
		return impl.luPanel(a, pivots, head(panel.Data, n, m))
	}
	h := min(half(n, luLeaf), m)
	left, right := view(a, 0, 0, m, h), view(a, 0, h, m, n-h)
	regular := impl.lu(left, pivots[:h], panel)
	exchange(right, pivots[:h])
	upper, lower := view(right, 0, 0, h, n-h), view(right, h, 0, m-h, n-h)
	impl.trsm(blas.Left, blas.Lower, nt, blas.Unit, 1, view(left, 0, 0, h, h), upper)
	if m == h {
		return regular
	}
	l21 := view(left, h, 0, m-h, h)
	impl.gemm(nt, nt, -1, l21, upper, 1, lower)
	regular = impl.lu(lower, pivots[h:], panel) && regular
	exchange(l21, pivots[h:])
	for i := range pivots[h:] {
		pivots[h+i] += h
	}
	return regular
}

// exchange swaps row i of a with row pivots[i], for each i in turn.
func exchange(a matrix, pivots []int) {
	for i, p := range pivots {
		if p != i {
			level1.Dswap(a.Cols, row(a, i), 1, row(a, p), 1)
		}
	}
}

// luPanel factorizes the panel p column by column, in its transposed P, whose rows
// are the columns and lie together in memory.
func (impl Implementation) luPanel(p matrix, pivots []int, P matrix) bool {
	transpose(P, p)
	regular := true
	for j := range P.Rows {
		x := row(P, j)[j:]
		at := level1.Idamax(len(x), x, 1)
		pivots[j] = j + at
		if x[at] == 0 {
			regular = false
			continue
		}
		if at > 0 {
			for c := range P.Rows {
				r := row(P, c)
				r[j], r[j+at] = r[j+at], r[j]
			}
		}
		divide(x[1:], x[0])
		if below := P.Rows - j - 1; below > 0 && len(x) > 1 {
			u := P.Data[(j+1)*P.Stride+j:]
			impl.bl.Dger(below, len(x)-1, -1, u, P.Stride, x[1:], 1, u[1:], P.Stride)
		}
	}
	transpose(p, P)
	return regular
}

// divide computes x/d, by multiplications where 1/d cannot overflow.
func divide(x []float64, d float64) {
	if math.Abs(d) >= 0x1p-1022 {
		scal(1/d, x)
		return
	}
	for i := range x {
		x[i] /= d
	}
}

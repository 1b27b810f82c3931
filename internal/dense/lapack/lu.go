// LU factorizations with row pivoting.

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

// luLeaf is the number of columns up to which the LU factorization works column by column.
const luLeaf = 16

// luBlock is the number of columns of a panel. Those behind it, read and written once for each, take 24 operations a
// byte then, several times what keeps arithmetic and memory equally busy.
const luBlock = 192

// LU overwrites the m×n a by the factors of a = P·L·U with partial pivoting, the
// unit diagonal of L left out; row i was exchanged with row pivots[i] ≥ i, for each
// of the min(m,n) steps i in turn. It reports whether U has no zero on its
// diagonal. The rows of a panel that later ones exchange are exchanged at the end.
func (impl Implementation) LU(a matrix, pivots []int) bool {
	m, k := a.Rows, min(a.Rows, a.Cols)
	panel := func(at int) (matrix, []int) {
		w := min(luBlock, k-at)
		return view(a, at, at, m-at, w), pivots[at : at+w]
	}
	scratch, regular := zeros(min(luLeaf, k), m), true
	lookAhead(k, a.Cols, luBlock, luBlock, func(at int) {
		p, exchanged := panel(at)
		regular = impl.lu(p, exchanged, scratch) && regular
	}, func(at, lo, hi int) {
		p, exchanged := panel(at)
		impl.eliminate(p, exchanged, view(a, at, lo, m-at, hi-lo))
	})
	par.Ranges(k, luBlock, func(lo, hi int) {
		for at := hi; at < k; at += luBlock {
			_, exchanged := panel(at)
			exchange(view(a, at, lo, m-at, hi-lo), exchanged)
		}
	})
	for i := range k {
		pivots[i] += i / luBlock * luBlock
	}
	return regular
}

// lookAhead factorizes the first k of n columns by panels of the given number of columns. While one job factorizes the
// next panel, others update stripes of the columns behind it: update(at, lo, hi) applies the panel from column at on to
// the columns from lo to before hi. Every stripe packs the panel again; wide ones leave a thread to wait for the last.
func lookAhead(k, n, panel, stripe int, factorize func(at int), update func(at, lo, hi int)) {
	factorize(0)
	for at := 0; at < k; at += panel {
		next := min(at+panel, k)
		behind := min(next+panel, k)
		par.For(1+(n-behind+stripe-1)/stripe, func(job int) {
			lo := behind + (job-1)*stripe
			if job > 0 {
				update(at, lo, min(lo+stripe, n))
			} else if next < k {
				update(at, next, behind)
				factorize(next)
			}
		})
	}
}

// lu is LU of no more columns than rows, which it splits in half (doi:10.1137/S0895479896297744), with scratch for a
// leaf, transposed:
//
//	⎡A11⎤   ⎡L11⎤
//	⎣A21⎦ = ⎣L21⎦·U11,   U12 = L11⁻¹·A12,   A22 − L21·U12 = L22·U22
func (impl Implementation) lu(a matrix, pivots []int, leaf matrix) bool {
	m, n := a.Rows, a.Cols
	if n <= luLeaf {
		return impl.luPanel(a, pivots, head(leaf.Data, n, m))
	}
	h := half(n, luLeaf)
	left := view(a, 0, 0, m, h)
	regular := impl.lu(left, pivots[:h], leaf)
	impl.eliminate(left, pivots[:h], view(a, 0, h, m, n-h))
	regular = impl.lu(view(a, h, h, m-h, n-h), pivots[h:], leaf) && regular
	exchange(view(left, h, 0, m-h, h), pivots[h:])
	for i := range pivots[h:] {
		pivots[h+i] += h
	}
	return regular
}

// eliminate exchanges the rows of right as those of the factorized panel and computes there U12, and A22 − L21·U12
// below it.
func (impl Implementation) eliminate(panel matrix, pivots []int, right matrix) {
	m, h, n := panel.Rows, len(pivots), right.Cols
	exchange(right, pivots)
	upper := view(right, 0, 0, h, n)
	impl.trsm(blas.Left, blas.Lower, nt, blas.Unit, 1, view(panel, 0, 0, h, h), upper)
	if m > h {
		impl.gemm(nt, nt, -1, view(panel, h, 0, m-h, h), upper, 1, view(right, h, 0, m-h, n))
	}
}

// exchange swaps row i of a with row pivots[i], for each i in turn.
func exchange(a matrix, pivots []int) {
	for i, p := range pivots {
		if p != i {
			swap(row(a, i), row(a, p))
		}
	}
}

// swap exchanges the elements of x and y, by parts that stay in the first-level cache.
func swap(x, y []float64) {
	var part [64]float64
	for len(x) > 0 {
		n := copy(part[:], x)
		copy(x[:n], y)
		copy(y, part[:n])
		x, y = x[n:], y[n:]
	}
}

// luPanel factorizes the panel p column by column, in its transposed P, whose rows
// are the columns and lie together in memory. A column is written once: the columns
// before it are subtracted together when its turn comes.
func (impl Implementation) luPanel(p matrix, pivots []int, P matrix) bool {
	transpose(P, p)
	regular := true
	for j := range P.Rows {
		x := row(P, j)
		for k := range j { // the column of U
			axpy(-x[k], row(P, k)[k+1:j], x[k+1:j])
		}
		if j > 0 {
			impl.bl.Dgemv(tr, j, P.Cols-j, -1, P.Data[j:], P.Stride, x[:j], 1, 1, x[j:], 1)
		}
		x = x[j:]
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

// Products with triangular matrices, and solves.

package native

import (
	gblas "gonum.org/v1/gonum/blas"
)

// factor is one of a product in double precision.
type factor = operand[float64]

// triangle is op(A) for a triangular A of order n, ready to be split.
type triangle struct {
	a     []float64
	ld, n int
	trans bool // op transposes
	low   bool // op(A), not A, is lower triangular
	unit  bool
}

func newTriangle(ul gblas.Uplo, t gblas.Transpose, d gblas.Diag, n int, a []float64, lda int) triangle {
	trans := t != gblas.NoTrans
	return triangle{a: a, ld: lda, n: n, trans: trans, low: (ul == gblas.Lower) != trans, unit: d == gblas.Unit}
}

// at is element (i,j) of op(A).
func (t triangle) at(i, j int) float64 {
	if t.trans {
		i, j = j, i
	}
	return t.a[i*t.ld+j]
}

// sub is the triangle of order n from diagonal element i on.
func (t triangle) sub(i, n int) triangle {
	t.a, t.n = t.a[i*t.ld+i:], n
	return t
}

// left is the block of op(A) from (i,j) on as the left factor of a product, right as the right one.
func (t triangle) left(i, j int) factor {
	if t.trans {
		return factor{t.a[j*t.ld+i:], t.ld, byFree}
	}
	return factor{t.a[i*t.ld+j:], t.ld, bySum}
}

func (t triangle) right(i, j int) factor {
	if t.trans {
		return factor{t.a[j*t.ld+i:], t.ld, bySum}
	}
	return factor{t.a[i*t.ld+j:], t.ld, byFree}
}

const (
	triangleBase  = 16  // triangles of this order are solved row by row
	wholeBase     = 48  // triangles of this order multiply as full matrices
	triangleWidth = 256 // on so many columns at a time, which stay in the first-level cache
)

// half is where a triangle is split: near the middle, at a multiple of the base.
func (t triangle) half() int { return (t.n/2 + triangleBase - 1) / triangleBase * triangleBase }

// solveLeft overwrites the n×w b by op(A)⁻¹·b, by halves (doi:10.1147/rd.416.0737).
func (e *double) solveLeft(t triangle, w int, b []float64, ldb int) {
	if w == 1 && ldb == 1 {
		e.solveVector(t, b[:t.n])
		return
	}
	if t.n <= triangleBase {
		e.columns(t, w, b, ldb)
		return
	}
	h := t.half()
	first, last, r := 0, h, t.n-h
	if !t.low {
		first, last, r = h, 0, h
	}
	e.solveLeft(t.sub(first, t.n-r), w, b[first*ldb:], ldb)
	e.gemm(t.left(last, first), factor{b[first*ldb:], ldb, byFree}, r, w, t.n-r, -1, 1, b[last*ldb:], ldb, whole)
	e.solveLeft(t.sub(last, r), w, b[last*ldb:], ldb)
}

// solveRight overwrites the m×n b by b·op(A)⁻¹.
func (e *double) solveRight(t triangle, m int, b []float64, ldb int) {
	if t.n <= triangleBase {
		e.transposed(t, m, b, ldb)
		return
	}
	h := t.half()
	first, last, r := h, 0, h
	if !t.low {
		first, last, r = 0, h, t.n-h
	}
	e.solveRight(t.sub(first, t.n-r), m, b[first:], ldb)
	e.gemm(factor{b[first:], ldb, bySum}, t.right(first, last), m, r, t.n-r, -1, 1, b[last:], ldb, whole)
	e.solveRight(t.sub(last, r), m, b[last:], ldb)
}

// timesLeft overwrites the n×w b by op(A)·b.
func (e *double) timesLeft(t triangle, w int, b []float64, ldb int) {
	if t.n <= wholeBase {
		e.timesWhole(t, true, w, b, ldb)
		return
	}
	h := t.half()
	first, last, r := h, 0, t.n-h
	if !t.low {
		first, last, r = 0, h, h
	}
	// The rows done first still need the others as they were.
	e.timesLeft(t.sub(first, r), w, b[first*ldb:], ldb)
	e.gemm(t.left(first, last), factor{b[last*ldb:], ldb, byFree}, r, w, t.n-r, 1, 1, b[first*ldb:], ldb, whole)
	e.timesLeft(t.sub(last, t.n-r), w, b[last*ldb:], ldb)
}

// timesRight overwrites the m×n b by b·op(A).
func (e *double) timesRight(t triangle, m int, b []float64, ldb int) {
	if t.n <= wholeBase {
		e.timesWhole(t, false, m, b, ldb)
		return
	}
	h := t.half()
	first, last, r := 0, h, h
	if !t.low {
		first, last, r = h, 0, t.n-h
	}
	e.timesRight(t.sub(first, r), m, b[first:], ldb)
	e.gemm(factor{b[last:], ldb, bySum}, t.right(last, first), m, r, t.n-r, 1, 1, b[first:], ldb, whole)
	e.timesRight(t.sub(last, t.n-r), m, b[last:], ldb)
}

// timesWhole overwrites the n×count b by op(A)·b, or the count×n b by b·op(A), with A as a full matrix.
func (e *double) timesWhole(t triangle, left bool, count int, b []float64, ldb int) {
	n := t.n
	s := e.getScratch(n*n + n*min(count, triangleWidth))
	full, copied := t.padded(s.wide[:n*n]), s.wide[n*n:]
	for lo := 0; lo < count; lo += triangleWidth {
		some := min(triangleWidth, count-lo)
		if left {
			c := b[lo:]
			for i := range n {
				copy(copied[i*some:], c[i*ldb:][:some])
			}
			e.gemm(full.left(0, 0), factor{copied, some, byFree}, n, some, n, 1, 0, c, ldb, whole)
		} else {
			c := b[lo*ldb:]
			for i := range some {
				copy(copied[i*n:], c[i*ldb:][:n])
			}
			e.gemm(factor{copied, n, bySum}, full.right(0, 0), some, n, n, 1, 0, c, ldb, whole)
		}
	}
	e.scratch.Put(s)
}

// padded is t with zeros on the other side of the diagonal, and what is on it.
func (t triangle) padded(data []float64) triangle {
	for i := range t.n {
		row, from := data[i*t.n:][:t.n], t.a[i*t.ld:]
		lo, hi := 0, i+1
		if t.low == t.trans { // A is upper triangular
			lo, hi = i, t.n
		}
		clear(row[:lo])
		copy(row[lo:hi], from[lo:hi])
		clear(row[hi:])
		if t.unit {
			row[i] = 1
		}
	}
	t.a, t.ld, t.unit = data, t.n, false
	return t
}

// columns solves op(A)·x = b for pieces of the w columns of b.
func (e *double) columns(t triangle, w int, b []float64, ldb int) {
	for lo := 0; lo < w; lo += triangleWidth {
		e.solveRows(t, min(triangleWidth, w-lo), b[lo:], ldb)
	}
}

// transposed solves for the rows of the m×n b, read as columns, with op(A)ᵀ.
func (e *double) transposed(t triangle, m int, b []float64, ldb int) {
	t.trans, t.low = !t.trans, !t.low
	for lo := 0; lo < m; lo += triangleWidth {
		e.someRows(t, min(triangleWidth, m-lo), b[lo*ldb:], ldb)
	}
}

func (e *double) someRows(t triangle, m int, b []float64, ldb int) {
	// A stride that is no power of two keeps the columns out of each other's way in the cache.
	const ld = triangleWidth + 8
	s := e.getScratch(t.n * ld)
	e.transpose(s.wide, ld, b, ldb, m, t.n)
	e.solveRows(t, m, s.wide, ld)
	e.transpose(b, ldb, s.wide, ld, t.n, m)
	e.scratch.Put(s)
}

// solveRows solves op(A)·x = b for the columns of b by substitution, row by row.
func (e *double) solveRows(t triangle, columns int, b []float64, ldb int) {
	var w [4]float64
	for k := range t.n {
		i, from := k, 0 // k rows are done, from this one on
		if !t.low {
			i = t.n - 1 - k
			from = i + 1
		}
		row, j := b[i*ldb:i*ldb+columns], from
		for ; j+4 <= from+k; j += 4 {
			for q := range w {
				w[q] = -t.at(i, j+q)
			}
			e.axpy4(w, b[j*ldb:], ldb, row)
		}
		for ; j < from+k; j++ {
			e.daxpy(-t.at(i, j), b[j*ldb:j*ldb+columns], row)
		}
		if !t.unit {
			e.scal(1/t.at(i, i), row)
		}
	}
}

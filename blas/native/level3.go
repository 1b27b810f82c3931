// Operations on matrices, with checks of their arguments.

package native

import (
	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

// Dgemm computes c = alpha·op(a)·op(b) + beta·c.
func (b *BLAS) Dgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	b.d.checkedGemm(tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
}

// Sgemm is Dgemm in single precision.
func (b *BLAS) Sgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float32, a []float32, lda int, bb []float32, ldb int, beta float32,
	c []float32, ldc int,
) {
	b.s.checkedGemm(tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
}

func (e *engine[T]) checkedGemm(
	tA, tB gblas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int,
) {
	checkTranspose(tA)
	checkTranspose(tB)
	checkSizes(m, n, k)
	rowsA, colsA, formA := m, k, bySum
	if tA != gblas.NoTrans {
		rowsA, colsA, formA = k, m, byFree
	}
	rowsB, colsB, formB := k, n, byFree
	if tB != gblas.NoTrans {
		rowsB, colsB, formB = n, k, bySum
	}
	checkStride("A", lda, colsA)
	checkStride("B", ldb, colsB)
	checkStride("C", ldc, n)
	if m == 0 || n == 0 {
		return
	}
	checkLen("a", len(a), rowsA, colsA, lda)
	checkLen("b", len(b), rowsB, colsB, ldb)
	checkLen("c", len(c), m, n, ldc)
	e.gemm(operand[T]{a, lda, formA}, operand[T]{b, ldb, formB}, m, n, k, alpha, beta, c, ldc, whole)
}

// Dsymm computes c = alpha·a·b + beta·c, or alpha·b·a + beta·c with a on the
// right, for the symmetric a of which one triangle is read.
func (b *BLAS) Dsymm(
	s gblas.Side, ul gblas.Uplo, m, n int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	order := checkSided(s, ul, m, n, a, lda, bb, ldb)
	checkStride("C", ldc, n)
	if m == 0 || n == 0 {
		return
	}
	checkLen("c", len(c), m, n, ldc)
	sym := factor{a, lda, symLower}
	if ul == gblas.Upper {
		sym.form = symUpper
	}
	if s == gblas.Left {
		b.d.gemm(sym, factor{bb, ldb, byFree}, m, n, order, alpha, beta, c, ldc, whole)
		return
	}
	b.d.gemm(factor{bb, ldb, bySum}, sym, m, n, order, alpha, beta, c, ldc, whole)
}

// Dsyrk computes one triangle of c = alpha·op(a)·op(a)ᵀ + beta·c.
func (b *BLAS) Dsyrk(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	fm, want := checkRank(ul, t, n, k, a, lda, c, ldc)
	op := factor{a, lda, fm}
	b.d.gemm(op, op, n, n, k, alpha, beta, c, ldc, want)
}

// Dsyr2k computes one triangle of c = alpha·(op(a)·op(b)ᵀ + op(b)·op(a)ᵀ) + beta·c.
func (b *BLAS) Dsyr2k(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	fm, want := checkRank(ul, t, n, k, a, lda, c, ldc)
	checkRank(ul, t, n, k, bb, ldb, c, ldc)
	for p := 0; n > 0 && (p == 0 || p < k); p += b.d.kc / 2 {
		b.d.addSyr2k(fm, want, n, p, min(p+b.d.kc/2, k), alpha, a, lda, bb, ldb, beta, c, ldc)
		beta = 1
	}
}

// addSyr2k is syr2k of steps p0 to p1 as one product of twice as many, which reads and writes c once: its factors
// [A B] and [B A] are parts of [A B A].
func (e *double) addSyr2k(
	fm form, want part, n, p0, p1 int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	k := p1 - p0
	s := e.getScratch(3 * n * k)
	rows, cols, step, ld := n, k, k, 3*k
	fromA, fromB := p0, p0
	if fm == byFree {
		rows, cols, step, ld = k, n, k*n, n
		fromA, fromB = p0*lda, p0*ldb
	}
	for i := range rows {
		line := s.wide[i*ld:]
		copy(line, a[fromA+i*lda:][:cols])
		copy(line[step:], b[fromB+i*ldb:][:cols])
		copy(line[2*step:], a[fromA+i*lda:][:cols])
	}
	e.gemm(factor{s.wide, ld, fm}, factor{s.wide[step:], ld, fm}, n, n, 2*k, alpha, beta, c, ldc, want)
	e.scratch.Put(s)
}

// checkRank checks the arguments of a rank-k update and returns how a is read and the triangle of c.
func checkRank(ul gblas.Uplo, t gblas.Transpose, n, k int, a []float64, lda int, c []float64, ldc int) (form, part) {
	checkUplo(ul)
	checkTranspose(t)
	checkSizes(n, k)
	rows, cols, fm := n, k, bySum
	if t != gblas.NoTrans {
		rows, cols, fm = k, n, byFree
	}
	checkStride("A", lda, cols)
	checkStride("C", ldc, n)
	if n > 0 {
		checkLen("a", len(a), rows, cols, lda)
		checkLen("c", len(c), n, n, ldc)
	}
	if ul == gblas.Upper {
		return fm, upper
	}
	return fm, lower
}

// Dtrsm overwrites b by alpha·op(a)⁻¹·b, or alpha·b·op(a)⁻¹ with a on the right,
// for the triangular a. It does not test for singularity.
func (b *BLAS) Dtrsm(
	s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	bb []float64, ldb int,
) {
	b.d.tri(s, ul, tA, d, m, n, alpha, a, lda, bb, ldb, b.d.solveLeft, b.d.solveRight)
}

// Dtrmm overwrites b by alpha·op(a)·b, or alpha·b·op(a) with a on the right, for
// the triangular a.
func (b *BLAS) Dtrmm(
	s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	bb []float64, ldb int,
) {
	b.d.tri(s, ul, tA, d, m, n, alpha, a, lda, bb, ldb, b.d.timesLeft, b.d.timesRight)
}

// tri checks the arguments of a triangular solve or product and runs the one for its side.
func (e *double) tri(
	s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int, left, right func(t triangle, w int, b []float64, ldb int),
) {
	checkTranspose(tA)
	checkDiag(d)
	order := checkSided(s, ul, m, n, a, lda, b, ldb)
	if m == 0 || n == 0 {
		return
	}
	switch alpha {
	case 0:
		scale(m, n, alpha, b, ldb, whole)
		return
	case 1:
	default:
		for i := range m {
			e.dscal(alpha, b[i*ldb:i*ldb+n])
		}
	}
	t := newTriangle(ul, tA, d, order, a, lda)
	if s == gblas.Left {
		e.apart(order, n, func(lo, hi int) { left(t, hi-lo, b[lo:], ldb) })
	} else {
		e.apart(order, m, func(lo, hi int) { right(t, hi-lo, b[lo*ldb:], ldb) })
	}
}

// apart calls f for ranges of the n columns, or rows, of b, in parallel where each is worth a goroutine. Each range
// packs the triangle, of the given order, for itself.
func (e *double) apart(order, n int, f func(lo, hi int)) {
	parts := min(par.Threads(), order*order/2*n/jobFlops, n/e.mr)
	if parts <= 1 {
		f(0, n)
		return
	}
	par.For(parts, func(i int) { f(n*i/parts, n*(i+1)/parts) })
}

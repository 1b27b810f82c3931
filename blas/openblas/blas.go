//go:build openblas

// The products of OpenBLAS.

package openblas

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// Implementation is OpenBLAS: the products and factorizations of package blas's
// Backend. The methods check shapes as gonum's do, panic when a dimension does
// not fit the library's 32-bit integers, and may be called from several
// goroutines at once.
type Implementation struct{ lib netlib.Implementation }

// Calls of fewer multiplications than these are not worth waking a thread.
const (
	level3Serial = 1 << 18
	level2Serial = 1 << 15
)

// run calls f with the library's threads set up for that many multiplications.
func run(multiplies, serial float64, f func()) {
	helpers := door.enter(multiplies > serial)
	defer door.exit(helpers)
	f()
}

// check panics when a size does not fit a 32-bit integer.
func check(sizes ...int) {
	for _, s := range sizes {
		if s > math.MaxInt32 {
			panic("openblas: size does not fit 32 bits")
		}
	}
}

// product is a·b·c in floating point, which cannot overflow.
func product(a, b, c int) float64 { return float64(a) * float64(b) * float64(c) }

// order is the order of the triangular or symmetric factor of an m×n block.
func order(s blas.Side, m, n int) int {
	if s == blas.Left {
		return m
	}
	return n
}

func (impl Implementation) Dgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	check(m, n, k, lda, ldb, ldc)
	run(product(m, n, k), level3Serial, func() {
		impl.lib.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	})
}

func (impl Implementation) Sgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int,
) {
	check(m, n, k, lda, ldb, ldc)
	run(product(m, n, k), level3Serial, func() {
		impl.lib.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	})
}

func (impl Implementation) Dsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	check(m, n, lda, ldb, ldc)
	run(product(m, n, order(s, m, n)), level3Serial, func() {
		impl.lib.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	})
}

func (impl Implementation) Dsyrk(
	ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	check(n, k, lda, ldc)
	run(product(n, n, k)/2, level3Serial, func() {
		impl.lib.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	})
}

func (impl Implementation) Dsyr2k(
	ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	check(n, k, lda, ldb, ldc)
	run(product(n, n, k), level3Serial, func() {
		impl.lib.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	})
}

func (impl Implementation) Dtrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	check(m, n, lda, ldb)
	run(product(m, n, order(s, m, n))/2, level3Serial, func() {
		impl.lib.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	})
}

func (impl Implementation) Dtrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	check(m, n, lda, ldb)
	run(product(m, n, order(s, m, n))/2, level3Serial, func() {
		impl.lib.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	})
}

func (impl Implementation) Dgemv(
	tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	check(m, n, lda, incX, incY)
	run(product(m, n, 1), level2Serial, func() {
		impl.lib.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	})
}

func (impl Implementation) Dsymv(
	ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	check(n, lda, incX, incY)
	run(product(n, n, 1), level2Serial, func() {
		impl.lib.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	})
}

func (impl Implementation) Dger(
	m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	check(m, n, incX, incY, lda)
	run(product(m, n, 1), level2Serial, func() {
		impl.lib.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	})
}

func (impl Implementation) Dsyr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	check(n, incX, incY, lda)
	run(product(n, n, 1), level2Serial, func() {
		impl.lib.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	})
}

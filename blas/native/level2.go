// This file holds the exported operations on a matrix and vectors.

package native

import gblas "gonum.org/v1/gonum/blas"

// Dgemv computes y = alpha·op(a)·x + beta·y.
func (b *BLAS) Dgemv(
	tA gblas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	b.d.gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dsymv computes y = alpha·a·x + beta·y for the symmetric a of which one triangle is read.
func (b *BLAS) Dsymv(
	ul gblas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	b.d.symv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dger computes a += alpha·x·yᵀ.
func (b *BLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	b.d.ger(m, n, alpha, x, incX, y, incY, a, lda)
}

// Dsyr computes one triangle of a += alpha·x·xᵀ.
func (b *BLAS) Dsyr(ul gblas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	b.d.syr(ul, n, alpha, x, incX, a, lda)
}

// Dsyr2 computes one triangle of a += alpha·(x·yᵀ + y·xᵀ).
func (b *BLAS) Dsyr2(
	ul gblas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	b.d.syr2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// This file ends factorizations early once their context has ended.

package lapack

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// Until is New, but for factorizations that end early once ctx does: the operations of
// the BLAS are then left out. What a factorization has written by then means
// nothing, so its caller looks at ctx before anything else.
func Until(ctx context.Context, bl BLAS) Implementation {
	return Implementation{ending{bl, func() bool { return ctx.Err() != nil }}}
}

// ending is a BLAS whose operations do nothing once over reports true.
type ending struct {
	BLAS
	over func() bool
}

func (e ending) Dgemm(
	tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	if !e.over() {
		e.BLAS.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (e ending) Dsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	if !e.over() {
		e.BLAS.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (e ending) Dsyrk(
	ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	if !e.over() {
		e.BLAS.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

func (e ending) Dsyr2k(
	ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	if !e.over() {
		e.BLAS.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

func (e ending) Dtrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if !e.over() {
		e.BLAS.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

func (e ending) Dtrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if !e.over() {
		e.BLAS.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

func (e ending) Dgemv(
	tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	if !e.over() {
		e.BLAS.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

func (e ending) Dsymv(
	ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	if !e.over() {
		e.BLAS.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

func (e ending) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if !e.over() {
		e.BLAS.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

func (e ending) Dsyr2(
	ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	if !e.over() {
		e.BLAS.Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
	}
}

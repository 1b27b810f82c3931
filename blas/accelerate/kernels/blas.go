package kernels

import (
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/iokl/iokl/blas/native"
)

// BLAS implements gonum's blas.Float64 and blas.Float32. In double precision,
// operations on small matrices are gonum's own, which start sooner; all others
// are those of package native. In single precision Sgemm is native's, the rest gonum's.
type BLAS struct{ *native.BLAS }

var (
	_ gblas.Float64 = BLAS{}
	_ gblas.Float32 = BLAS{}
)

// NewBLAS returns the BLAS of the fastest instruction set there is.
func NewBLAS() BLAS { return BLAS{native.New()} }

// Multiply-adds from which the native kernels take less time than gonum's, fitted
// on square matrices, and on triangles with ten columns.
const (
	productSteps   = 700
	rankSteps      = 3000
	triangleSteps  = 10000
	vectorSteps    = 5000
	stridedSteps   = 20000 // of vectors whose elements are not neighbours, which the kernels copy
	symmetricSteps = 600
	levelOneSteps  = 300
)

var small gonum.Implementation

// smallUpdate reports whether a matrix of that many elements is small for an
// operation with vectors of these increments. Negative ones never are: gonum's Dger
// reads the wrong elements then.
func smallUpdate(elements, incX, incY int) bool {
	if incX < 0 || incY < 0 {
		return false
	}
	return elements < vectorSteps || elements < stridedSteps && (incX != 1 || incY != 1)
}

// sideOf is the order of the matrix on side s of an m×n one.
func sideOf(s gblas.Side, m, n int) int {
	if s == gblas.Left {
		return m
	}
	return n
}

// at is gonum's BLAS for operations on small matrices, the native one for others.
func (b BLAS) at(isSmall bool) gblas.Float64 {
	if isSmall {
		return small
	}
	return b.BLAS
}

// Dgemm computes c = alpha·op(a)·op(bb) + beta·c.
func (b BLAS) Dgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	b.at(m*n*k < productSteps).Dgemm(tA, tB, m, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
}

// Dsymm computes c = alpha·a·bb + beta·c or alpha·bb·a + beta·c for a symmetric a.
func (b BLAS) Dsymm(
	s gblas.Side, ul gblas.Uplo, m, n int, alpha float64, a []float64, lda int, bb []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	b.at(m*n*sideOf(s, m, n) < productSteps).Dsymm(s, ul, m, n, alpha, a, lda, bb, ldb, beta, c, ldc)
}

// Dsyrk computes a triangle of c = alpha·op(a)·op(a)ᵀ + beta·c.
func (b BLAS) Dsyrk(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	b.at(n*n*k < rankSteps).Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyr2k computes a triangle of c = alpha·(op(a)·op(bb)ᵀ + op(bb)·op(a)ᵀ) + beta·c.
func (b BLAS) Dsyr2k(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, bb []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	b.at(n*n*k < rankSteps).Dsyr2k(ul, t, n, k, alpha, a, lda, bb, ldb, beta, c, ldc)
}

// Dtrmm overwrites bb by alpha·op(a)·bb or alpha·bb·op(a) for a triangular a.
func (b BLAS) Dtrmm(
	s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	bb []float64, ldb int,
) {
	b.at(m*n*sideOf(s, m, n) < triangleSteps).Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, bb, ldb)
}

// Dtrsm overwrites bb by alpha·op(a)⁻¹·bb or alpha·bb·op(a)⁻¹ for a triangular a.
func (b BLAS) Dtrsm(
	s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha float64, a []float64, lda int,
	bb []float64, ldb int,
) {
	b.at(m*n*sideOf(s, m, n) < triangleSteps).Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, bb, ldb)
}

// Dgemv computes y = alpha·op(a)·x + beta·y.
func (b BLAS) Dgemv(
	tA gblas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	b.at(smallUpdate(m*n, incX, incY)).Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dsymv computes y = alpha·a·x + beta·y for a symmetric a.
func (b BLAS) Dsymv(
	ul gblas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	b.at(n*n < symmetricSteps).Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
}

// Dger adds alpha·x·yᵀ to a.
func (b BLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	b.at(smallUpdate(m*n, incX, incY)).Dger(m, n, alpha, x, incX, y, incY, a, lda)
}

// Dsyr adds alpha·x·xᵀ to a triangle of a.
func (b BLAS) Dsyr(ul gblas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	b.at(smallUpdate(n*n, incX, incX)).Dsyr(ul, n, alpha, x, incX, a, lda)
}

// Dsyr2 adds alpha·(x·yᵀ + y·xᵀ) to a triangle of a.
func (b BLAS) Dsyr2(
	ul gblas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	b.at(smallUpdate(n*n, incX, incY)).Dsyr2(ul, n, alpha, x, incX, y, incY, a, lda)
}

// Dtrsv overwrites x by op(a)⁻¹·x for a triangular a.
func (b BLAS) Dtrsv(
	ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	b.at(n*n < vectorSteps).Dtrsv(ul, tA, d, n, a, lda, x, incX)
}

// Daxpy adds alpha·x to y.
func (b BLAS) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if n < levelOneSteps {
		small.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	b.BLAS.Daxpy(n, alpha, x, incX, y, incY)
}

// Ddot returns Σ x_i·y_i.
func (b BLAS) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if n < levelOneSteps {
		return small.Ddot(n, x, incX, y, incY)
	}
	return b.BLAS.Ddot(n, x, incX, y, incY)
}

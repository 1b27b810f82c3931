// Package lapack factorizes dense matrices on any BLAS that a backend brings: Cholesky, LU, QR, inverses, eigenvalues
// and eigenvectors of symmetric matrices by divide and conquer, singular values, Hessenberg and Schur forms. Nearly all
// operations are matrix products, which are what a BLAS does fastest.
//
// Matrices are row-major. Results do not depend on the number of threads when
// those of the BLAS do not.
//
// go test ./blas -bench LAPACK and mklbench run eigen measure what the block sizes, and the orders from which another
// method serves, give.
package lapack

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

// Level2 is the products of matrices with vectors, and the updates by vectors, that the factorizations need.
type Level2 interface {
	Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64,
		y []float64, incY int)
	Dsymv(ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
		incY int)
	Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int)
	Dsyr2(ul blas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int)
}

// Implementation is the LAPACK part of a backend on a BLAS. Its methods panic on
// shapes the caller could have checked and may be called from several goroutines
// at once when those of the BLAS may.
type Implementation struct{ bl levels }

type levels struct {
	Level2
	blas.Float64Level3
}

// New returns the factorizations on a BLAS, given by its two levels.
func New(level2 Level2, level3 blas.Float64Level3) Implementation {
	return Implementation{levels{level2, level3}}
}

// ErrNoConvergence says that an iteration for eigenvalues or singular values did
// not converge, as it cannot on NaN or infinite elements.
var ErrNoConvergence = errors.New("lapack: the eigenvalue iteration did not converge")

const eps = 0x1p-53 // largest relative rounding error

type matrix = blas64.General

var level1 gonum.Implementation

func dot(x, y []float64) float64         { return level1.Ddot(len(x), x, 1, y[:len(x)], 1) }
func axpy(alpha float64, x, y []float64) { level1.Daxpy(len(x), alpha, x, 1, y[:len(x)], 1) }
func scal(alpha float64, x []float64)    { level1.Dscal(len(x), alpha, x, 1) }
func row(a matrix, i int) []float64      { return a.Data[i*a.Stride : i*a.Stride+a.Cols] }
func zeros(r, c int) matrix {
	return matrix{Rows: r, Cols: c, Stride: max(c, 1), Data: make([]float64, r*c)}
}

// nrm2 is ‖x‖₂, by scaling only where the squares leave the range: that divides by every element.
func nrm2(x []float64) float64 {
	if s := dot(x, x); s > 0x1p-900 && s < 0x1p900 {
		return math.Sqrt(s)
	}
	return level1.Dnrm2(len(x), x, 1)
}

func vectorOf(a matrix, i, j, n int) []float64 { return a.Data[i*a.Stride+j : i*a.Stride+j+n] }

// view is the r×c part of a that starts at element (i,j).
func view(a matrix, i, j, r, c int) matrix {
	v := matrix{Rows: r, Cols: c, Stride: a.Stride}
	if r > 0 && c > 0 {
		v.Data = a.Data[i*a.Stride+j : (i+r-1)*a.Stride+j+c]
	}
	return v
}

// head is the r×c matrix of stride c at the front of the scratch s.
func head(s []float64, r, c int) matrix {
	return matrix{Rows: r, Cols: c, Stride: max(c, 1), Data: s[:r*c]}
}

func copyMatrix(dst, src matrix) {
	if src.Cols == 0 {
		return
	}
	for i := range src.Rows {
		copy(row(dst, i), row(src, i))
	}
}

func order(a matrix) int {
	if a.Rows != a.Cols {
		panic("lapack: matrix is not square")
	}
	return a.Rows
}

// gemm computes c = alpha·op(a)·op(b) + beta·c; empty matrices are allowed.
func (impl Implementation) gemm(tA, tB blas.Transpose, alpha float64, a, b matrix, beta float64, c matrix) {
	k := a.Cols
	if tA == blas.Trans {
		k = a.Rows
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	impl.bl.Dgemm(tA, tB, c.Rows, c.Cols, k, alpha, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}

// trsm overwrites b by alpha·op(a)⁻¹·b, or alpha·b·op(a)⁻¹ with the triangle a on the right.
func (impl Implementation) trsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, alpha float64, a, b matrix) {
	if b.Rows > 0 && b.Cols > 0 {
		impl.bl.Dtrsm(s, ul, t, d, b.Rows, b.Cols, alpha, a.Data, a.Stride, b.Data, b.Stride)
	}
}

const (
	nt = blas.NoTrans
	tr = blas.Trans
)

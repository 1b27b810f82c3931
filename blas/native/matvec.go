// Products of matrices with vectors, and rank-one and rank-two updates.

package native

import (
	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

const (
	vectorElements = 1 << 16 // a level-2 operation on fewer elements runs on its caller alone
	rowsEach       = 64      // rows of one job
	columnsEach    = 512     // columns of one job of the transposed product
)

// rowJobs calls f on ranges of the m rows of a matrix of n columns, in parallel when it is large.
func rowJobs(m, n int, f func(lo, hi int)) {
	if m*n < vectorElements {
		f(0, m)
		return
	}
	par.Ranges(m, rowsEach, f)
}

// gather returns the vector as a slice of stride one, x itself where it is one.
func gather(n int, x []float64, inc int) []float64 {
	if inc == 1 {
		return x[:n]
	}
	out := make([]float64, n)
	i := 0
	if inc < 0 {
		i = -(n - 1) * inc
	}
	for k := range out {
		out[k] = x[i]
		i += inc
	}
	return out
}

// scatter copies the result v back to the vector x of increment inc.
func scatter(v, x []float64, inc int) {
	if inc == 1 {
		return
	}
	i := 0
	if inc < 0 {
		i = -(len(v) - 1) * inc
	}
	for _, e := range v {
		x[i] = e
		i += inc
	}
}

// Dgemv computes y = alpha·op(a)·x + beta·y.
func (b *BLAS) Dgemv(
	tA gblas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	e := b.d
	checkTranspose(tA)
	checkSizes(m, n)
	checkStride("A", lda, n)
	lenX, lenY := n, m
	if tA != gblas.NoTrans {
		lenX, lenY = m, n
	}
	checkVector("x", len(x), lenX, incX)
	checkVector("y", len(y), lenY, incY)
	if m == 0 || n == 0 || e.ended() {
		return
	}
	checkLen("a", len(a), m, n, lda)
	xs, ys := gather(lenX, x, incX), gather(lenY, y, incY)
	e.scaleTo(beta, ys)
	switch {
	case alpha == 0:
	case tA == gblas.NoTrans && m*n < vectorElements: // no closure, hence no allocation
		e.timesVector(n, alpha, a, lda, xs, ys)
	case tA == gblas.NoTrans:
		rowJobs(m, n, func(lo, hi int) { e.timesVector(n, alpha, a[lo*lda:], lda, xs, ys[lo:hi]) })
	case m*n < vectorElements:
		e.vectorTimes(alpha, a, lda, xs, ys)
	default:
		par.Ranges(n, columnsEach, func(lo, hi int) { e.vectorTimes(alpha, a[lo:], lda, xs, ys[lo:hi]) })
	}
	scatter(ys, y, incY)
}

// timesVector computes y += alpha·a·x for the len(y)×n a.
func (e *double) timesVector(n int, alpha float64, a []float64, lda int, x, y []float64) {
	i := 0
	for ; i+4 <= len(y); i += 4 {
		for j := 0; j < n; j += vectorChunk {
			for q, v := range e.dot4(a[i*lda+j:], lda, x[j:min(j+vectorChunk, n)]) {
				y[i+q] += alpha * v
			}
		}
	}
	for ; i < len(y); i++ {
		y[i] += alpha * e.ddot(a[i*lda:i*lda+n], x[:n])
	}
}

// vectorTimes computes y += alpha·aᵀ·x for the len(x)×len(y) a.
func (e *double) vectorTimes(alpha float64, a []float64, lda int, x, y []float64) {
	n := len(y)
	i := 0
	for ; i+4 <= len(x); i += 4 {
		w := [4]float64{alpha * x[i], alpha * x[i+1], alpha * x[i+2], alpha * x[i+3]}
		for j := 0; j < n; j += vectorChunk {
			e.axpy4(w, a[i*lda+j:], lda, y[j:min(j+vectorChunk, n)])
		}
	}
	for ; i < len(x); i++ {
		e.daxpy(alpha*x[i], a[i*lda:i*lda+n], y)
	}
}

// Dger computes a += alpha·x·yᵀ.
func (b *BLAS) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	e := b.d
	checkSizes(m, n)
	checkStride("A", lda, n)
	checkVector("x", len(x), m, incX)
	checkVector("y", len(y), n, incY)
	if m == 0 || n == 0 {
		return
	}
	checkLen("a", len(a), m, n, lda)
	if alpha == 0 || e.ended() {
		return
	}
	xs, ys := gather(m, x, incX), gather(n, y, incY)
	if m*n < vectorElements { // no closure, hence no allocation
		e.douter(alpha, xs, ys, n, a, lda, 0)
		return
	}
	rowJobs(m, n, func(lo, hi int) { e.douter(alpha, xs[lo:hi], ys, n, a[lo*lda:], lda, 0) })
}

// Dsyr computes one triangle of a += alpha·x·xᵀ.
func (b *BLAS) Dsyr(ul gblas.Uplo, n int, alpha float64, x []float64, incX int, a []float64, lda int) {
	e := b.d
	checkSym(ul, n, a, lda)
	checkVector("x", len(x), n, incX)
	if n == 0 || alpha == 0 {
		return
	}
	xs := gather(n, x, incX)
	rowJobs(n, n, func(first, last int) { e.outerTriangle(ul, first, last, alpha, xs, xs, a, lda) })
}

// Dsyr2 computes one triangle of a += alpha·(x·yᵀ + y·xᵀ).
func (b *BLAS) Dsyr2(
	ul gblas.Uplo, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int,
) {
	e := b.d
	checkSym(ul, n, a, lda)
	checkVector("x", len(x), n, incX)
	checkVector("y", len(y), n, incY)
	if n == 0 || alpha == 0 || e.ended() {
		return
	}
	xs, ys := gather(n, x, incX), gather(n, y, incY)
	if n*n < vectorElements { // no closure, hence no allocation
		e.outerTwice(ul, 0, n, alpha, xs, ys, a, lda)
		return
	}
	rowJobs(n, n, func(first, last int) { e.outerTwice(ul, first, last, alpha, xs, ys, a, lda) })
}

// outerTwice adds alpha·(x·yᵀ + y·xᵀ) to the rows from first on, before last, of one triangle of a.
func (e *double) outerTwice(ul gblas.Uplo, first, last int, alpha float64, x, y, a []float64, lda int) {
	e.outerTriangle(ul, first, last, alpha, x, y, a, lda)
	e.outerTriangle(ul, first, last, alpha, y, x, a, lda)
}

// outerTriangle adds alpha·x·yᵀ to the rows from first on, before last, of one triangle of a.
func (e *double) outerTriangle(ul gblas.Uplo, first, last int, alpha float64, x, y, a []float64, lda int) {
	if ul == gblas.Lower {
		e.douter(alpha, x[first:last], y, first+1, a[first*lda:], lda, 1)
		return
	}
	e.douter(alpha, x[first:last], y[first:], len(y)-first, a[first*lda+first:], lda+1, -1)
}

func checkSym(ul gblas.Uplo, n int, a []float64, lda int) {
	checkUplo(ul)
	checkSizes(n)
	checkStride("A", lda, n)
	checkLen("a", len(a), n, n, lda)
}

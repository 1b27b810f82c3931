// Estimates of condition numbers.

package kernels

import (
	"math"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dgecon estimates the reciprocal condition number of a matrix from its factors by Dgetrf.
func (l LAPACK) Dgecon(
	norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int,
) float64 {
	if n >= l.from.condition && isOperatorNorm(norm) && holds(a, n, n, lda) && len(work) >= 4*n && len(iwork) >= n &&
		usable(anorm) {
		inverse, ok := l.inverseNorm(norm, n, work, iwork, func(t gblas.Transpose, x []float64) {
			if t == gblas.NoTrans {
				l.blas.Dtrsv(gblas.Lower, t, gblas.Unit, n, a, lda, x, 1)
				l.blas.Dtrsv(gblas.Upper, t, gblas.NonUnit, n, a, lda, x, 1)
			} else {
				l.blas.Dtrsv(gblas.Upper, t, gblas.NonUnit, n, a, lda, x, 1)
				l.blas.Dtrsv(gblas.Lower, t, gblas.Unit, n, a, lda, x, 1)
			}
		})
		if ok {
			return 1 / inverse / anorm
		}
	}
	return l.Implementation.Dgecon(norm, n, a, lda, anorm, work, iwork)
}

// Dpocon estimates the reciprocal condition number of a matrix from its factor by Dpotrf.
func (l LAPACK) Dpocon(ul gblas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64 {
	if n >= l.from.condition && isUplo(ul) && holds(a, n, n, lda) && len(work) >= 3*n && len(iwork) >= n &&
		usable(anorm) {
		first, second := gblas.NoTrans, gblas.Trans
		if ul == gblas.Upper {
			first, second = second, first
		}
		inverse, ok := l.inverseNorm(lapack.MaxColumnSum, n, work, iwork, func(_ gblas.Transpose, x []float64) {
			l.blas.Dtrsv(ul, first, gblas.NonUnit, n, a, lda, x, 1)
			l.blas.Dtrsv(ul, second, gblas.NonUnit, n, a, lda, x, 1)
		})
		if ok {
			return 1 / inverse / anorm
		}
	}
	return l.Implementation.Dpocon(ul, n, a, lda, anorm, work, iwork)
}

// Dtrcon estimates the reciprocal condition number of a triangular matrix.
func (l LAPACK) Dtrcon(
	norm lapack.MatrixNorm, ul gblas.Uplo, d gblas.Diag, n int, a []float64, lda int, work []float64, iwork []int,
) float64 {
	if n >= l.from.condition && isOperatorNorm(norm) && isUplo(ul) && isDiag(d) && holds(a, n, n, lda) &&
		len(work) >= 3*n && len(iwork) >= n {
		if anorm := l.Dlantr(norm, ul, d, n, n, a, lda, work); usable(anorm) {
			inverse, ok := l.inverseNorm(norm, n, work, iwork, func(t gblas.Transpose, x []float64) {
				l.blas.Dtrsv(ul, t, d, n, a, lda, x, 1)
			})
			if ok {
				return 1 / anorm / inverse
			}
		}
	}
	return l.Implementation.Dtrcon(norm, ul, d, n, a, lda, work, iwork)
}

func isOperatorNorm(n lapack.MatrixNorm) bool {
	return n == lapack.MaxColumnSum || n == lapack.MaxRowSum
}

// usable reports whether a norm is positive and finite.
func usable(norm float64) bool { return norm > 0 && norm <= math.MaxFloat64 }

// inverseNorm estimates the norm of a matrix A⁻¹ of order n, of which solve applies
// op(A⁻¹) to a vector, as Higham does (doi:10.1145/50063.214386). It reports false where
// the estimate overflows: gonum's routines scale the vector on the way.
func (l LAPACK) inverseNorm(
	norm lapack.MatrixNorm, n int, work []float64, iwork []int, solve func(gblas.Transpose, []float64),
) (float64, bool) {
	var (
		estimate float64
		kase     int
		save     [3]int
	)
	straight := 1 // the case in which Dlacn2 wants A⁻¹·x, not A⁻ᵀ·x
	if norm == lapack.MaxRowSum {
		straight = 2
	}
	x := work[:n]
	for {
		estimate, kase = l.Dlacn2(n, work[n:2*n], x, iwork, estimate, kase, &save)
		if kase == 0 {
			return estimate, usable(estimate)
		}
		t := gblas.Trans
		if kase == straight {
			t = gblas.NoTrans
		}
		solve(t, x)
	}
}

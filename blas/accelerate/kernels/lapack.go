package kernels

import (
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	own "github.com/iokl/iokl/internal/dense/lapack"
)

// LAPACK implements gonum's lapack.Float64. Its own methods take over from the
// embedded implementation for matrices of large enough order; they leave arguments
// that gonum refuses, and workspace queries, to it.
type LAPACK struct {
	gonum.Implementation
	blas gblas.Float64
	own  own.Implementation
	from crossovers
}

var _ lapack.Float64 = LAPACK{}

// NewLAPACK returns the LAPACK whose own methods compute on b; the others use what blas64 holds.
func NewLAPACK(b gblas.Float64) LAPACK { return newLAPACK(b, measured) }

func newLAPACK(b gblas.Float64, from crossovers) LAPACK {
	return LAPACK{blas: b, own: own.New(b, b), from: from}
}

// crossovers are the orders, of a rectangular matrix the smaller one, from which
// routines compute themselves.
type crossovers struct {
	cholesky, inverse, lu, qr, eigenvectors, eigenvalues, svd, condition int
}

// measured was fitted on two AVX-512 cores in turns with gonum's LAPACK on the same
// BLAS, at orders 4 to 1000: from these on, LAPACK's own methods take less time.
// Factorizations L·Q gain nothing and are gonum's. Singular values alone gain nothing
// either, but come from the same reduction as with vectors and agree with those.
var measured = crossovers{
	cholesky: 72, inverse: 64, lu: 110, qr: 110, eigenvectors: 48, eigenvalues: 400, svd: 200, condition: 1,
}

func general(a []float64, rows, cols, ld int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: ld, Data: a}
}

// holds reports whether a has the elements of a rows×cols matrix of stride ld.
func holds(a []float64, rows, cols, ld int) bool {
	return rows > 0 && cols > 0 && ld >= cols && len(a) >= (rows-1)*ld+cols
}

func isUplo(ul gblas.Uplo) bool { return ul == gblas.Upper || ul == gblas.Lower }

func isDiag(d gblas.Diag) bool { return d == gblas.Unit || d == gblas.NonUnit }

// enough reports whether lwork, not a query, is at least least and work has it.
func enough(work []float64, lwork, least int) bool {
	return lwork >= max(1, least) && len(work) >= lwork
}

// Dpotrf factorizes a positive definite a = Uᵀ·U or L·Lᵀ.
func (l LAPACK) Dpotrf(ul gblas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n < l.from.cholesky || !isUplo(ul) || !holds(a, n, n, lda) {
		return l.Implementation.Dpotrf(ul, n, a, lda)
	}
	return l.own.Cholesky(ul, general(a, n, n, lda))
}

// Dpotri inverts a matrix from its factor by Dpotrf.
func (l LAPACK) Dpotri(ul gblas.Uplo, n int, a []float64, lda int) (ok bool) {
	if n < l.from.inverse || !isUplo(ul) || !holds(a, n, n, lda) {
		return l.Implementation.Dpotri(ul, n, a, lda)
	}
	if !regular(n, a, lda) {
		return false
	}
	l.own.CholeskyInverse(ul, general(a, n, n, lda))
	return true
}

// Dtrtri inverts a triangular matrix.
func (l LAPACK) Dtrtri(ul gblas.Uplo, d gblas.Diag, n int, a []float64, lda int) (ok bool) {
	if n < l.from.inverse || !isUplo(ul) || !isDiag(d) || !holds(a, n, n, lda) {
		return l.Implementation.Dtrtri(ul, d, n, a, lda)
	}
	if d == gblas.NonUnit && !regular(n, a, lda) {
		return false
	}
	l.own.Trtri(ul, d, general(a, n, n, lda))
	return true
}

// regular reports whether a triangular matrix has no zero on its diagonal.
func regular(n int, a []float64, lda int) bool {
	for i := range n {
		if a[i*lda+i] == 0 {
			return false
		}
	}
	return true
}

// Dgetrf factorizes a = P·L·U.
func (l LAPACK) Dgetrf(m, n int, a []float64, lda int, ipiv []int) (ok bool) {
	if min(m, n) < l.from.lu || !holds(a, m, n, lda) || len(ipiv) != min(m, n) {
		return l.Implementation.Dgetrf(m, n, a, lda, ipiv)
	}
	return l.own.LU(general(a, m, n, lda), ipiv)
}

// Dgetri inverts a matrix from its factors by Dgetrf.
func (l LAPACK) Dgetri(n int, a []float64, lda int, ipiv []int, work []float64, lwork int) (ok bool) {
	if n < l.from.inverse || !holds(a, n, n, lda) || len(ipiv) != n || !enough(work, lwork, n) {
		return l.Implementation.Dgetri(n, a, lda, ipiv, work, lwork)
	}
	if ok = regular(n, a, lda); ok {
		l.own.Getri(general(a, n, n, lda), ipiv)
	}
	return ok
}

// Dgeqrf factorizes a = Q·R.
func (l LAPACK) Dgeqrf(m, n int, a []float64, lda int, tau, work []float64, lwork int) {
	if k := min(m, n); k < l.from.qr || !holds(a, m, n, lda) || len(tau) != k || !enough(work, lwork, n) {
		l.Implementation.Dgeqrf(m, n, a, lda, tau, work, lwork)
		return
	}
	l.own.Geqrf(general(a, m, n, lda), tau)
	l.Implementation.Dgeqrf(m, n, a, lda, tau, work, -1)
}

// Dorgqr forms columns of Q from Dgeqrf.
func (l LAPACK) Dorgqr(m, n, k int, a []float64, lda int, tau, work []float64, lwork int) {
	if k < l.from.qr || k > n || n > m || !holds(a, m, n, lda) || len(tau) != k || !enough(work, lwork, n) {
		l.Implementation.Dorgqr(m, n, k, a, lda, tau, work, lwork)
		return
	}
	l.own.Orgqr(general(a, m, n, lda), tau)
	l.Implementation.Dorgqr(m, n, k, a, lda, tau, work, -1)
}

// Dormqr multiplies c by Q from Dgeqrf.
func (l LAPACK) Dormqr(
	s gblas.Side, t gblas.Transpose, m, n, k int, a []float64, lda int, tau, c []float64, ldc int, work []float64,
	lwork int,
) {
	order, other := m, n
	if s == gblas.Right {
		order, other = n, m
	}
	if k < l.from.qr || s != gblas.Left && s != gblas.Right || t != gblas.NoTrans && t != gblas.Trans || k > order ||
		!holds(a, order, k, lda) || !holds(c, m, n, ldc) || len(tau) != k || !enough(work, lwork, other) {
		l.Implementation.Dormqr(s, t, m, n, k, a, lda, tau, c, ldc, work, lwork)
		return
	}
	l.own.Ormqr(s, t == gblas.Trans, general(a, order, k, lda), tau, general(c, m, n, ldc))
	l.Implementation.Dormqr(s, t, m, n, k, a, lda, tau, c, ldc, work, -1)
}

// Dsyev computes eigenvalues and, when asked for, eigenvectors of a symmetric matrix.
func (l LAPACK) Dsyev(
	job lapack.EVJob, ul gblas.Uplo, n int, a []float64, lda int, w, work []float64, lwork int,
) (ok bool) {
	from := l.from.eigenvectors
	if job == lapack.EVNone {
		from = l.from.eigenvalues
	}
	if n < from || job != lapack.EVNone && job != lapack.EVCompute || !isUplo(ul) || !holds(a, n, n, lda) ||
		len(w) < n || !enough(work, lwork, 3*n-1) {
		return l.Implementation.Dsyev(job, ul, n, a, lda, w, work, lwork)
	}
	var err error
	if m := general(a, n, n, lda); job == lapack.EVCompute {
		lowerTriangle(m, m, ul)
		err = l.own.Syevd(m, w[:n])
	} else { // a keeps its other triangle
		c := general(make([]float64, n*n), n, n, n)
		lowerTriangle(c, m, ul)
		err = l.own.Syevals(c, w[:n])
	}
	l.Implementation.Dsyev(job, ul, n, a, lda, w, work, -1)
	return err == nil
}

// lowerTriangle copies the triangle ul of a, transposed when upper, to the lower
// triangle of dst, which may be a.
func lowerTriangle(dst, a blas64.General, ul gblas.Uplo) {
	for i := range a.Rows {
		to := dst.Data[i*dst.Stride : i*dst.Stride+i+1]
		if ul == gblas.Lower {
			copy(to, a.Data[i*a.Stride:])
			continue
		}
		for j := range to {
			to[j] = a.Data[j*a.Stride+i]
		}
	}
}

// Dgesvd computes singular values and, when asked for, singular vectors.
func (l LAPACK) Dgesvd(
	jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int, vt []float64, ldvt int,
	work []float64, lwork int,
) (ok bool) {
	k := min(m, n)
	U, okU := vectors(jobU, m, m, k, u, ldu)
	VT, okVT := vectors(jobVT, n, k, n, vt, ldvt)
	if k < l.from.svd || !okU || !okVT || !holds(a, m, n, lda) || len(s) < k ||
		!enough(work, lwork, max(3*k+max(m, n), 5*k)) {
		return l.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork)
	}
	err := l.own.SVD(general(a, m, n, lda), s[:k], U, VT)
	l.Implementation.Dgesvd(jobU, jobVT, m, n, a, lda, s, u, ldu, vt, ldvt, work, -1)
	return err == nil
}

// vectors is where the singular vectors go that job asks for: a square matrix of
// order all, or a rows×cols one.
func vectors(job lapack.SVDJob, all, rows, cols int, v []float64, ld int) (to blas64.General, ok bool) {
	switch job {
	case lapack.SVDNone:
		return blas64.General{}, ld >= 1
	case lapack.SVDAll:
		rows, cols = all, all
	case lapack.SVDStore:
	default:
		return blas64.General{}, false
	}
	return general(v, rows, cols, ld), holds(v, rows, cols, ld)
}

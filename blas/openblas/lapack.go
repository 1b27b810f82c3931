//go:build openblas

// The factorizations of OpenBLAS, through LAPACKE.

package openblas

/*
#cgo noescape LAPACKE_dgetrf
#cgo nocallback LAPACKE_dgetrf
int LAPACKE_dgetrf(int layout, int m, int n, double *a, int lda, int *ipiv);
*/
import "C"

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/netlib/lapack/lapacke"

	"github.com/iokl/iokl/internal/dense/lapack"
)

var errNoConvergence = errors.New("openblas: the eigenvalue or singular value iteration did not converge")

// workspace asks LAPACK for its optimal workspace: ask gets one float and one
// int to write the lengths to.
func workspace(ask func(work []float64, iwork []int32)) ([]float64, []int32) {
	var w [1]float64
	var iw [1]int32
	ask(w[:], iw[:])
	if w[0] > math.MaxInt32 {
		panic("openblas: size does not fit 32 bits")
	}
	return make([]float64, max(int(w[0]), 1)), make([]int32, max(iw[0], 1))
}

// factor runs a factorization of O(n³) operations.
func factor(n int, f func()) { run(product(n, n, n)/3, level3Serial, f) }

func square(a blas64.General) int {
	if a.Rows != a.Cols {
		panic("openblas: matrix is not square")
	}
	check(a.Rows, a.Stride)
	return a.Rows
}

// Potrf implements blas.Backend by the module's own recursion on OpenBLAS's
// products: LAPACKE's copies for column-major storage cost it a third to a half.
func (impl Implementation) Potrf(a blas64.General) bool {
	square(a)
	return lapack.New(impl, impl).Potrf(a)
}

// Potri implements blas.Backend as Potrf does.
func (impl Implementation) Potri(a blas64.General) {
	square(a)
	lapack.New(impl, impl).Potri(a)
}

// LU overwrites the square a by the factors of aᵀ = P·L·U: OpenBLAS works on columns, and
// LAPACKE's copies for rows would cost a third more. It reports whether U has no zero on its diagonal.
func (Implementation) LU(a blas64.General, pivots []int) bool {
	const columns = 102
	n := square(a)
	if n == 0 {
		return true
	}
	at := make([]C.int, n)
	info := C.int(0)
	factor(n, func() {
		info = C.LAPACKE_dgetrf(columns, C.int(n), C.int(n), (*C.double)(&a.Data[0]), C.int(a.Stride), &at[0])
	})
	for i, p := range at {
		pivots[i] = int(p) - 1
	}
	return info == 0
}

// Syevd implements blas.Backend by divide and conquer.
func (Implementation) Syevd(a blas64.General, w []float64) error { return syevd('V', a, w) }

// Syevals implements blas.Backend.
func (Implementation) Syevals(a blas64.General, w []float64) error { return syevd('N', a, w) }

func syevd(job byte, a blas64.General, w []float64) error {
	n := square(a)
	if n == 0 {
		return nil
	}
	work, iwork := workspace(func(work []float64, iwork []int32) {
		lapacke.Dsyevd(job, 'L', n, a.Data, a.Stride, w, work, -1, iwork, -1)
	})
	ok := false
	factor(n, func() { ok = lapacke.Dsyevd(job, 'L', n, a.Data, a.Stride, w, work, len(work), iwork, len(iwork)) })
	if !ok {
		return fmt.Errorf("%w: symmetric matrix of order %d", errNoConvergence, n)
	}
	return nil
}

// Sytrd implements blas.Backend with LAPACK's own layout of the lower form.
func (Implementation) Sytrd(a blas64.General, d, e, tau []float64) {
	n := square(a)
	if n == 0 {
		return
	}
	work, _ := workspace(func(work []float64, _ []int32) {
		lapacke.Dsytrd('L', n, a.Data, a.Stride, d, e, tau, work, -1)
	})
	factor(n, func() { lapacke.Dsytrd('L', n, a.Data, a.Stride, d, e, tau, work, len(work)) })
}

// Ormtr implements blas.Backend.
func (Implementation) Ormtr(trans bool, a blas64.General, tau []float64, c blas64.General) {
	n := square(a)
	check(c.Cols, c.Stride)
	if n < 2 || c.Cols == 0 {
		return
	}
	t := byte('N')
	if trans {
		t = 'T'
	}
	work, _ := workspace(func(work []float64, _ []int32) {
		lapacke.Dormtr('L', 'L', t, n, c.Cols, a.Data, a.Stride, tau, c.Data, c.Stride, work, -1)
	})
	run(product(n, n, c.Cols), level3Serial, func() {
		lapacke.Dormtr('L', 'L', t, n, c.Cols, a.Data, a.Stride, tau, c.Data, c.Stride, work, len(work))
	})
}

// QR implements blas.Backend.
func (Implementation) QR(a, r blas64.General) {
	m, n := a.Rows, a.Cols
	if m < n {
		panic("openblas: QR of a matrix with more columns than rows")
	}
	check(m, a.Stride)
	if n == 0 {
		return
	}
	tau := make([]float64, n)
	work, _ := workspace(func(work []float64, _ []int32) { lapacke.Dgeqrf(m, n, a.Data, a.Stride, tau, work, -1) })
	run(product(m, n, n), level3Serial, func() { lapacke.Dgeqrf(m, n, a.Data, a.Stride, tau, work, len(work)) })
	if r.Data != nil {
		for i := range n {
			row := r.Data[i*r.Stride : i*r.Stride+n]
			clear(row[:i])
			copy(row[i:], a.Data[i*a.Stride+i:i*a.Stride+n])
		}
	}
	work, _ = workspace(func(work []float64, _ []int32) { lapacke.Dorgqr(m, n, n, a.Data, a.Stride, tau, work, -1) })
	run(product(m, n, n), level3Serial, func() { lapacke.Dorgqr(m, n, n, a.Data, a.Stride, tau, work, len(work)) })
}

// SVD implements blas.Backend by divide and conquer.
func (Implementation) SVD(a blas64.General, s []float64, u, vt blas64.General) error {
	m, n := a.Rows, a.Cols
	check(m, n, a.Stride, u.Stride, vt.Stride)
	if m == 0 || n == 0 {
		return nil
	}
	iwork := make([]int32, 8*min(m, n))
	call := func(work []float64, lwork int) bool {
		return lapacke.Dgesdd('S', m, n, a.Data, a.Stride, s, u.Data, u.Stride, vt.Data, vt.Stride, work, lwork, iwork)
	}
	work, _ := workspace(func(work []float64, _ []int32) { call(work, -1) })
	ok := false
	run(product(m, n, min(m, n)), level3Serial, func() { ok = call(work, len(work)) })
	if !ok {
		return fmt.Errorf("%w: singular values of a %d×%d matrix", errNoConvergence, m, n)
	}
	return nil
}

// hessenberg overwrites a by the upper Hessenberg H of a = q·H·qᵀ.
func (Implementation) hessenberg(a, q blas64.General) {
	n := square(a)
	if n == 0 {
		return
	}
	if n == 1 {
		q.Data[0] = 1
		return
	}
	tau := make([]float64, n-1)
	work, _ := workspace(func(work []float64, _ []int32) { lapacke.Dgehrd(n, 1, n, a.Data, a.Stride, tau, work, -1) })
	factor(n, func() { lapacke.Dgehrd(n, 1, n, a.Data, a.Stride, tau, work, len(work)) })
	for i := range n {
		row := a.Data[i*a.Stride : i*a.Stride+n]
		copy(q.Data[i*q.Stride:i*q.Stride+n], row)
		clear(row[:max(i-1, 0)])
	}
	work, _ = workspace(func(work []float64, _ []int32) { lapacke.Dorghr(n, 1, n, q.Data, q.Stride, tau, work, -1) })
	factor(n, func() { lapacke.Dorghr(n, 1, n, q.Data, q.Stride, tau, work, len(work)) })
}

// Schur implements blas.Backend.
func (impl Implementation) Schur(a, q blas64.General) error {
	n := square(a)
	if n == 0 {
		return nil
	}
	impl.hessenberg(a, q)
	wr, wi := make([]float64, n), make([]float64, n)
	call := func(work []float64, lwork int) int {
		return lapacke.Dhseqr('S', 'V', n, 1, n, a.Data, a.Stride, wr, wi, q.Data, q.Stride, work, lwork)
	}
	work, _ := workspace(func(work []float64, _ []int32) { call(work, -1) })
	info := 0
	factor(n, func() { info = call(work, len(work)) })
	if info != 0 {
		return fmt.Errorf("%w: Schur form of order %d", errNoConvergence, n)
	}
	return nil
}

package blas

import (
	"errors"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

var errNoConvergence = errors.New("blas: the eigenvalue or singular value iteration did not converge")

// goLAPACK is gonum's LAPACK behind this package's contract. Its level 3 is
// whatever gonum's global BLAS is, which this package never changes.
type goLAPACK struct{ impl gonum.Implementation }

func (g goLAPACK) Potrf(a General) bool {
	return g.impl.Dpotrf(gblas.Lower, a.Rows, a.Data, a.Stride)
}

func (g goLAPACK) Potri(a General) {
	g.impl.Dpotri(gblas.Lower, a.Rows, a.Data, a.Stride)
}

func (g goLAPACK) Syevd(a General, w []float64) error {
	n := a.Rows
	if n == 0 {
		return nil
	}
	work := query(func(work []float64) {
		g.impl.Dsyev(lapack.EVCompute, gblas.Lower, n, a.Data, a.Stride, w, work, -1)
	})
	if !g.impl.Dsyev(lapack.EVCompute, gblas.Lower, n, a.Data, a.Stride, w, work, len(work)) {
		return errNoConvergence
	}
	return nil
}

// Syevals uses Dsteqr, since gonum's Dsyev without vectors ends in Dsterf, which
// panics on a block that it has to scale.
func (g goLAPACK) Syevals(a General, w []float64) error {
	n := a.Rows
	if n == 0 {
		return nil
	}
	e, tau := make([]float64, n), make([]float64, n)
	g.Sytrd(a, w, e[:n-1], tau[:n-1])
	if !g.impl.Dsteqr(lapack.EVCompNone, n, w, e, nil, 1, nil) {
		return errNoConvergence
	}
	return nil
}

func (g goLAPACK) Sytrd(a General, d, e, tau []float64) {
	work := query(func(work []float64) {
		g.impl.Dsytrd(gblas.Upper, a.Rows, a.Data, a.Stride, d, e, tau, work, -1)
	})
	MirrorLower(a) // Ormtr is for the upper form: gonum has no Dormql for the lower one
	g.impl.Dsytrd(gblas.Upper, a.Rows, a.Data, a.Stride, d, e, tau, work, len(work))
}

func (g goLAPACK) Ormtr(trans bool, a General, tau []float64, c General) {
	// Q = H(n-2)…H(0) of the upper form: H(i) has v(i+1:n) = 0, v(i) = 1 and
	// v(0:i) stored in column i+1, above the diagonal.
	n := a.Rows
	v := make([]float64, n)
	work := make([]float64, c.Cols)
	apply := func(i int) {
		for r := range i {
			v[r] = a.Data[r*a.Stride+i+1]
		}
		v[i] = 1
		g.impl.Dlarf(gblas.Left, i+1, c.Cols, v[:i+1], 1, tau[i], c.Data, c.Stride, work)
	}
	if trans {
		for i := n - 2; i >= 0; i-- {
			apply(i)
		}
		return
	}
	for i := range n - 1 {
		apply(i)
	}
}

func (g goLAPACK) QR(a, r General) {
	m, n := a.Rows, a.Cols
	if m < n {
		panic("blas: QR of a matrix with more columns than rows")
	}
	tau := make([]float64, n)
	work := query(func(work []float64) { g.impl.Dgeqrf(m, n, a.Data, a.Stride, tau, work, -1) })
	g.impl.Dgeqrf(m, n, a.Data, a.Stride, tau, work, len(work))
	if r.Data != nil {
		for i := range n {
			row := Row(r, i)
			clear(row[:i])
			copy(row[i:], a.Data[i*a.Stride+i:i*a.Stride+n])
		}
	}
	work = query(func(work []float64) { g.impl.Dorgqr(m, n, n, a.Data, a.Stride, tau, work, -1) })
	g.impl.Dorgqr(m, n, n, a.Data, a.Stride, tau, work, len(work))
}

func (g goLAPACK) SVD(a General, s []float64, u, vt General) error {
	call := func(work []float64, lwork int) bool {
		return g.impl.Dgesvd(lapack.SVDStore, lapack.SVDStore, a.Rows, a.Cols, a.Data, a.Stride, s, u.Data, u.Stride,
			vt.Data, vt.Stride, work, lwork)
	}
	work := query(func(work []float64) { call(work, -1) })
	if !call(work, len(work)) {
		return errNoConvergence
	}
	return nil
}

func (g goLAPACK) Schur(a, q General) error {
	n := a.Rows
	if n == 0 {
		return nil
	}
	tau := make([]float64, max(n-1, 1)) // of the upper Hessenberg H of a = q·H·qᵀ
	work := query(func(work []float64) { g.impl.Dgehrd(n, 0, n-1, a.Data, a.Stride, tau, work, -1) })
	g.impl.Dgehrd(n, 0, n-1, a.Data, a.Stride, tau[:n-1], work, len(work))
	Copy(q, a)
	work = query(func(work []float64) { g.impl.Dorghr(n, 0, n-1, q.Data, q.Stride, tau[:n-1], work, -1) })
	g.impl.Dorghr(n, 0, n-1, q.Data, q.Stride, tau[:n-1], work, len(work))
	for i := 2; i < n; i++ {
		clear(a.Data[i*a.Stride : i*a.Stride+i-1])
	}
	wr, wi := make([]float64, n), make([]float64, n)
	call := func(work []float64, lwork int) int {
		return g.impl.Dhseqr(lapack.EigenvaluesAndSchur, lapack.SchurOrig, n, 0, n-1, a.Data, a.Stride, wr, wi, q.Data,
			q.Stride, work, lwork)
	}
	work = query(func(work []float64) { call(work, -1) })
	if call(work, len(work)) != 0 {
		return errNoConvergence
	}
	return nil
}

// query runs a LAPACK workspace query and returns a workspace of the size it asks for.
func query(ask func(work []float64)) []float64 {
	var w [1]float64
	ask(w[:])
	return make([]float64, max(int(w[0]), 1))
}

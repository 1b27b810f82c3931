// This file computes eigenvalues and eigenvectors of symmetric matrices.

package lapack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/par"
)

// Syevd overwrites the symmetric a, lower triangle read, by orthonormal
// eigenvectors, one per column, and w by the eigenvalues in ascending order:
// reduction to tridiagonal form, divide and conquer, transformation back.
// Scratch: 3n² floats, kept between calls up to order keptOrder. Matrices of small order
// are left to gonum's QR iteration, which takes half of the time at order 8.
func (impl Implementation) Syevd(a matrix, w []float64) error {
	n := order(a)
	if n == 0 {
		return nil
	}
	scale := normalize(a)
	if n <= qrIteration {
		return syev(a, w, scale)
	}
	s := newEigenScratch(n)
	defer s.release()
	mirror(a)
	impl.reduce(a, w, s.e, s.tau, s.work)
	c := cuppenOn(impl, s.order[:n], s.work)
	if err := c.tridiagonalEigen(w, s.e, s.Z); err != nil {
		return err
	}
	W, work := s.work[:applyBlock(n)*n], s.work[applyBlock(n)*n:]
	impl.eachBlock(a, s.tau, true, work, func(h block, first int) {
		impl.applyRight(h, true, view(s.Z, 0, first, n, n-first), W)
	})
	for j, r := range c.order {
		c.z[j] = w[r] * scale
	}
	copy(w, c.z)
	columnsFromRows(a, s.Z, c.order)
	return nil
}

// eigenScratch is the memory of Syevd for a matrix of order n. What the reductions need and what the
// tridiagonal problem needs is the same memory, work.
type eigenScratch struct {
	e, tau []float64 // n−1 floats each
	Z      matrix    // n×n, zero
	work   []float64
	order  []int

	floats []float64 // all of them
}

// eigenScratches keeps the scratch of matrices up to keptOrder between calls.
var eigenScratches par.Free[eigenScratch]

const keptOrder = 256

func newEigenScratch(n int) *eigenScratch {
	s := new(eigenScratch)
	if n <= keptOrder {
		s = eigenScratches.Take()
	}
	work := max(cuppenWork(n), reduceWork(n), blockWork(n)+applyBlock(n)*n)
	if size := 2*(n-1) + n*n + work; cap(s.floats) < size {
		s.floats, s.order = make([]float64, size), make([]int, n)
	}
	f := s.floats
	s.e, s.tau, f = f[:n-1], f[n-1:2*n-2], f[2*n-2:]
	s.Z, s.work = head(f, n, n), f[n*n:]
	clear(s.Z.Data)
	return s
}

func (s *eigenScratch) release() {
	if s.Z.Rows <= keptOrder {
		eigenScratches.Put(s)
	}
}

// qrIteration is the order up to which Syevd is gonum's Dsyev.
const qrIteration = 24

// syev is Syevd by gonum's Dsyev; scale undoes that of a.
func syev(a matrix, w []float64, scale float64) error {
	n := a.Rows
	for i := range n {
		if !finite(row(a, i)[:i+1]) {
			return fmt.Errorf("%w: matrix of order %d has elements that are not finite", ErrNoConvergence, n)
		}
	}
	work := make([]float64, 3*n)
	if !(gonum.Implementation{}).Dsyev(lapack.EVCompute, blas.Lower, n, a.Data, a.Stride, w, work, len(work)) {
		return fmt.Errorf("%w: matrix of order %d", ErrNoConvergence, n)
	}
	scal(scale, w)
	return nil
}

// Syevals is Syevd without the vectors; a is destroyed.
func (impl Implementation) Syevals(a matrix, w []float64) error {
	n := order(a)
	if n == 0 {
		return nil
	}
	scale := normalize(a)
	e, tau := make([]float64, n), make([]float64, n)
	mirror(a)
	if n >= twoStageValues {
		impl.twoStage(a, w, e[:n-1], tau[:n-1])
	} else {
		impl.reduce(a, w, e[:n-1], tau[:n-1], make([]float64, reduceWork(n)))
	}
	if !finite(w, e) {
		return fmt.Errorf("%w: matrix of order %d has elements that are not finite", ErrNoConvergence, n)
	}
	if !(gonum.Implementation{}).Dsteqr(lapack.EVCompNone, n, w, e, nil, 1, nil) {
		return fmt.Errorf("%w: matrix of order %d", ErrNoConvergence, n)
	}
	scal(scale, w)
	return nil
}

// normalize multiplies the lower triangle of a by a power of two when its
// largest element is near the ends of the floating-point range, and returns the
// factor that undoes it.
func normalize(a matrix) float64 {
	var sum, top float64
	for i := range a.Rows {
		r := row(a, i)[:i+1]
		sum += dot(r, r)
	}
	if sum > 1e-240 && sum < 1e240 {
		return 1
	}
	for i := range a.Rows {
		for _, v := range row(a, i)[:i+1] {
			top = max(top, math.Abs(v))
		}
	}
	if !(top > 0) || math.IsInf(top, 0) || top > 1e-120 && top < 1e120 {
		return 1
	}
	_, exp := math.Frexp(top)
	for i := range a.Rows {
		r := row(a, i)[:i+1]
		for j := range r {
			r[j] = math.Ldexp(r[j], -exp)
		}
	}
	return math.Ldexp(1, exp)
}

func finite(xs ...[]float64) bool {
	for _, x := range xs {
		for _, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// columnsFromRows computes a[:,j] = Z[rows[j],:].
func columnsFromRows(a, Z matrix, rows []int) {
	const tile = 16
	par.Ranges(a.Rows, rowsEach(a.Rows), func(lo, hi int) {
		for j0 := 0; j0 < len(rows); j0 += tile {
			cols := rows[j0:min(j0+tile, len(rows))]
			for i := lo; i < hi; i++ {
				out := row(a, i)[j0:]
				for j, r := range cols {
					out[j] = Z.Data[r*Z.Stride+i]
				}
			}
		}
	})
}

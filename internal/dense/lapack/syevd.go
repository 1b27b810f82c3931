// Eigenvalues and eigenvectors of symmetric matrices, by reduction to tridiagonal form.

package lapack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/base/par"
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
	if n <= qrIteration {
		return syev(a, w)
	}
	mirror(a)
	exp := normalize(a)
	s := newEigenScratch(n)
	defer s.release()
	impl.reduce(a, w, s.e, s.tau, s.work)
	c := cuppenOn(impl, s.order[:n], s.work)
	if err := c.tridiagonalEigen(w, s.e, s.Z); err != nil {
		return err
	}
	W, work := s.work[:applyBlock(n)*n], s.work[applyBlock(n)*n:]
	impl.eachRowBlock(a, s.tau, 1, applyBlock(n), true, work, func(h block, first int) {
		impl.applyRight(h, true, view(s.Z, 0, first, n, n-first), W)
	})
	for j, r := range c.order {
		c.z[j] = w[r]
	}
	scaleBy(exp, c.z)
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

// syev is Syevd by gonum's Dsyev, which scales too.
func syev(a matrix, w []float64) error {
	n := a.Rows
	for i := range n {
		if !finite(row(a, i)[:i+1]) {
			return notFinite(n)
		}
	}
	work := make([]float64, 3*n)
	if !(gonum.Implementation{}).Dsyev(lapack.EVCompute, blas.Lower, n, a.Data, a.Stride, w, work, len(work)) {
		return fmt.Errorf("%w: matrix of order %d", ErrNoConvergence, n)
	}
	return nil
}

// Syevals is Syevd without the vectors; a is destroyed.
func (impl Implementation) Syevals(a matrix, w []float64) error {
	n := order(a)
	if n == 0 {
		return nil
	}
	mirror(a)
	exp := normalize(a)
	e, tau := make([]float64, n), make([]float64, n)
	if n >= TwoStageFrom {
		impl.twoStage(a, w, e[:n-1], tau[:n-1])
	} else {
		impl.reduce(a, w, e[:n-1], tau[:n-1], make([]float64, reduceWork(n)))
	}
	if !finite(w, e) {
		return notFinite(n)
	}
	if !(gonum.Implementation{}).Dsteqr(lapack.EVCompNone, n, w, e, nil, 1, nil) {
		return fmt.Errorf("%w: matrix of order %d", ErrNoConvergence, n)
	}
	scaleBy(exp, w)
	return nil
}

// normalize multiplies a by 2⁻ᵉ so that its largest element is of order one, and returns e.
func normalize(a matrix) int {
	top := 0.0
	for i := range a.Rows {
		for _, v := range row(a, i) {
			top = max(top, math.Abs(v))
		}
	}
	_, exp := math.Frexp(top)
	if -16 < exp && exp < 16 {
		return 0
	}
	for i := range a.Rows {
		scaleBy(-exp, row(a, i))
	}
	return exp
}

func notFinite(n int) error {
	return fmt.Errorf("%w: matrix of order %d has elements that are not finite", ErrNoConvergence, n)
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

// tridiagonalBlock is the number of reflections between two updates of the trailing matrix. The products of a column
// by the block's vectors grow with it, the passes over the matrix shrink. Of 8, 16, 24 and 32 the median of four rounds
// is least, or level with that of 8, on Zen 4 at orders 300, 600, 1000 and 1500, with AVX-512 and AVX2.
const tridiagonalBlock = 16

// applyBlock is the number of reflections applied at a time to matrices of order n. Blocks of
// few take fewer operations; blocks of many pass over a large matrix less often.
func applyBlock(n int) int {
	if n < 1000 {
		return 24
	}
	return 96
}

// reduce reduces the symmetric a, upper triangle read, to the tridiagonal
// T = Qᵀ·a·Q in one stage: half its 4/3·n³ operations are in symv, which
// reads the trailing matrix once for every column, half in syr2k. Row i of a then
// holds, right of its diagonal, the vector of the reflection H_i, of which
// Q = H_0·H_1⋯ is the product. work is scratch of reduceWork(n) floats.
func (impl Implementation) reduce(a matrix, d, e, tau, work []float64) {
	n := a.Rows
	P, coef := head(work, 2*tridiagonalBlock, n), work[2*tridiagonalBlock*n:]
	for i0 := 0; i0 < n; i0 += tridiagonalBlock {
		b := min(tridiagonalBlock, n-i0)
		for j := range b {
			impl.reduceColumn(a, i0, j, P, d, e, tau, coef)
		}
		i, m := i0+b, n-i0-b
		if m > 0 {
			impl.bl.Dsyr2k(blas.Upper, tr, m, b, -1, P.Data[i:], 2*n, P.Data[n+i:], 2*n, 1, a.Data[i*a.Stride+i:],
				a.Stride)
		}
	}
}

func reduceWork(n int) int { return 2 * tridiagonalBlock * (n + 1) }

// reduceColumn makes reflection j of the panel that starts at i0: the trailing
// matrix is a − VᵀW − WᵀV, where rows 2k and 2k+1 of P, k < j, are rows k of V and W.
func (impl Implementation) reduceColumn(a matrix, i0, j int, P matrix, d, e, tau, coef []float64) {
	n, i := a.Rows, i0+j
	x, c := row(a, i)[i:], coef[:2*j]
	for k := range c {
		c[k] = P.Data[(k^1)*n+i]
	}
	if j > 0 {
		impl.bl.Dgemv(tr, 2*j, n-i, -1, P.Data[i:], n, c, 1, 1, x, 1)
	}
	d[i] = x[0]
	v, w := row(P, 2*j), row(P, 2*j+1)
	clear(v[:i+1])
	clear(w[:i+1])
	if i == n-1 {
		return
	}
	x, v, w = x[1:], v[i+1:], w[i+1:]
	e[i], tau[i] = reflector(x[0], x[1:])
	x[0] = 1
	copy(v, x)
	m := n - i - 1
	impl.bl.Dsymv(blas.Upper, m, 1, a.Data[(i+1)*a.Stride+i+1:], a.Stride, v, 1, 0, w, 1)
	if j > 0 {
		impl.bl.Dgemv(nt, 2*j, m, 1, P.Data[i+1:], n, v, 1, 0, c, 1)
		for k := 0; k < len(c); k += 2 {
			c[k], c[k+1] = c[k+1], c[k]
		}
		impl.bl.Dgemv(tr, 2*j, m, -1, P.Data[i+1:], n, c, 1, 1, w, 1)
	}
	scal(tau[i], w)
	axpy(-0.5*tau[i]*dot(w, v), v, w)
}

// eachRowBlock calls f on the compact blocks of at most size reflections whose vectors stand in
// the rows of a from the column shift right of the diagonal on, and the first row each acts on, from the last to
// the first when backward. The leading ones need not be stored. work is scratch of size·(n+2·size) floats.
func (impl Implementation) eachRowBlock(
	a matrix, tau []float64, shift, size int, backward bool, work []float64, f func(h block, first int),
) {
	impl.eachBlock(a.Rows, tau, shift, size, backward, work, func(V matrix, i int) {
		unitRows(V, view(a, i, i+shift, V.Rows, V.Cols))
	}, f)
}

// eachBlock calls f on the compact blocks of at most size reflections of order n and the first row each acts on, which
// is shift more than the number i of its first reflection. load writes the vectors from number i on to the rows of V.
func (impl Implementation) eachBlock(
	n int, tau []float64, shift, size int, backward bool, work []float64, load func(V matrix, i int),
	f func(h block, first int),
) {
	k := len(tau)
	size = min(size, k)
	V, T, gram := work[:size*n], head(work[size*n:], size, size), head(work[size*(n+size):], size, size)
	for at := 0; at < k; at += size {
		i := at
		if backward {
			i = (k - 1 - at) / size * size
		}
		b := min(size, k-i)
		rows := head(V, b, n-i-shift)
		load(rows, i)
		f(impl.newBlock(rows, tau[i:i+b], view(T, 0, 0, b, b), gram), i+shift)
	}
}

func blockWork(n int) int { return applyBlock(n) * (n + 2*applyBlock(n)) }

// mirror copies the lower triangle of a over its upper one, in parallel.
func mirror(a matrix) {
	const tile = 16
	par.Ranges(a.Rows, rowsEach(a.Rows)&^(tile-1), func(lo, hi int) {
		for ; lo < hi; lo += tile {
			end := min(lo+tile, hi)
			transpose(view(a, 0, lo, lo, end-lo), view(a, lo, 0, end-lo, lo))
			for i := lo; i < end; i++ {
				for j := lo; j < i; j++ {
					a.Data[j*a.Stride+i] = a.Data[i*a.Stride+j]
				}
			}
		}
	})
}

// rowsEach is the number of rows of n elements that are worth a goroutine.
func rowsEach(n int) int { return max(1<<15/max(n, 1), 16) }

// Sytrd reduces the symmetric a, lower triangle read, to the tridiagonal
// T = QᵀaQ with diagonal d and off-diagonal e; a and tau then hold Q for Ormtr.
// Large matrices go through a band matrix, since one stage is bound by memory.
// Ormtr then takes twice the operations.
func (impl Implementation) Sytrd(a matrix, d, e, tau []float64) {
	n := order(a)
	mirror(a)
	if n >= TwoStageFrom {
		impl.twoStage(a, d, e, tau)
		return
	}
	impl.reduce(a, d, e, tau, make([]float64, reduceWork(n)))
}

// Ormtr overwrites c (n×k) by Q·c, or Qᵀ·c when trans, with Q from Sytrd.
func (impl Implementation) Ormtr(trans bool, a matrix, tau []float64, c matrix) {
	n := order(a)
	if n < 2 || c.Cols == 0 {
		return
	}
	if n >= TwoStageFrom {
		impl.applyTwoStage(trans, a, tau, c)
		return
	}
	w, work := make([]float64, applyBlock(n)*c.Cols), make([]float64, blockWork(n))
	impl.eachRowBlock(a, tau[:n-1], 1, applyBlock(n), !trans, work, func(h block, first int) {
		impl.apply(h, trans, view(c, first, 0, n-first, c.Cols), w)
	})
}

// This file multiplies a symmetric matrix, of which one triangle is stored, by a vector.

package native

import (
	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/par"
)

// symvGroups is the number of parts a symmetric product of order n is done in,
// each with a partial result of its own. It depends on n alone, so that the sums
// are the same whatever the number of threads, and is even, so that two threads
// have the same work.
func symvGroups(n int) int {
	if n < 384 {
		return 1
	}
	return min(2+n/384*2, 16)
}

// groupStart is the first row of group g of q: groups hold about the same number
// of elements of a lower triangle of order n.
func groupStart(g, q, n int) int {
	if g == q {
		return n
	}
	// The triangle above row r holds r²/2 elements.
	lo, hi := 0, n
	for lo < hi {
		mid := (lo + hi) / 2
		if mid*mid*q < g*n*n {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (e *engine[T]) symv(ul gblas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) {
	e.checkSym(ul, n, a, lda)
	checkVector("x", len(x), n, incX)
	checkVector("y", len(y), n, incY)
	if n == 0 {
		return
	}
	xs, ys := gather(n, x, incX), gather(n, y, incY)
	switch {
	case beta == 0:
		clear(ys)
	case beta != 1:
		e.dscal(beta, ys)
	}
	if alpha != 0 {
		e.addSymv(ul, n, alpha, a, lda, xs, ys)
	}
	scatter(ys, y, incY)
}

// addSymv computes y += alpha·a·x in groups of rows.
func (e *engine[T]) addSymv(ul gblas.Uplo, n int, alpha T, a []T, lda int, x, y []T) {
	groups := symvGroups(n)
	s := e.getScratch(groups * n)
	parts := s.wide
	clear(parts)
	if groups == 1 {
		e.symvGroup(ul, n, 0, 1, a, lda, x, parts)
	} else {
		par.For(groups, func(g int) { e.symvGroup(ul, n, g, groups, a, lda, x, parts) })
	}
	for g := range groups {
		e.daxpy(alpha, parts[g*n:(g+1)*n], y)
	}
	e.scratch.Put(s)
}

// symvGroup adds what group g of the rows gives to its part of parts.
func (e *engine[T]) symvGroup(ul gblas.Uplo, n, g, groups int, a []T, lda int, x, parts []T) {
	r0, r1 := groupStart(g, groups, n/4)*4, groupStart(g+1, groups, n/4)*4
	if g == groups-1 {
		r1 = n
	}
	if ul == gblas.Upper { // the last rows of an upper triangle are the short ones
		r0, r1 = n-r1, n-r0
	}
	e.symvRows(ul, n, r0, r1, a, lda, x, parts[g*n:(g+1)*n])
}

// symvRows adds to y what rows r0 to r1 of the triangle give: each element a(i,j)
// off the diagonal times x_j to y_i and times x_i to y_j.
func (e *engine[T]) symvRows(ul gblas.Uplo, n, r0, r1 int, a []T, lda int, x, y []T) {
	s := e.getScratch(0)
	i := r0
	for ; i+4 <= r1; i += 4 {
		lo, hi := 0, i
		if ul == gblas.Upper {
			lo, hi = i+4, n
		}
		copy(s.w[:], x[i:i+4])
		for j := lo; j < hi; j += vectorChunk {
			end := min(j+vectorChunk, hi)
			e.symv4(&s.r, &s.w, a[i*lda+j:], lda, x[j:end], y[j:end])
			for q, v := range s.r {
				y[i+q] += v
			}
		}
		symvDiagonal(ul, 4, a[i*lda+i:], lda, x[i:], y[i:])
	}
	for ; i < r1; i++ {
		lo, hi := triangleRow(ul, i, n)
		if ul == gblas.Lower {
			hi = i
		} else {
			lo = i + 1
		}
		row := a[i*lda+lo : i*lda+hi]
		y[i] += e.ddot(row, x[lo:hi]) + a[i*lda+i]*x[i]
		e.daxpy(x[i], row, y[lo:hi])
	}
	e.scratch.Put(s)
}

// symvDiagonal is symvRows for a block on the diagonal.
func symvDiagonal[T element](ul gblas.Uplo, n int, a []T, lda int, x, y []T) {
	for i := range n {
		y[i] += a[i*lda+i] * x[i]
		for j := range i {
			v := a[i*lda+j]
			if ul == gblas.Upper {
				v = a[j*lda+i]
			}
			y[i] += v * x[j]
			y[j] += v * x[i]
		}
	}
}

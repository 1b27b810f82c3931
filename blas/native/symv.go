// Products of a symmetric matrix, of which one triangle is stored, with a vector.

package native

import (
	"unsafe"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/internal/base/par"
)

// symvGroups is the number of parts a symmetric product of order n is done in,
// each with a partial result of its own, which is cleared and added up. It depends on n alone, so that the sums
// are the same whatever the number of threads, and is even, so that two threads
// have the same work. Fewer than vectorElements multiply-adds are not shared.
func symvGroups(n int) int {
	if n*n < vectorElements {
		return 1
	}
	return min(2+n/768*2, 16)
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

// Dsymv computes y = alpha·a·x + beta·y for the symmetric a of which one triangle is read.
func (b *BLAS) Dsymv(
	ul gblas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int,
) {
	e := b.d
	checkSym(ul, n, a, lda)
	checkVector("x", len(x), n, incX)
	checkVector("y", len(y), n, incY)
	if n == 0 || e.ended() {
		return
	}
	xs, ys := gather(n, x, incX), gather(n, y, incY)
	e.scaleTo(beta, ys)
	switch {
	case alpha == 0:
	case beta == 0 && symvGroups(n) == 1:
		e.symvRows(ul, n, 0, n, a, lda, xs, ys)
		e.dscal(alpha, ys)
	default:
		e.addSymv(ul, n, alpha, a, lda, xs, ys)
	}
	scatter(ys, y, incY)
}

// addSymv computes y += alpha·a·x in groups of rows. A thread takes groups that follow each other, and in the next call
// the same, of which its caches may hold a part.
func (e *double) addSymv(ul gblas.Uplo, n int, alpha float64, a []float64, lda int, x, y []float64) {
	groups := symvGroups(n)
	s := e.getScratch(groups * n)
	parts := s.wide
	clear(parts)
	jobs := min(par.Threads(), groups)
	par.For(jobs, func(job int) {
		for g := groups * job / jobs; g < groups*(job+1)/jobs; g++ {
			e.symvGroup(ul, n, g, groups, a, lda, x, parts)
		}
	})
	for g := range groups {
		e.daxpy(alpha, parts[g*n:(g+1)*n], y)
	}
	e.scratch.Put(s)
}

// symvGroup adds what group g of the rows gives to its part of parts.
func (e *double) symvGroup(ul gblas.Uplo, n, g, groups int, a []float64, lda int, x, parts []float64) {
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
// off the diagonal times x_j to y_i and times x_i to y_j. Rows go in groups of four whose columns off the diagonal
// block are a multiple of four: rows that are left over are the last of a lower triangle, the first of an upper one.
func (e *double) symvRows(ul gblas.Uplo, n, r0, r1 int, a []float64, lda int, x, y []float64) {
	t := symRows{ld: lda}
	rest := (r1 - r0) % 4
	first, i := r1-rest, r0
	if ul == gblas.Upper {
		first, i = r0, r0+rest
		t.upper = 1
	}
	for end := i + r1 - r0 - rest; i < end; i += 4 * t.groups {
		t.a, t.x, t.y = unsafe.Pointer(&a[i*lda+i]), unsafe.Pointer(&x[i]), unsafe.Pointer(&y[i])
		t.n = i
		if ul == gblas.Upper {
			t.n = n - i - 4
		}
		t.groups = min(vectorChunk/(t.n+4)+1, (end-i)/4)
		e.symv(t)
	}
	for i := first; i < first+rest; i++ {
		lo, hi := 0, i
		if ul == gblas.Upper {
			lo, hi = i+1, n
		}
		row := a[i*lda+lo : i*lda+hi]
		y[i] += e.ddot(row, x[lo:hi]) + a[i*lda+i]*x[i]
		e.daxpy(x[i], row, y[lo:hi])
	}
}

// symRows is the argument of a kernel for groups of four rows of a symmetric matrix, of which one triangle is read. It
// adds each element a(i,j) of them off the diagonal times x_j to y_i and times x_i to y_j, those on the diagonal once.
type symRows struct {
	a      unsafe.Pointer // the first element on the diagonal
	x, y   unsafe.Pointer // the elements that go with it
	ld     int            // elements from a row to the next
	n      int            // columns of the first group off its diagonal block, a multiple of 4
	groups int            // at least 1
	upper  int            // 1 where columns lie right of the diagonal, 0 where left of it
}

// symvBy is a kernel for symRows made of one for four rows and a positive multiple of four columns off the diagonal
// block: it returns the rows times x and adds to y their sum with the weights w.
func symvBy(symv4 func(w [4]float64, a []float64, ld int, x, y []float64) [4]float64) func(t symRows) {
	return func(t symRows) {
		at, n := 0, t.n
		first, ul := -n, gblas.Lower // the first column, seen from the diagonal
		if t.upper == 1 {
			first, ul = 4, gblas.Upper
		}
		for range t.groups {
			diagonal := unsafe.Slice((*float64)(unsafe.Add(t.a, 8*at*(t.ld+1))), 3*t.ld+4)
			x := unsafe.Slice((*float64)(unsafe.Add(t.x, 8*at)), 4)
			y := unsafe.Slice((*float64)(unsafe.Add(t.y, 8*at)), 4)
			symvDiagonal(ul, diagonal, t.ld, x, y)
			if n > 0 {
				row := unsafe.Slice((*float64)(unsafe.Add(t.a, 8*(at*(t.ld+1)+first))), 3*t.ld+n)
				xs := unsafe.Slice((*float64)(unsafe.Add(t.x, 8*(at+first))), n)
				ys := unsafe.Slice((*float64)(unsafe.Add(t.y, 8*(at+first))), n)
				for q, v := range symv4([4]float64(x), row, t.ld, xs, ys) {
					y[q] += v
				}
			}
			at += 4
			if t.upper == 1 {
				n -= 4
			} else {
				n, first = n+4, first-4
			}
		}
	}
}

// symvDiagonal is symvRows for a block of four rows on the diagonal.
func symvDiagonal(ul gblas.Uplo, a []float64, lda int, x, y []float64) {
	r1, r2, r3 := a[lda:lda+4], a[2*lda:2*lda+4], a[3*lda:3*lda+4]
	b10, b20, b21, b30, b31, b32 := r1[0], r2[0], r2[1], r3[0], r3[1], r3[2]
	if ul == gblas.Upper {
		b10, b20, b21, b30, b31, b32 = a[1], a[2], r1[2], a[3], r1[3], r2[3]
	}
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	y[0] += a[0]*x0 + b10*x1 + b20*x2 + b30*x3
	y[1] += b10*x0 + r1[1]*x1 + b21*x2 + b31*x3
	y[2] += b20*x0 + b21*x1 + r2[2]*x2 + b32*x3
	y[3] += b30*x0 + b31*x1 + b32*x2 + r3[3]*x3
}

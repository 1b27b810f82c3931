// Triangular solves with one right-hand side.

package native

import gblas "gonum.org/v1/gonum/blas"

// Dtrsv overwrites x by op(a)⁻¹·x for the triangular a, on the caller's thread. It
// does not test for singularity.
func (b *BLAS) Dtrsv(
	ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []float64, lda int, x []float64, incX int,
) {
	e := b.d
	checkUplo(ul)
	checkTranspose(tA)
	checkDiag(d)
	checkSizes(n)
	checkStride("A", lda, n)
	checkVector("x", len(x), n, incX)
	if n == 0 {
		return
	}
	checkLen("a", len(a), n, n, lda)
	xs := gather(n, x, incX)
	e.solveVector(newTriangle(ul, tA, d, n, a, lda), xs)
	scatter(xs, x, incX)
}

// solveVector overwrites x by op(A)⁻¹·x. It goes through x by blocks; A is read
// along its rows, those of a block together, whether op transposes or not.
func (e *double) solveVector(t triangle, x []float64) {
	for done := 0; done < t.n; done += triangleBase {
		b := min(triangleBase, t.n-done)
		i, known := done, 0 // the block, and where those before it begin
		if !t.low {
			i, known = t.n-done-b, t.n-done
		}
		block := x[i : i+b]
		if !t.trans && done > 0 {
			e.timesVector(done, -1, t.a[i*t.ld+known:], t.ld, x[known:known+done], block)
		}
		t.sub(i, b).substitute(block)
		if rest := t.n - done - b; t.trans && rest > 0 {
			first := i + b
			if !t.low {
				first = 0
			}
			e.vectorTimes(-1, t.a[i*t.ld+first:], t.ld, block, x[first:first+rest])
		}
	}
}

// substitute is solveVector element by element.
func (t triangle) substitute(x []float64) {
	for s := range t.n {
		i, j0, j1 := s, 0, s
		if !t.low {
			i, j0, j1 = t.n-1-s, t.n-s, t.n
		}
		v := x[i]
		for j := j0; j < j1; j++ {
			v -= t.at(i, j) * x[j]
		}
		if !t.unit {
			v /= t.at(i, i)
		}
		x[i] = v
	}
}

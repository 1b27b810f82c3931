// Decompositions of symmetric tridiagonal matrices of which few eigenvectors are wanted.

package lanczos

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/dense/lapack"
)

// tridiagonal is the eigendecomposition of a symmetric tridiagonal matrix of order n. Its
// eigenvectors are kept as the plane rotations whose product they are, so that the
// eigenvalues and k vectors take O(n²·(1+k)) operations.
type tridiagonal struct {
	values    []float64 // ascending
	off       []float64
	work      []float64
	order     []int // the position of each eigenvalue before they were sorted
	rotations []rotation
}

// rotation is G in the plane of the coordinates at and at+1: column `at` of the
// eigenvectors becomes cos·(column at) − sin·(column at+1).
type rotation struct {
	at       int
	cos, sin float64
}

// decompose finds the eigenvalues of sign·T by implicit QR iterations, from the diagonal of
// T and what is beside it; scale is about the largest element of T. It reports whether they converged.
func (t *tridiagonal) decompose(T blas.General, sign, scale float64) bool {
	n := T.Rows
	if !(scale > 0) {
		scale = 1
	}
	t.values, t.off, t.order = blas.Resize(t.values, n), blas.Resize(t.off, n), blas.Resize(t.order, n)
	t.work, t.rotations = blas.Resize(t.work, 2*n), t.rotations[:0]
	for i := range n {
		t.order[i], t.off[i] = i, 0
		t.values[i] = sign * T.Data[i*T.Stride+i] / scale
		if i < n-1 {
			t.off[i] = sign * T.Data[i*T.Stride+i+1] / scale
		}
	}
	if floats.HasNaN(t.values) || floats.HasNaN(t.off) {
		return false
	}
	if !lapack.IterateQR(t.values, t.off[:n-1], t.work, func(first int, c, s []float64) {
		for k := range c {
			t.rotations = append(t.rotations, rotation{first + k, c[k], -s[k]})
		}
	}) {
		return false
	}
	slices.SortFunc(t.order, func(i, j int) int { return cmp.Compare(t.values[i], t.values[j]) })
	for i, j := range t.order {
		t.off[i] = t.values[j] * scale
	}
	t.values, t.off = t.off, t.values
	return true
}

// vectors writes the eigenvectors of the S.Cols smallest eigenvalues to the columns of S.
func (t *tridiagonal) vectors(S blas.General) {
	blas.Zero(S)
	for j := range S.Cols {
		S.Data[t.order[j]*S.Stride+j] = 1
	}
	for _, r := range slices.Backward(t.rotations) {
		x, y := blas.Row(S, r.at), blas.Row(S, r.at+1)
		y = y[:len(x)]
		for j, v := range x {
			x[j], y[j] = r.cos*v+r.sin*y[j], r.cos*y[j]-r.sin*v
		}
	}
}

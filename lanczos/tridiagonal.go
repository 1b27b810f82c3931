// Decompositions of symmetric tridiagonal matrices of which few eigenvectors are wanted.

package lanczos

import (
	"cmp"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
)

// tridiagonal is the eigendecomposition of a symmetric tridiagonal matrix of order n. Its
// eigenvectors are kept as the plane rotations whose product they are, so that the
// eigenvalues and k vectors take O(n²·(1+k)) operations.
type tridiagonal struct {
	values    []float64 // ascending
	off       []float64
	order     []int // the position of each eigenvalue before they were sorted
	rotations []rotation
}

// rotation is G in the plane of the coordinates at and at+1: column `at` of the
// eigenvectors becomes cos·(column at) − sin·(column at+1).
type rotation struct {
	at       int
	cos, sin float64
}

// sweepsEach bounds the sweeps of the QL iteration for one eigenvalue; fewer than two are usual.
const sweepsEach = 60

// decompose finds the eigenvalues of sign·T by the implicit QL iteration, from the diagonal of
// T and what is beside it; scale is about the largest element of T. It reports whether it converged.
func (t *tridiagonal) decompose(T blas.General, sign, scale float64) bool {
	n := T.Rows
	if !(scale > 0) {
		scale = 1
	}
	t.values, t.off, t.order = blas.Resize(t.values, n), blas.Resize(t.off, n), blas.Resize(t.order, n)
	t.rotations = t.rotations[:0]
	for i := range n {
		t.order[i], t.off[i] = i, 0
		t.values[i] = sign * T.Data[i*T.Stride+i] / scale
		if i < n-1 {
			t.off[i] = sign * T.Data[i*T.Stride+i+1] / scale
		}
	}
	for l := range n {
		if !t.deflate(l) {
			return false
		}
	}
	slices.SortFunc(t.order, func(i, j int) int { return cmp.Compare(t.values[i], t.values[j]) })
	for i, j := range t.order {
		t.off[i] = t.values[j] * scale
	}
	t.values, t.off = t.off, t.values
	return true
}

// deflate iterates until element l of off is negligible.
func (t *tridiagonal) deflate(l int) bool {
	d, e := t.values, t.off
	for range sweepsEach {
		m := l
		for m < len(d)-1 && !(math.Abs(e[m]) <= 0x1p-53*(math.Abs(d[m])+math.Abs(d[m+1]))) {
			m++
		}
		if m == l {
			return true
		}
		t.sweep(l, m)
	}
	return false
}

// sweep is one implicit QL step with Wilkinson's shift on the rows l to m.
func (t *tridiagonal) sweep(l, m int) {
	d, e := t.values, t.off
	g := (d[l+1] - d[l]) / (2 * e[l])
	g = d[m] - d[l] + e[l]/(g+math.Copysign(math.Hypot(g, 1), g))
	sin, cos, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := sin*e[i], cos*e[i]
		r := math.Sqrt(f*f + g*g) // all are at most about 1
		e[i+1] = r
		if r == 0 { // the matrix splits here
			d[i+1] -= p
			e[m] = 0
			return
		}
		sin, cos = f/r, g/r
		g = d[i+1] - p
		r = (d[i]-g)*sin + 2*cos*b
		p = sin * r
		d[i+1] = g + p
		g = cos*r - b
		t.rotations = append(t.rotations, rotation{i, cos, sin})
	}
	d[l] -= p
	e[l], e[m] = g, 0
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

// This file solves symmetric tridiagonal eigenproblems of small order by QR iterations.

package lapack

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/vmath"
)

// sweepsEach bounds the QR sweeps for an eigenvalue, of which about two are needed.
const sweepsEach = 30

// implicitQR overwrites d by the eigenvalues, in no order, of the symmetric
// tridiagonal matrix T = Q·diag(d)·Qᵀ with diagonal d and off-diagonal e, and Z by
// Qᵀ·Z: implicit QR iterations with Wilkinson's shift (Golub and Van Loan, §8.3).
// The elements are of order one at most; e is destroyed; work is scratch of 2n − 2 floats.
func implicitQR(d, e []float64, Z matrix, work []float64) bool {
	n := len(d)
	c, s := work[:n-1], work[n-1:2*n-2]
	sweeps := sweepsEach * n
	for lo, hi := 0, 0; lo < n; lo, hi = hi+1, hi+1 {
		for hi < n-1 && !decoupled(d, e, hi) {
			hi++
		}
		// Graded matrices keep the accuracy of their small eigenvalues when the large elements come first.
		if math.Abs(d[lo]) < math.Abs(d[hi]) {
			reverse(d[lo:hi+1], e[lo:hi], view(Z, lo, 0, hi+1-lo, Z.Cols))
		}
		for end := hi; end > lo; {
			first := end
			for first > lo && !decoupled(d, e, first-1) {
				first--
			}
			if first == end {
				end--
				continue
			}
			if sweeps--; sweeps < 0 {
				return false
			}
			m := end - first
			qrSweep(d[first:end+1], e[first:end], c[:m], s[:m])
			vmath.Rotate(c[:m], s[:m], Z.Data[first*Z.Stride:], Z.Stride, Z.Cols)
		}
	}
	return true
}

// decoupled reports whether e[i] is negligible beside its neighbours on the diagonal, and makes it zero then.
func decoupled(d, e []float64, i int) bool {
	if e[i]*e[i] > eps*math.Abs(d[i])*(eps*math.Abs(d[i+1]))+0x1p-1022 {
		return false
	}
	e[i] = 0
	return true
}

// reverse turns T and the rows of Z end to end.
func reverse(d, e []float64, Z matrix) {
	slices.Reverse(d)
	slices.Reverse(e)
	for i, j := 0, Z.Rows-1; i < j; i, j = i+1, j-1 {
		x, y := row(Z, i), row(Z, j)
		for k, v := range x {
			x[k], y[k] = y[k], v
		}
	}
}

// qrSweep overwrites the unreduced T by GᵀTG, G the product of the rotations (c_k, s_k) of
// rows k and k+1 that one QR step takes.
func qrSweep(d, e, c, s []float64) {
	m := len(e)
	g := (d[m-1] - d[m]) / (2 * e[m-1])
	g = d[0] - d[m] + e[m-1]/(g+math.Copysign(math.Hypot(g, 1), g)) // less Wilkinson's shift
	ck, sk, p := 1.0, 1.0, 0.0
	for k, ek := range e {
		f, b := sk*ek, ck*ek
		r := f*f + g*g
		if r > 0x1p-900 {
			r = math.Sqrt(r)
			ck, sk = g/r, f/r
		} else {
			ck, sk, r = gonum.Implementation{}.Dlartg(g, f)
		}
		if k > 0 {
			e[k-1] = r
		}
		g = d[k] - p
		r = (d[k+1]-g)*sk + 2*ck*b
		p = sk * r
		d[k] = g + p
		g = ck*r - b
		c[k], s[k] = ck, sk
	}
	d[m] -= p
	e[m-1] = g
}

// This file moves the bulges of the iteration of schur.go along the diagonal.

package lapack

import "github.com/iokl/iokl/internal/vmath"

// spacing is the distance between two bulges that follow each other, in rows.
const spacing = 3

// sweep chases a chain of bulges, one for each pair of shifts, from the top of
// the active block h[lo:hi+1] to its bottom. The reflections that move them along
// a window on the diagonal are accumulated and applied to the rest by level 3.
//
// A bulge at p fills h[p+1:p+4, p]; one that is not in the matrix yet is at lo−1.
func (s *schur) sweep(lo, hi int, shifts []shiftPair) {
	at := make([]int, len(shifts))
	for b := range at {
		at[b] = lo - 1
	}
	reach := 2*spacing*len(shifts) + 2
	for first := 0; first < len(at); { // the bulges before have left at the bottom
		start := max(at[len(at)-1], lo)
		end := min(start+reach, hi+1)
		if hi+1-end < reach/4 {
			end = hi + 1
		}
		T, Vt := s.window(start, end-start)
		c := bulges{T: T, Vt: Vt, bottom: end > hi}
		ahead := end - start + spacing // position of the bulge before, in rows of the window
		if !c.bottom {
			ahead -= 4 // a bulge stays whole
		}
		for b := first; b < len(at); b++ {
			c.from = max(at[b]-start+1, 0)
			ahead = c.move(at[b]-start, ahead-spacing, shifts[b])
			c.moved++
			at[b] = ahead + start
			if c.bottom && ahead >= end-start-2 {
				first = b + 1
				ahead = end - start + spacing
			}
		}
		s.update(start, T, Vt, true)
	}
}

// bulges moves them along one window: T is the window of h, Vt the transpose of what is
// accumulated; bottom says that the window ends where the active block does. Row j
// of Vt ends with column j + 2·moved: each bulge that moves along adds two.
type bulges struct {
	T, Vt  matrix
	bottom bool
	moved  int // bulges that have moved along
	from   int // first row that the bulge under way touches, and first column of Vt
}

// move takes a bulge from row p as far as limit and returns where it is then; a
// bulge that leaves at the bottom is at the last row but one.
func (c *bulges) move(p, limit int, shifts shiftPair) int {
	n := c.T.Rows
	limit = min(limit, n-2)
	var x [3]float64
	for ; p < limit; p++ {
		size := min(3, n-1-p)
		x = [3]float64{}
		if p < 0 {
			unblocked.Dlaqr1(size, c.T.Data, c.T.Stride, shifts.re1, shifts.im1, shifts.re2, shifts.im2, x[:size])
		} else {
			for i := range size {
				x[i] = c.T.Data[(p+1+i)*c.T.Stride+p]
			}
		}
		beta, tau := reflector(x[0], x[1:size])
		if p >= 0 {
			c.T.Data[(p+1)*c.T.Stride+p] = beta
			for i := 1; i < size; i++ {
				c.T.Data[(p+1+i)*c.T.Stride+p] = 0
			}
		}
		if tau == 0 {
			continue
		}
		if size == 3 {
			c.reflect3(p+1, tau, x[1], x[2])
		} else {
			c.reflect2(p+1, tau, x[1])
		}
	}
	return p
}

// reflect3 applies I − tau·v·vᵀ, v = (1, v1, v2), to rows and columns k, k+1, k+2.
func (c *bulges) reflect3(k int, tau, v1, v2 float64) {
	n := c.T.Rows
	rows3(c.T, k, k, n, tau, v1, v2)
	columns3(c.T, min(k+4, n), k, tau, v1, v2)
	rows3(c.Vt, k, c.from, min(k+3+2*c.moved, n), tau, v1, v2)
}

// rows3 applies the reflection to rows k, k+1, k+2 of the columns [lo,hi) of a.
func rows3(a matrix, k, lo, hi int, tau, v1, v2 float64) {
	vmath.Reflect3(row(a, k)[lo:hi], row(a, k+1)[lo:hi], row(a, k+2)[lo:hi], tau, v1, v2)
}

// columns3 applies the reflection to columns k, k+1, k+2 of the first rows of a.
func columns3(a matrix, rows, k int, tau, v1, v2 float64) {
	t1, t2 := tau*v1, tau*v2
	for at, end := k, k+rows*a.Stride; at < end; at += a.Stride {
		x := a.Data[at : at+3 : at+3]
		sum := x[0] + v1*x[1] + v2*x[2]
		x[0] -= tau * sum
		x[1] -= t1 * sum
		x[2] -= t2 * sum
	}
}

// reflect2 applies I − tau·v·vᵀ, v = (1, v1), to rows and columns k, k+1.
func (c *bulges) reflect2(k int, tau, v1 float64) {
	rows2(c.T, k, k, tau, v1)
	rows2(c.Vt, k, c.from, tau, v1)
	for i := range c.T.Rows {
		x := row(c.T, i)[k : k+2]
		t := tau * (x[0] + v1*x[1])
		x[0] -= t
		x[1] -= v1 * t
	}
}

// rows2 applies the reflection to rows k and k+1 of a, from column lo on.
func rows2(a matrix, k, lo int, tau, v1 float64) {
	r0, r1 := row(a, k)[lo:], row(a, k+1)[lo:]
	for j, x := range r0 {
		t := tau * (x + v1*r1[j])
		r0[j] = x - t
		r1[j] -= v1 * t
	}
}

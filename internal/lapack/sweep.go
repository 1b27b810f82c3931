// This file moves the bulges of the iteration of schur.go along the diagonal.

package lapack

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
		T, V := s.window(start, end-start)
		c := bulges{T: T, V: V, bottom: end > hi}
		ahead := end - start + spacing // position of the bulge before, in rows of the window
		if !c.bottom {
			ahead -= 4 // a bulge stays whole
		}
		for b := first; b < len(at); b++ {
			ahead = c.move(at[b]-start, ahead-spacing, shifts[b])
			c.moved++
			at[b] = ahead + start
			if c.bottom && ahead >= end-start-2 {
				first = b + 1
				ahead = end - start + spacing
			}
		}
		s.update(start, T, V)
	}
}

// bulges moves them along one window: T is the window of h, V what is
// accumulated; bottom says that the window ends where the active block does. Column j
// of V ends with row j + 2·moved: each bulge that moves along adds two rows.
type bulges struct {
	T, V   matrix
	bottom bool
	moved  int // bulges that have moved along
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
	T := c.T
	t1, t2 := tau*v1, tau*v2
	r0 := row(T, k)[k:]
	r1, r2 := row(T, k+1)[k:][:len(r0)], row(T, k+2)[k:][:len(r0)]
	for j, a := range r0 {
		sum := a + v1*r1[j] + v2*r2[j]
		r0[j] = a - tau*sum
		r1[j] -= t1 * sum
		r2[j] -= t2 * sum
	}
	columns3(T, min(k+4, T.Rows), k, tau, v1, v2)
	columns3(c.V, min(k+3+2*c.moved, c.V.Rows), k, tau, v1, v2)
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
	T := c.T
	t1 := tau * v1
	r0 := row(T, k)[k:]
	r1 := row(T, k+1)[k:][:len(r0)]
	for j, a := range r0 {
		sum := a + v1*r1[j]
		r0[j] = a - tau*sum
		r1[j] -= t1 * sum
	}
	for _, m := range []matrix{T, c.V} {
		for i := range m.Rows {
			x := row(m, i)[k : k+2]
			sum := x[0] + v1*x[1]
			x[0] -= tau * sum
			x[1] -= t1 * sum
		}
	}
}

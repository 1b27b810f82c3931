// The steps of the QR iteration of schur.go: sweeps of bulges along the diagonal, and early deflation.

package lapack

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack"

	"github.com/iokl/iokl/internal/dense/vmath"
)

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

// deflate looks for eigenvalues that have converged in the trailing window of the
// active block h[lo:hi+1]: with the window in Schur form, V·T·Vᵀ, its link to the
// rows above is the spike h[top,top−1]·V[0,:], and a diagonal block of T deflates
// when its part of the spike is negligible. Blocks that do not are moved out of
// the way, and what remains is made Hessenberg again. It returns the number of
// eigenvalues found and the others, paired, as shifts in the order of T.
func (s *schur) deflate(lo, hi, size int) (found int, shifts []shiftPair) {
	top := hi - size + 1
	var link float64
	if top > lo {
		link = s.h.Data[top*s.h.Stride+top-1]
	}
	T, V := s.window(top, size)
	wr, wi := make([]float64, size), make([]float64, size)
	if unblocked.Dlahqr(true, true, size, 0, size-1, T.Data, T.Stride, wr, wi, 0, size-1, V.Data, V.Stride) != 0 {
		return 0, nil
	}
	kept := s.undeflated(T, V, link)
	shifts = pairsOf(view(T, 0, 0, kept, kept))
	if kept == size && link != 0 {
		return 0, shifts // nothing was gained
	}
	if kept > 1 && link != 0 {
		s.restoreHessenberg(T, V, kept)
	}
	if top > lo {
		s.h.Data[top*s.h.Stride+top-1] = 0
		if kept > 0 {
			s.h.Data[top*s.h.Stride+top-1] = link * V.Data[0]
		}
	}
	s.update(top, T, V, false)
	return size - kept, shifts
}

// undeflated reorders T = Vᵀ·(window)·V so that the blocks that do not deflate
// come first, and returns their joint order.
func (s *schur) undeflated(T, V matrix, link float64) int {
	size := T.Rows
	tiny := schurTiny * float64(s.h.Rows)
	work := make([]float64, size)
	last, done := size, 0
	for done < last {
		k := last - 1
		wide := 1
		if k > 0 && T.Data[k*T.Stride+k-1] != 0 {
			wide = 2
		}
		scale, spike := math.Abs(T.Data[k*T.Stride+k]), math.Abs(link*V.Data[k])
		if wide == 2 {
			scale += math.Sqrt(math.Abs(T.Data[k*T.Stride+k-1])) * math.Sqrt(math.Abs(T.Data[(k-1)*T.Stride+k]))
			spike = max(spike, math.Abs(link*V.Data[k-1]))
		}
		if scale == 0 {
			scale = math.Abs(link)
		}
		if spike <= max(tiny, schurUnit*scale) {
			last -= wide
			continue
		}
		// A block that two neighbours are too close to pass stays where it got stuck.
		_, at, _ := unblocked.Dtrexc(lapack.UpdateSchur, size, T.Data, T.Stride, V.Data, V.Stride, k, done, work)
		done = at + 1
		if at+1 < size && T.Data[(at+1)*T.Stride+at] != 0 {
			done++
		}
	}
	return last
}

// restoreHessenberg turns the spike V[0,:kept] into a multiple of the first unit
// vector and the leading block of T back to Hessenberg form.
func (s *schur) restoreHessenberg(T, V matrix, kept int) {
	size := T.Rows
	v := slices.Clone(V.Data[:kept])
	_, tau := reflector(v[0], v[1:])
	v[0] = 1
	// T ← H·T·H and V ← V·H with H = I − tau·v·vᵀ on the first kept coordinates.
	w := make([]float64, size)
	for i, x := range v {
		axpy(x, row(T, i), w)
	}
	for i, x := range v {
		axpy(-tau*x, w, row(T, i))
	}
	for i := range kept {
		r := row(T, i)[:kept]
		axpy(-tau*dot(v, r), v, r)
	}
	for i := range size {
		r := row(V, i)[:kept]
		axpy(-tau*dot(v, r), v, r)
	}
	block, q := view(T, 0, 0, kept, kept), zeros(kept, kept)
	s.impl.Hessenberg(block, q)
	if size > kept {
		right := view(T, 0, kept, kept, size-kept)
		product(right, make([]float64, kept*(size-kept)), func(w matrix) { s.impl.gemm(tr, nt, 1, q, right, 0, w) })
	}
	left := view(V, 0, 0, size, kept)
	product(left, make([]float64, size*kept), func(w matrix) { s.impl.gemm(nt, nt, 1, left, q, 0, w) })
}

// pairsOf returns the eigenvalues of the quasi-triangular T in pairs, real ones
// with the next real one; an odd one is left out.
func pairsOf(T matrix) []shiftPair {
	var pairs []shiftPair
	single, have := 0.0, false
	for k := 0; k < T.Rows; {
		d := T.Data[k*T.Stride+k]
		if k+1 < T.Rows && T.Data[(k+1)*T.Stride+k] != 0 {
			im := math.Sqrt(math.Abs(T.Data[(k+1)*T.Stride+k])) * math.Sqrt(math.Abs(T.Data[k*T.Stride+k+1]))
			pairs = append(pairs, shiftPair{d, im, d, -im})
			k += 2
			continue
		}
		if have {
			pairs = append(pairs, shiftPair{single, 0, d, 0})
		}
		single, have = d, !have
		k++
	}
	return pairs
}

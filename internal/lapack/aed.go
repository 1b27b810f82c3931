// This file finds converged eigenvalues early in the iteration of schur.go.

package lapack

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack"
)

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
		s.product(right, func(w matrix) { s.impl.gemm(tr, nt, 1, q, right, 0, w) })
	}
	left := view(V, 0, 0, size, kept)
	s.product(left, func(w matrix) { s.impl.gemm(nt, nt, 1, left, q, 0, w) })
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

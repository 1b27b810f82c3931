// Hessenberg forms and real Schur forms.

package lapack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/iokl/iokl/internal/base/par"
)

// Schur overwrites the square a by the real quasi-triangular T of a = q·T·qᵀ and
// q by the orthogonal factor. The Hessenberg form is iterated on by multishift QR
// with small bulges and aggressive early deflation (Braman, Byers and Mathias,
// SIAM J. Matrix Anal. Appl. 23, 2002, parts I and II): reflections act on small
// windows along the diagonal, whose products are applied to the rest of a and to
// q by level 3. The iteration inside windows of up to schurSmall is gonum's.
// Scratch: that of Hessenberg and 2n·w floats, w the order of the windows.
func (impl Implementation) Schur(a, q matrix) error {
	n := order(a)
	if n == 0 {
		return nil
	}
	for i := range n {
		if !finite(row(a, i)) {
			return notFinite(n)
		}
	}
	exp := normalize(a) // else products of elements may overflow, or vanish
	impl.Hessenberg(a, q)
	s := &schur{impl: impl, h: a, q: q}
	converged := s.iterate()
	for i := range n {
		scaleBy(exp, row(a, i))
	}
	if !converged {
		return fmt.Errorf("%w: Schur form of order %d", ErrNoConvergence, n)
	}
	return nil
}

const (
	schurSmall  = 64  // active blocks up to this order are finished without multishift sweeps
	schurTries  = 30  // sweeps for each eigenvalue, at most, over the whole iteration
	schurStrip  = 256 // rows or columns that a window is applied to at a time, which stay in the second-level cache
	schurNibble = 14  // percent of the window that early deflation must find to be tried again at once
)

var unblocked gonum.Implementation

// schur is the iteration on the Hessenberg matrix h, accumulated in q.
type schur struct {
	impl Implementation
	h, q matrix
	work []float64 // of update
	both []float64 // T and V of a window
}

// shiftPair is a pair of shifts, real or complex conjugate.
type shiftPair struct{ re1, im1, re2, im2 float64 }

// sizes returns the number of pairs of shifts of a sweep and the order of the
// deflation window for an active block of order size.
func (s *schur) sizes(size int) (pairs, window int) {
	switch {
	case size < 150:
		pairs = 4
	case size < 600:
		pairs = 10
	case size < 2000:
		pairs = 16
	default:
		pairs = 24
	}
	return pairs, min(5*pairs/2, size)
}

// iterate works on the active block h[lo:hi+1, lo:hi+1] from the bottom up.
func (s *schur) iterate() bool {
	n := s.h.Rows
	idle := 0 // sweeps since the last deflation
	left := schurTries * max(n, 10)
	for hi := n - 1; hi >= 0; {
		lo := s.split(hi)
		size := hi - lo + 1
		if size <= schurSmall {
			if !s.finish(lo, size) {
				return false
			}
			hi, idle = lo-1, 0
			continue
		}
		if left--; left < 0 {
			return false
		}
		pairs, window := s.sizes(size)
		found, shifts := s.deflate(lo, hi, window)
		if hi -= found; found > 0 {
			idle = 0
		}
		if 100*found > schurNibble*window || hi-lo+1 <= schurSmall {
			continue
		}
		if idle++; idle%6 == 0 || len(shifts) == 0 {
			shifts = s.exceptional(lo, hi, pairs)
		}
		s.sweep(lo, hi, shifts[max(0, len(shifts)-pairs):])
	}
	return true
}

// split returns the first row of the block that ends at row hi, setting to zero
// the negligible subdiagonal element above it.
func (s *schur) split(hi int) int {
	for k := hi; k > 0; k-- {
		if s.negligible(k) {
			s.h.Data[k*s.h.Stride+k-1] = 0
			return k
		}
	}
	return 0
}

const (
	schurUnit = 0x1p-52
	schurTiny = 0x1p-1022 / schurUnit
)

// negligible is the test of Ahues and Tisseur (LAPACK Working Note 122) on h[k,k-1].
func (s *schur) negligible(k int) bool {
	at := func(i, j int) float64 { return math.Abs(s.h.Data[i*s.h.Stride+j]) }
	n, sub := s.h.Rows, at(k, k-1)
	if sub <= schurTiny*float64(n) {
		return true
	}
	around := at(k-1, k-1) + at(k, k)
	if around == 0 {
		if k > 1 {
			around += at(k-1, k-2)
		}
		if k+1 < n {
			around += at(k+1, k)
		}
	}
	if sub > schurUnit*around {
		return false
	}
	super, d := at(k-1, k), math.Abs(s.h.Data[(k-1)*s.h.Stride+k-1]-s.h.Data[k*s.h.Stride+k])
	ab, ba := max(sub, super), min(sub, super)
	aa, bb := max(at(k, k), d), min(at(k, k), d)
	sum := aa + ab
	return ba*(ab/sum) <= max(schurTiny*float64(n), schurUnit*(bb*(aa/sum)))
}

// finish computes the Schur form of the diagonal block of the given order at lo.
func (s *schur) finish(lo, size int) bool {
	T, V := s.window(lo, size)
	wr, wi := make([]float64, size), make([]float64, size)
	ok := unblocked.Dlahqr(true, true, size, 0, size-1, T.Data, T.Stride, wr, wi, 0, size-1, V.Data, V.Stride) == 0
	s.update(lo, T, V, false)
	return ok
}

// window copies the diagonal block of the given order at lo, and returns with it
// an identity to accumulate transformations in. Both hold until the next window.
func (s *schur) window(lo, size int) (T, V matrix) {
	if cap(s.both) < 2*size*size {
		s.both = make([]float64, 2*size*size)
	}
	T, V = head(s.both[:size*size], size, size), head(s.both[size*size:2*size*size], size, size)
	identityColumns(V, 0, size)
	copyMatrix(T, view(s.h, lo, lo, size, size))
	return T, V
}

// update puts T = Vᵀ·h[lo:,lo:]·V in the place of the diagonal block at lo and
// applies V to what is right of it, above it, and to q; transposed says that Vᵀ is given.
func (s *schur) update(lo int, T, V matrix, transposed bool) {
	left, right := tr, nt
	if transposed {
		left, right = nt, tr
	}
	n, size := s.h.Rows, T.Rows
	copyMatrix(view(s.h, lo, lo, size, size), T)
	rest := n - lo - size
	all := rest + lo + n // columns right of the block, rows above it, rows of q
	if cap(s.work) < all*size {
		s.work = make([]float64, all*size)
	}
	par.Ranges(all, schurStrip, func(from, to int) {
		work := s.work[from*size : to*size]
		if end := min(to, rest); from < end {
			c := view(s.h, lo, lo+size+from, size, end-from)
			product(c, work, func(w matrix) { s.impl.gemm(left, nt, 1, V, c, 0, w) })
		}
		rows := func(a matrix, from, to int) {
			if from < to {
				c := view(a, from, lo, to-from, size)
				product(c, work, func(w matrix) { s.impl.gemm(nt, right, 1, c, V, 0, w) })
			}
		}
		rows(s.h, max(from-rest, 0), min(to-rest, lo))
		rows(s.q, max(from-rest-lo, 0), to-rest-lo)
	})
}

// product overwrites c by what f writes to scratch of its shape, the first numbers of work.
func product(c matrix, work []float64, f func(w matrix)) {
	w := head(work, c.Rows, c.Cols)
	f(w)
	copyMatrix(c, w)
}

// exceptional returns shifts that break a cycle, made of the last subdiagonal elements.
func (s *schur) exceptional(lo, hi, pairs int) []shiftPair {
	at := func(i, j int) float64 { return s.h.Data[i*s.h.Stride+j] }
	var shifts []shiftPair
	for k := hi; k >= lo+2 && len(shifts) < pairs; k -= 2 {
		size := math.Abs(at(k, k-1)) + math.Abs(at(k-1, k-2))
		d := 0.75*size + at(k, k)
		_, _, _, _, r1, i1, r2, i2, _, _ := unblocked.Dlanv2(d, size, -0.4375*size, d)
		shifts = append(shifts, shiftPair{r1, i1, r2, i2})
	}
	return shifts
}

// hessenbergBlock is the number of columns reduced between two updates.
const hessenbergBlock = 32

// Hessenberg overwrites the square a by the upper Hessenberg H of a = q·H·qᵀ and
// q by the orthogonal factor. Panel by panel, with the reflections of the panel
// in compact form P = I − Vᵀ·T·V and Y = a·Vᵀ·T gathered on the way for the rows
// below the panel's first, these rows of the rest are
//
//	a ← Pᵀ·(a − Y·V)
//
// and the rows above are a·P.
// Scratch: n² + 4·n·hessenbergBlock floats.
func (impl Implementation) Hessenberg(a, q matrix) {
	n := order(a)
	vectors, tau := zeros(n, n), make([]float64, n)
	Y, T := zeros(n, hessenbergBlock), zeros(hessenbergBlock, hessenbergBlock)
	w := make([]float64, hessenbergBlock*n)
	for i := 0; i < n-2; i += hessenbergBlock {
		b := min(hessenbergBlock, n-2-i)
		p := hessenbergPanel{
			a: a, V: view(vectors, i, i+1, b, n-i-1), T: view(T, 0, 0, b, b), Y: view(Y, 0, 0, n-i-1, b), first: i,
		}
		for j := range b {
			impl.hessenbergColumn(p, j, tau)
		}
		h, rest := block{p.V, p.T}, view(a, i+1, i+b, n-i-1, n-i-b)
		impl.applyRight(h, false, view(a, 0, i+1, i+1, n-i-1), w)
		impl.gemm(nt, nt, -1, p.Y, view(p.V, 0, b-1, b, rest.Cols), 1, rest)
		impl.apply(h, true, rest, w)
	}
	impl.accumulate(q, vectors, tau, w)
}

// hessenbergPanel is the panel of columns from first on: the rows of V are the
// vectors, which start at row first+1 of a; Y = a[first+1:,first+1:]·Vᵀ·T.
type hessenbergPanel struct {
	a, V, T, Y matrix
	first      int
}

// hessenbergColumn brings column first+j up to date and reduces it.
func (impl Implementation) hessenbergColumn(p hessenbergPanel, j int, tau []float64) {
	n, c := p.Y.Rows, p.first+j
	column := p.a.Data[(p.first+1)*p.a.Stride+c:]
	below, t := make([]float64, n), make([]float64, j)
	for i := range below {
		below[i] = column[i*p.a.Stride]
	}
	if j > 0 {
		// a ← a − Y·V on this column (V[:,c] is at c−first−1), then from the left by Pᵀ.
		for k := range t {
			t[k] = p.V.Data[k*p.V.Stride+j-1]
		}
		impl.bl.Dgemv(nt, n, j, -1, p.Y.Data, p.Y.Stride, t, 1, 1, below, 1)
		impl.bl.Dgemv(nt, j, n, 1, p.V.Data, p.V.Stride, below, 1, 0, t, 1)
		for k := j - 1; k >= 0; k-- { // t ← Tᵀ·t
			s := 0.0
			for i := range k + 1 {
				s += p.T.Data[i*p.T.Stride+k] * t[i]
			}
			t[k] = s
		}
		impl.bl.Dgemv(tr, j, n, -1, p.V.Data, p.V.Stride, t, 1, 1, below, 1)
	}
	x := below[j:]
	beta, factor := reflector(x[0], x[1:])
	tau[c] = factor
	v := row(p.V, j)
	clear(v[:j])
	v[j] = 1
	copy(v[j+1:], x[1:])
	x[0] = beta
	clear(x[1:])
	for i, v := range below {
		column[i*p.a.Stride] = v
	}
	impl.extendPanel(p, j, factor, t)
}

// extendPanel computes column j of T and of Y:
//
//	T[:j,j] = −tau·T·V[:j]·v,   Y[:,j] = tau·(a·v − Y[:,:j]·(V[:j]·v))
func (impl Implementation) extendPanel(p hessenbergPanel, j int, tau float64, t []float64) {
	n := p.Y.Rows
	v, y := row(p.V, j), make([]float64, n)
	right := p.a.Data[(p.first+1)*p.a.Stride+p.first+1+j:]
	impl.bl.Dgemv(nt, n, len(v)-j, tau, right, p.a.Stride, v[j:], 1, 0, y, 1)
	if j > 0 {
		impl.bl.Dgemv(nt, j, len(v), 1, p.V.Data, p.V.Stride, v, 1, 0, t, 1)
		impl.bl.Dgemv(nt, n, j, -tau, p.Y.Data, p.Y.Stride, t, 1, 1, y, 1)
	}
	for i, yi := range y {
		p.Y.Data[i*p.Y.Stride+j] = yi
	}
	for i := range j {
		var s float64
		for k := i; k < j; k++ {
			s += p.T.Data[i*p.T.Stride+k] * t[k]
		}
		p.T.Data[i*p.T.Stride+j] = -tau * s
		p.T.Data[j*p.T.Stride+i] = 0
	}
	p.T.Data[j*p.T.Stride+j] = tau
}

// accumulate forms q = H_0·H_1⋯ from the vectors.
func (impl Implementation) accumulate(q, vectors matrix, tau, w []float64) {
	n, size := q.Rows, hessenbergBlock
	identityColumns(q, 0, n)
	work := make([]float64, size*(n+2*size))
	impl.eachRowBlock(vectors, tau[:max(n-2, 0)], 1, size, true, work, func(h block, first int) {
		impl.apply(h, false, view(q, first, first, n-first, n-first), w)
	})
}

// Householder reflections, alone and in blocks, and QR factorizations.

package lapack

import (
	"math"

	"gonum.org/v1/gonum/blas"
)

// reflector finds the Householder reflection H = I − tau·v·vᵀ, v = (1, x'), that
// maps (alpha, x) to (beta, 0), and overwrites x by x'. tau = 0 makes H = I.
func reflector(alpha float64, x []float64) (beta, tau float64) {
	square := 0.0
	if len(x) <= 4 { // a call would take longer
		for _, v := range x {
			square += v * v
		}
	} else {
		square = dot(x, x)
	}
	if all := alpha*alpha + square; square > 0x1p-900 && all < 0x1p900 {
		beta = -math.Copysign(math.Sqrt(all), alpha)
		tau = (beta - alpha) / beta
		scal(1/(alpha-beta), x)
		return beta, tau
	}
	return unblocked.Dlarfg(1+len(x), alpha, x, 1)
}

// block is a product of b reflections in compact form,
//
//	H_0·H_1⋯H_{b-1} = I − Vᵀ·T·V,
//
// with the vectors as the rows of V (b×m, V_jj = 1, zero before that) and T
// upper triangular (LAPACK's forward, row-wise storage).
type block struct{ V, T matrix }

// newBlock computes T from V and the factors tau; gram is b×b scratch.
func (impl Implementation) newBlock(V matrix, tau []float64, T, gram matrix) block {
	impl.bl.Dsyrk(blas.Upper, nt, V.Rows, V.Cols, 1, V.Data, V.Stride, 0, gram.Data, gram.Stride)
	impl.triangle(tau, T, gram)
	return block{V, T}
}

// triangle computes T from the upper triangle of G = V·Vᵀ; the lower one is scratch. The
// product of two compact forms has
//
//	T₁₂ = −T₁₁·G₁₂·T₂₂
func (impl Implementation) triangle(tau []float64, T, gram matrix) {
	b := len(tau)
	if b <= 8 {
		smallTriangle(tau, T, gram)
		return
	}
	h := b / 2
	impl.triangle(tau[:h], T, gram)
	T2 := view(T, h, h, b-h, b-h)
	impl.triangle(tau[h:], T2, view(gram, h, h, b-h, b-h))
	T12 := view(T, 0, h, h, b-h)
	for i := range h {
		copy(row(T12, i), vectorOf(gram, i, h, b-h))
	}
	for i := h; i < b; i++ {
		clear(vectorOf(T, i, 0, h))
	}
	impl.bl.Dtrmm(blas.Left, blas.Upper, nt, blas.NonUnit, h, b-h, -1, T.Data, T.Stride, T12.Data, T.Stride)
	impl.bl.Dtrmm(blas.Right, blas.Upper, nt, blas.NonUnit, h, b-h, 1, T2.Data, T.Stride, T12.Data, T.Stride)
}

// smallTriangle adds a column at a time: T[:j,j] = −tau_j·T[:j,:j]·G[:j,j].
func smallTriangle(tau []float64, T, gram matrix) {
	for j, t := range tau {
		for i := range j {
			var s float64
			ti := row(T, i)
			for k := i; k < j; k++ {
				s += ti[k] * gram.Data[k*gram.Stride+j]
			}
			gram.Data[j*gram.Stride+i] = -t * s
		}
		for i := range j {
			T.Data[i*T.Stride+j] = gram.Data[j*gram.Stride+i]
		}
		clear(row(T, j)[:j])
		T.Data[j*T.Stride+j] = t
	}
}

// apply overwrites c (m×n) by H·c, or by Hᵀ·c when trans. w is scratch of b·n.
func (impl Implementation) apply(h block, trans bool, c matrix, w []float64) {
	if c.Cols == 0 {
		return
	}
	b := h.V.Rows
	W := head(w, b, c.Cols)
	impl.gemm(nt, nt, 1, h.V, c, 0, W)
	t := nt
	if trans {
		t = tr
	}
	impl.bl.Dtrmm(blas.Left, blas.Upper, t, blas.NonUnit, b, c.Cols, 1, h.T.Data, h.T.Stride, W.Data, W.Stride)
	impl.gemm(tr, nt, -1, h.V, W, 1, c)
}

// applyRight overwrites c (n×m) by c·H, or by c·Hᵀ when trans. w is scratch of n·b.
func (impl Implementation) applyRight(h block, trans bool, c matrix, w []float64) {
	if c.Rows == 0 {
		return
	}
	b := h.V.Rows
	W := head(w, c.Rows, b)
	impl.gemm(nt, tr, 1, c, h.V, 0, W)
	t := nt
	if trans {
		t = tr
	}
	impl.bl.Dtrmm(blas.Right, blas.Upper, t, blas.NonUnit, c.Rows, b, 1, h.T.Data, h.T.Stride, W.Data, W.Stride)
	impl.gemm(nt, nt, -1, W, h.V, 1, c)
}

// unitRows copies the vectors stored in the rows of src, right of the diagonal,
// to V with their unit diagonal and the zeros before it.
func unitRows(V, src matrix) {
	for j := range V.Rows {
		r := row(V, j)
		clear(r[:j])
		r[j] = 1
		copy(r[j+1:], row(src, j)[j+1:])
	}
}

// qrBlock is the number of columns in a panel of the QR factorization.
const qrBlock = 32

// qrStripe is the number of columns that are updated at once.
const qrStripe = 8 * qrBlock

// QR overwrites the m×n a, m ≥ n, by the n orthonormal columns of its thin QR
// factorization and, when r.Data is not nil, the n×n r by the triangular factor.
func (impl Implementation) QR(a, r matrix) {
	if a.Rows < a.Cols {
		panic("lapack: QR of a matrix with more columns than rows")
	}
	tau := make([]float64, a.Cols)
	impl.Geqrf(a, tau)
	if r.Data != nil {
		upperTriangle(r, a)
	}
	impl.Orgqr(a, tau)
}

// upperTriangle copies the upper triangle of a to r and clears the rest of r.
func upperTriangle(r, a matrix) {
	for i := range r.Rows {
		clear(row(r, i)[:i])
		copy(row(r, i)[i:], row(a, i)[i:])
	}
}

// Geqrf factorizes the m×n a = Q·R with Q = H_0·H_1⋯ a product of min(m,n)
// reflections I − tau·v·vᵀ. R replaces the upper triangle of a, the vectors,
// without their leading ones, what lies below it. Scratch: (2m + n)·qrBlock floats.
func (impl Implementation) Geqrf(a matrix, tau []float64) {
	m, n := a.Rows, a.Cols
	k := min(m, n)
	w, gram, column := make([]float64, qrBlock*n), zeros(qrBlock, qrBlock), make([]float64, qrBlock)
	var v, T [2][]float64 // of the last panel and the next
	var blocks [2]block
	for i := range v {
		v[i], T[i] = make([]float64, qrBlock*m), make([]float64, qrBlock*qrBlock)
	}
	lookAhead(k, n, qrBlock, qrStripe, func(at int) {
		b, i := min(qrBlock, k-at), at/qrBlock%2
		p, V := view(a, at, at, m-at, b), head(v[i], b, m-at)
		transpose(V, p)
		impl.panelRows(V, tau[at:at+b], column)
		transpose(p, V)
		unitRows(V, V)
		if at+b < n {
			blocks[i] = impl.newBlock(V, tau[at:at+b], head(T[i], b, b), gram)
		}
	}, func(at, lo, hi int) {
		impl.apply(blocks[at/qrBlock%2], true, view(a, at, lo, m-at, hi-lo), w[qrBlock*lo:])
	})
}

// eachQRBlock calls f on the compact blocks of the reflections that Geqrf left in a
// and tau, and the first row each acts on, from the last to the first when backward.
// To make a compact block pays the less the fewer vectors it is applied to.
func (impl Implementation) eachQRBlock(
	a matrix, tau []float64, backward bool, vectors int, f func(h block, first int),
) {
	m := a.Rows
	size := min(max(vectors, qrBlock), applyBlock(m), len(tau))
	impl.eachBlock(m, tau, 0, size, backward, make([]float64, size*(m+2*size)), func(V matrix, i int) {
		transpose(V, view(a, i, i, m-i, V.Rows))
		unitRows(V, V)
	}, f)
}

// Orgqr overwrites the m×n a, m ≥ n, by the first n columns of the product Q of the
// len(tau) ≤ n reflections in its columns.
func (impl Implementation) Orgqr(a matrix, tau []float64) {
	m, n, k := a.Rows, a.Cols, len(tau)
	identityColumns(view(a, 0, k, m, n-k), k, n-k)
	w := make([]float64, applyBlock(m)*n)
	impl.eachQRBlock(a, tau, true, n, func(h block, first int) {
		identityColumns(view(a, 0, first, m, n-first), first, h.V.Rows)
		impl.apply(h, false, view(a, first, first, m-first, n-first), w)
	})
}

// identityColumns makes the first b columns of a those of the identity, moved down by shift rows.
func identityColumns(a matrix, shift, b int) {
	for i := 0; i < a.Rows && b > 0; i++ {
		clear(row(a, i)[:b])
		if j := i - shift; j >= 0 && j < b {
			row(a, i)[j] = 1
		}
	}
}

// Ormqr overwrites c by Q·c, or c·Q with Q on the right, or those with Qᵀ when
// trans, with the product Q of the reflections that Geqrf left in the columns of a
// and in tau.
func (impl Implementation) Ormqr(side blas.Side, trans bool, a matrix, tau []float64, c matrix) {
	left, vectors := side == blas.Left, c.Cols
	if !left {
		vectors = c.Rows
	}
	w := make([]float64, applyBlock(a.Rows)*vectors)
	impl.eachQRBlock(a, tau, left != trans, vectors, func(h block, first int) {
		if left {
			impl.apply(h, trans, view(c, first, 0, c.Rows-first, c.Cols), w)
		} else {
			impl.applyRight(h, trans, view(c, 0, first, c.Rows, c.Cols-first), w)
		}
	})
}

// transposed returns a copy of aᵀ.
func transposed(a matrix) matrix {
	t := zeros(a.Cols, a.Rows)
	transpose(t, a)
	return t
}

// transpose computes dst = srcᵀ by tiles, four rows of src at a time.
func transpose(dst, src matrix) {
	const tile = 16
	for j0 := 0; j0 < src.Cols; j0 += tile {
		cols, i := min(tile, src.Cols-j0), 0
		for ; i+4 <= src.Rows; i += 4 {
			at, ld := i*src.Stride+j0, src.Stride
			s0, s1 := src.Data[at:][:cols], src.Data[at+ld:][:cols]
			s2, s3 := src.Data[at+2*ld:][:cols], src.Data[at+3*ld:][:cols]
			to := j0*dst.Stride + i
			for j, v := range s0 {
				out := dst.Data[to : to+4 : to+4]
				out[0], out[1], out[2], out[3] = v, s1[j], s2[j], s3[j]
				to += dst.Stride
			}
		}
		for ; i < src.Rows; i++ {
			for j, v := range vectorOf(src, i, j0, cols) {
				dst.Data[(j0+j)*dst.Stride+i] = v
			}
		}
	}
}

// This file holds Householder reflections, alone and in blocks.

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
	norm := level1.Dnrm2(len(x), x, 1)
	if norm == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(math.Hypot(alpha, norm), alpha)
	// Scale by powers of two until 1/(alpha−beta) is safe.
	shift := 0
	for math.Abs(beta) < 0x1p-969 {
		scal(0x1p200, x)
		alpha, beta, shift = alpha*0x1p200, beta*0x1p200, shift+200
	}
	if shift > 0 {
		beta = -math.Copysign(math.Hypot(alpha, nrm2(x)), alpha)
	}
	tau = (beta - alpha) / beta
	scal(1/(alpha-beta), x)
	return math.Ldexp(beta, -shift), tau
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

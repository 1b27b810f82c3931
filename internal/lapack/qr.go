// This file factorizes matrices as Q·R.

package lapack

import "gonum.org/v1/gonum/blas"

// qrBlock is the number of columns in a panel of the QR factorization.
const qrBlock = 32

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
	lookAhead(k, n, qrBlock, func(at int) {
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
	m, k := a.Rows, len(tau)
	size := min(max(vectors, qrBlock), applyBlock(m), k)
	v, T, gram := make([]float64, size*m), make([]float64, size*size), zeros(size, size)
	for at := 0; at < k; at += size {
		i := at
		if backward {
			i = (k - 1 - at) / size * size
		}
		b := min(size, k-i)
		V := head(v, b, m-i)
		transpose(V, view(a, i, i, m-i, b))
		unitRows(V, V)
		f(impl.newBlock(V, tau[i:i+b], head(T, b, b), gram), i)
	}
}

// Orgqr overwrites the m×n a, m ≥ n, by the first n columns of the product Q of the
// len(tau) ≤ n reflections in its columns.
func (impl Implementation) Orgqr(a matrix, tau []float64) {
	m, n, k := a.Rows, a.Cols, len(tau)
	for i := range m {
		clear(row(a, i)[k:])
		if i >= k && i < n {
			row(a, i)[i] = 1
		}
	}
	w := make([]float64, applyBlock(m)*n)
	impl.eachQRBlock(a, tau, true, n, func(h block, first int) {
		identityColumns(view(a, 0, first, m, n-first), first, h.V.Rows)
		impl.apply(h, false, view(a, first, first, m-first, n-first), w)
	})
}

// identityColumns makes the first b columns of a those of the identity, moved down by shift rows.
func identityColumns(a matrix, shift, b int) {
	for i := range a.Rows {
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

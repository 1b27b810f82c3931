package lapack

// qrBlock is the number of columns in a panel of the QR factorization.
const qrBlock = 32

// QR overwrites the m×n a, m ≥ n, by the n orthonormal columns of its thin QR
// factorization and, when r.Data is not nil, the n×n r by the triangular factor.
// The vectors of the reflections wait in a itself; scratch: (m + 3·n)·qrBlock floats.
func (impl Implementation) QR(a, r matrix) {
	m, n := a.Rows, a.Cols
	if m < n {
		panic("lapack: QR of a matrix with more columns than rows")
	}
	blocks := make([]matrix, 0, (n+qrBlock-1)/qrBlock) // T of each panel
	w, v := make([]float64, qrBlock*n), make([]float64, qrBlock*m)
	for j := 0; j < n; j += qrBlock {
		b := min(qrBlock, n-j)
		h := impl.panelQR(view(a, j, j, m-j, b), head(v, b, m-j))
		impl.apply(h, true, view(a, j, j+b, m-j, n-j-b), w)
		blocks = append(blocks, h.T)
	}
	if r.Data != nil {
		for i := range n {
			clear(row(r, i)[:i])
			copy(row(r, i)[i:], row(a, i)[i:])
		}
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		j, T := i*qrBlock, blocks[i]
		V := head(v, T.Rows, m-j)
		transpose(V, view(a, j, j, m-j, T.Rows))
		unitRows(V, V)
		identityColumns(view(a, j, j, m-j, n-j), T.Rows)
		impl.apply(block{V, T}, false, view(a, j, j, m-j, n-j), w)
	}
}

// identityColumns makes the first b rows and columns of a those of the identity.
func identityColumns(a matrix, b int) {
	for i := range a.Rows {
		if i < b {
			clear(row(a, i))
			row(a, i)[i] = 1
		} else {
			clear(row(a, i)[:b])
		}
	}
}

// panelQR factorizes the m×b panel p = H·R with H a product of b reflections; R
// replaces the upper triangle of p and the vectors what lies below it. It works on
// the transposed panel P, scratch, whose rows are the columns and lie together in
// memory; the block returned keeps it.
func (impl Implementation) panelQR(p, P matrix) block {
	b, tau := p.Cols, make([]float64, p.Cols)
	transpose(P, p)
	for j := range b {
		x := row(P, j)[j:]
		beta, t := reflector(x[0], x[1:])
		x[0], tau[j] = 1, t
		for c := j + 1; c < b; c++ {
			y := row(P, c)[j:]
			axpy(-t*dot(x, y), x, y)
		}
		x[0] = beta
	}
	transpose(p, P)
	unitRows(P, P)
	return impl.newBlock(P, tau, zeros(b, b), zeros(b, b))
}

// transpose computes dst = srcᵀ by tiles.
func transpose(dst, src matrix) {
	const tile = 16
	for i0 := 0; i0 < src.Rows; i0 += tile {
		i1 := min(i0+tile, src.Rows)
		for j0 := 0; j0 < src.Cols; j0 += tile {
			j1 := min(j0+tile, src.Cols)
			for j := j0; j < j1; j++ {
				out := dst.Data[j*dst.Stride : j*dst.Stride+i1]
				for i := i0; i < i1; i++ {
					out[i] = src.Data[i*src.Stride+j]
				}
			}
		}
	}
}

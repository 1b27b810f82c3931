package lapack

// qrBlock is the number of columns in a panel of the QR factorization.
const qrBlock = 32

// QR overwrites the m×n a, m ≥ n, by the n orthonormal columns of its thin QR
// factorization and, when r.Data is not nil, the n×n r by the triangular factor.
// Scratch: the vectors (m·n/2 on average for tall matrices m·n) and 3·n·qrBlock floats.
func (impl Implementation) QR(a, r matrix) {
	m, n := a.Rows, a.Cols
	if m < n {
		panic("lapack: QR of a matrix with more columns than rows")
	}
	blocks := make([]block, 0, (n+qrBlock-1)/qrBlock)
	w := make([]float64, qrBlock*n)
	for j := 0; j < n; j += qrBlock {
		b := min(qrBlock, n-j)
		h := impl.panelQR(view(a, j, j, m-j, b))
		impl.apply(h, true, view(a, j, j+b, m-j, n-j-b), w)
		blocks = append(blocks, h)
	}
	if r.Data != nil {
		for i := range n {
			clear(row(r, i)[:i])
			copy(row(r, i)[i:], row(a, i)[i:])
		}
	}
	for i := range m {
		clear(row(a, i))
		if i < n {
			a.Data[i*a.Stride+i] = 1
		}
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		j := i * qrBlock
		impl.apply(blocks[i], false, view(a, j, j, m-j, n-j), w)
	}
}

// panelQR factorizes the m×b panel p = H·R with H a product of b reflections; R
// replaces the upper triangle of p. It works on the transposed panel, whose rows
// are the columns and lie together in memory.
func (impl Implementation) panelQR(p matrix) block {
	m, b := p.Rows, p.Cols
	P, tau := zeros(b, m), make([]float64, b)
	transpose(P, p)
	for j := range b {
		x := row(P, j)[j:]
		beta, t := reflector(x[0], x[1:])
		x[0], tau[j] = 1, t
		for c := j + 1; c < b; c++ {
			y := row(P, c)[j:]
			axpy(-t*dot(x, y), x, y)
		}
		p.Data[j*p.Stride+j] = beta
		for c := j + 1; c < b; c++ {
			p.Data[j*p.Stride+c] = P.Data[c*P.Stride+j]
		}
	}
	for j := range b {
		clear(row(P, j)[:j])
	}
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

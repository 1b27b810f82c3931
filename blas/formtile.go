package blas

// FormTile writes the tile at rows [i,i+m) and columns [j,j+n) of the matrix P whose inner product with the lower
// triangle of every symmetric K is ⟨U, KV⟩, where the block on the diagonal counts with both its triangles: U·Vᵀ + V·Uᵀ
// left of column i, and U·Vᵀ from there on. p has the stride n.
func FormTile(be Backend, p []float64, U, V General, i, m, j, n int) {
	product := func(alpha float64, A, B General, j0, n0 int, beta float64) {
		be.Dgemm(NoTrans, Trans, m, n0, A.Cols, alpha, A.Data[i*A.Stride:], A.Stride, B.Data[j0*B.Stride:], B.Stride,
			beta, p[j0-j:], n)
	}
	before := min(max(i-j, 0), n)
	switch same := &U.Data[0] == &V.Data[0] && U.Stride == V.Stride; {
	case before > 0 && same:
		product(2, U, U, j, before, 0)
	case before > 0:
		product(1, U, V, j, before, 0)
		product(1, V, U, j, before, 1)
	}
	if before < n {
		product(1, U, V, j+before, n-before, 0)
	}
}

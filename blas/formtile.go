package blas

// FormTile writes the tile of rows [i,i+m) and columns [j,j+n) of a matrix P to p, with stride n. P is such that ⟨U,
// KV⟩ is its inner product with the lower triangle of K, for every symmetric K. It is U·Vᵀ + V·Uᵀ left of column i, and
// U·Vᵀ from column i on, where both triangles of the diagonal block count.
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

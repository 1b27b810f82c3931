// This file holds the operations on vectors.

package native

// Ddot returns xᵀy.
func (b *BLAS) Ddot(n int, x []float64, incX int, y []float64, incY int) float64 {
	if incX != 1 || incY != 1 || n <= 0 {
		return b.Implementation.Ddot(n, x, incX, y, incY)
	}
	return b.d.ddot(x[:n], y[:n])
}

// Daxpy computes y += alpha·x.
func (b *BLAS) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if incX != 1 || incY != 1 || n <= 0 {
		b.Implementation.Daxpy(n, alpha, x, incX, y, incY)
		return
	}
	b.d.daxpy(alpha, x[:n], y[:n])
}

// Dscal computes x *= alpha.
func (b *BLAS) Dscal(n int, alpha float64, x []float64, incX int) {
	if incX != 1 || n <= 0 || alpha == 0 {
		b.Implementation.Dscal(n, alpha, x, incX)
		return
	}
	b.d.dscal(alpha, x[:n])
}

// ddot, daxpy and dscal call the vector kernels chunk by chunk, on slices of one length.

func (e *double) ddot(x, y []float64) float64 {
	var s float64
	for len(x) > vectorChunk {
		s += e.dot(x[:vectorChunk], y[:vectorChunk])
		x, y = x[vectorChunk:], y[vectorChunk:]
	}
	return s + e.dot(x, y)
}

func (e *double) daxpy(alpha float64, x, y []float64) {
	if alpha == 0 {
		return
	}
	for len(x) > vectorChunk {
		e.axpy(alpha, x[:vectorChunk], y[:vectorChunk])
		x, y = x[vectorChunk:], y[vectorChunk:]
	}
	e.axpy(alpha, x, y)
}

func (e *double) dscal(alpha float64, x []float64) {
	for len(x) > vectorChunk {
		e.scal(alpha, x[:vectorChunk])
		x = x[vectorChunk:]
	}
	e.scal(alpha, x)
}

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

// Dscal computes x *= alpha; x is 0 for alpha = 0, whatever it holds.
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
		e.outer(alpha, one, x, vectorChunk, y, 0, 0)
		x, y = x[vectorChunk:], y[vectorChunk:]
	}
	e.outer(alpha, one, x, len(x), y[:len(x)], 0, 0)
}

// one is the weight of a single row.
var one = []float64{1}

// douter is outer on any number of elements.
func (e *double) douter(alpha float64, w, x []float64, n int, a []float64, ld, grow int) {
	widest := max(n, n+(len(w)-1)*grow)
	if widest > vectorChunk {
		for i, v := range w {
			e.daxpy(alpha*v, x[max(-i*grow, 0):][:n+i*grow], a[i*ld:])
		}
		return
	}
	each := vectorChunk / max(widest, 1)
	for i := 0; i < len(w); i += each {
		e.outer(alpha, w[i:min(i+each, len(w))], x[max(-i*grow, 0):], n+i*grow, a[i*ld:], ld, grow)
	}
}

// scaleTo is beta·x, 0 for beta = 0 whatever x holds.
func (e *double) scaleTo(beta float64, x []float64) {
	switch beta {
	case 0:
		clear(x)
	case 1:
	default:
		e.dscal(beta, x)
	}
}

func (e *double) dscal(alpha float64, x []float64) {
	for len(x) > vectorChunk {
		e.scal(alpha, x[:vectorChunk])
		x = x[vectorChunk:]
	}
	e.scal(alpha, x)
}

// Vector kernels in Go, the reference for the assembly.

package native

// vectorChunk bounds what one call of a vector kernel works on: between calls a
// goroutine can be stopped, inside one it cannot.
const vectorChunk = 1 << 14

func dotGeneric(x, y []float64) float64 {
	var s0, s1 float64
	y = y[:len(x)]
	i := 0
	for ; i+2 <= len(x); i += 2 {
		s0 += x[i] * y[i]
		s1 += x[i+1] * y[i+1]
	}
	if i < len(x) {
		s0 += x[i] * y[i]
	}
	return s0 + s1
}

func outerGeneric(alpha float64, w, x []float64, n int, a []float64, ld, grow int) {
	for i, v := range w {
		row, v := a[i*ld:][:n+i*grow], alpha*v
		for j, e := range x[max(-i*grow, 0):][:len(row)] {
			row[j] += v * e
		}
	}
}

func scalGeneric(alpha float64, x []float64) {
	for i := range x {
		x[i] *= alpha
	}
}

func dot4Generic(a []float64, ld int, x []float64) [4]float64 {
	n := len(x)
	a0, a1, a2, a3 := a[:n], a[ld:ld+n], a[2*ld:2*ld+n], a[3*ld:3*ld+n]
	var s0, s1, s2, s3 float64
	for i, v := range x {
		s0 += a0[i] * v
		s1 += a1[i] * v
		s2 += a2[i] * v
		s3 += a3[i] * v
	}
	return [4]float64{s0, s1, s2, s3}
}

func axpy4Generic(w [4]float64, a []float64, ld int, y []float64) {
	n := len(y)
	a0, a1, a2, a3 := a[:n], a[ld:ld+n], a[2*ld:2*ld+n], a[3*ld:3*ld+n]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	for i := range y {
		y[i] += w0*a0[i] + w1*a1[i] + w2*a2[i] + w3*a3[i]
	}
}

func symv4Generic(w [4]float64, a []float64, ld int, x, y []float64) [4]float64 {
	axpy4Generic(w, a, ld, y)
	return dot4Generic(a, ld, x)
}

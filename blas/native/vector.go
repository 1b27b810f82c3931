// This file holds the vector kernels in Go, the reference for the assembly.

package native

// vectorChunk bounds what one call of a vector kernel works on: between calls a
// goroutine can be stopped, inside one it cannot.
const vectorChunk = 1 << 14

func dotGeneric[T element](x, y []T) T {
	var s0, s1 T
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

func axpyGeneric[T element](alpha T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

func scalGeneric[T element](alpha T, x []T) {
	for i := range x {
		x[i] *= alpha
	}
}

func divGeneric[T element](d T, x []T) {
	for i := range x {
		x[i] /= d
	}
}

func dot4Generic[T element](r *[4]T, a []T, ld int, x []T) {
	n := len(x)
	a0, a1, a2, a3 := a[:n], a[ld:ld+n], a[2*ld:2*ld+n], a[3*ld:3*ld+n]
	var s0, s1, s2, s3 T
	for i, v := range x {
		s0 += a0[i] * v
		s1 += a1[i] * v
		s2 += a2[i] * v
		s3 += a3[i] * v
	}
	*r = [4]T{s0, s1, s2, s3}
}

func axpy4Generic[T element](w *[4]T, a []T, ld int, y []T) {
	n := len(y)
	a0, a1, a2, a3 := a[:n], a[ld:ld+n], a[2*ld:2*ld+n], a[3*ld:3*ld+n]
	w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
	for i := range y {
		y[i] += w0*a0[i] + w1*a1[i] + w2*a2[i] + w3*a3[i]
	}
}

func symv4Generic[T element](r, w *[4]T, a []T, ld int, x, y []T) {
	dot4Generic(r, a, ld, x)
	axpy4Generic(w, a, ld, y)
}

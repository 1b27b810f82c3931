// Hadamard transforms.

package vmath

// HadamardLanes is the number of columns Hadamard transforms together.
const HadamardLanes = 8

// Hadamard multiplies the n×8 matrix x in place by the Hadamard matrix of order
// n, a power of two, in Sylvester's order and without scaling: 8·n·log₂n additions.
func Hadamard(x []float64) {
	n := len(x) / HadamardLanes
	if n == 0 || n&(n-1) != 0 || len(x)%HadamardLanes != 0 {
		panic("vmath: Hadamard of an order that is not a power of two")
	}
	h := 1
	for ; 4*h <= n; h *= 4 {
		use.radix4(x, h)
	}
	if h < n {
		use.radix2(x, h)
	}
}

// radix2Generic is one stage: rows i and i+h become their sum and difference.
func radix2Generic(x []float64, h int) {
	h *= HadamardLanes
	for ; len(x) > 0; x = x[2*h:] {
		for i, a := range x[:h] {
			b := x[h+i]
			x[i], x[h+i] = a+b, a-b
		}
	}
}

// radix4Generic is the two stages h and 2h at once.
func radix4Generic(x []float64, h int) {
	h *= HadamardLanes
	for ; len(x) > 0; x = x[4*h:] {
		for i, a := range x[:h] {
			b, c, d := x[h+i], x[2*h+i], x[3*h+i]
			s, t, u, v := a+b, a-b, c+d, c-d
			x[i], x[h+i], x[2*h+i], x[3*h+i] = s+u, t+v, s-u, t-v
		}
	}
}

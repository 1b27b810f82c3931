// The exported functions, which check lengths and call the implementation chosen.

package vmath

import "unsafe"

// Exp computes dst_i = exp(a·x_i), within 1.1 ulp of the exponential of the rounded
// product (2 ulp in the generic form, math.Exp's own error). NaN stays NaN,
// overflow gives +Inf, underflow is gradual.
func Exp(dst, x []float64, a float64) { use.exp(dst[:len(x)], x, a) }

// ExpStream is Exp, written as Stream writes: the exponentials of the elements to
// come are computed while earlier ones are on their way to memory. dst and x do
// not overlap.
func ExpStream(dst, x []float64, a float64) {
	dst = dst[:len(x)]
	head := min(len(x), int(-uintptr(unsafe.Pointer(unsafe.SliceData(dst)))&63)/8)
	whole := head + (len(x)-head)&^7
	if head > 0 {
		use.exp(dst[:head], x[:head], a)
	}
	use.expStream(dst[head:whole], x[head:whole], a)
	if whole < len(x) {
		use.exp(dst[whole:], x[whole:], a)
	}
}

// SqDist turns inner products into squared Euclidean distances in place:
// g_j = max(0, ni + nj_j − 2·g_j), where ni and nj are squared norms.
func SqDist(g []float64, ni float64, nj []float64) { use.sqDist(g, ni, nj[:len(g)]) }

// SqDistBelow is SqDist, and tells whether any result is s·(ni + nj_j) + c or less.
func SqDistBelow(g []float64, ni float64, nj []float64, s, c float64) bool {
	return use.sqDistBelow(g, ni, nj[:len(g)], s, c)
}

// Matern computes dst_i = p(t)·exp(−t) at t = s·√x_i, x_i ≥ 0, with p(t) = 1,
// 1 + t or 1 + t + t²/3 for order 0, 1 or 2, to 4 ulp where t ≤ 1 and t ulp
// more beyond, for the rounding of t. NaN stays NaN.
func Matern(dst, x []float64, s float64, order int) {
	if order < 0 || order > 2 {
		panic("vmath: Matern of an order other than 0, 1, 2")
	}
	c := [3][2]float64{{0, 0}, {1, 0}, {1, 1. / 3}}[order]
	use.matern(dst[:len(x)], x, s, c[0], c[1])
}

// Power computes dst_i = (gamma·x_i + c)^q by repeated squaring, q ≥ 1.
func Power(dst, x []float64, gamma, c float64, q int) {
	if q < 1 {
		panic("vmath: Power below 1")
	}
	use.power(dst[:len(x)], x, gamma, c, q)
}

// SinCos computes sin_i = amp·sin x_i and cos_i = amp·cos x_i with an absolute
// error of 2⁻⁵²·amp at most. x may be cos, but not sin. Arguments of 2³⁰ and
// more are reduced one by one.
func SinCos(sin, cos, x []float64, amp float64) {
	sin, cos = sin[:len(x)], cos[:len(x)]
	for len(x) > 0 {
		n := use.sinCos(sin, cos, x, amp)
		if n < len(x) {
			large := min(n+8, len(x))
			sinCosGeneric(sin[n:large], cos[n:large], x[n:large], amp)
			n = large
		}
		sin, cos, x = sin[n:], cos[n:], x[n:]
	}
}

// Cos computes dst_i = amp·cos x_i as SinCos does, in less time.
func Cos(dst, x []float64, amp float64) {
	dst = dst[:len(x)]
	for len(x) > 0 {
		n := use.cos(dst, x, amp)
		if n < len(x) {
			large := min(n+8, len(x))
			cosGeneric(dst[n:large], x[n:large], amp)
			n = large
		}
		dst, x = dst[n:], x[n:]
	}
}

// Narrow rounds x to float32.
func Narrow(dst []float32, x []float64) { use.narrow(dst[:len(x)], x) }

// Stream copies x to dst past the caches, which saves reading dst first: for
// results that are larger than the caches and not needed again soon. Vector
// forms do so to multiples of 64 bytes and write the ends as usual. Fence comes
// between the last of several calls and another goroutine's reading.
func Stream(dst, x []float64) { use.stream(dst[:len(x)], x) }

// Fence completes the writes of Stream, ExpStream and StreamNarrow.
func Fence() { fence() }

// StreamNarrow is Narrow, written as Stream writes.
func StreamNarrow(dst []float32, x []float64) { use.streamNarrow(dst[:len(x)], x) }

// L1Row computes dst_j = Σ_f |x_f − z_fj|, where row f of zt, of stride ld,
// holds feature f of the samples j.
func L1Row(dst, x, zt []float64, ld int) { row(use.l1Row, dst, x, zt, ld, 0) }

// SqRow computes dst_j = Σ_f (x_f − z_fj)², laid out as in L1Row.
func SqRow(dst, x, zt []float64, ld int) { row(use.sqRow, dst, x, zt, ld, 0) }

// Chi2Row computes dst_j = Σ_f (x_f − z_fj)²/(x_f + z_fj) for non-negative
// features, 0/0 counting as 0, laid out as in L1Row.
func Chi2Row(dst, x, zt []float64, ld int) { row(use.chi2Row, dst, x, zt, ld, 0) }

// HarmonicRow computes dst_j = Σ_f 1/(x_f + z_fj), laid out as in L1Row, each term
// within 16 ulp. Features are positive, from HarmonicLeast to HarmonicMost:
// products of ten sums of two are formed. It takes a fifth of the time of Chi2Row.
func HarmonicRow(dst, x, zt []float64, ld int) { row(use.harmonicRow, dst, x, zt, ld, 0) }

// The range of the features that HarmonicRow takes.
const (
	HarmonicLeast = 0x1p-96
	HarmonicMost  = 0x1p+96
)

// LorentzRow computes dst_j = Π_f (1 + (x_f − z_fj)²), laid out as in L1Row.
func LorentzRow(dst, x, zt []float64, ld int) { row(use.lorentzRow, dst, x, zt, ld, 1) }

// Secular computes Σ_j z_j²/δ_j and Σ_j (z_j/δ_j)² with δ_j = d_j − mu:
// the secular equation of an eigenproblem, and its derivative.
func Secular(d, z []float64, mu float64) (sum, slope float64) {
	return use.secular(d, z[:len(d)], mu)
}

// Reflect3 applies the reflection I − tau·v·vᵀ, v = (1, v1, v2), to the vectors (x_j, y_j, z_j).
func Reflect3(x, y, z []float64, tau, v1, v2 float64) {
	use.reflect3(x, y[:len(x)], z[:len(x)], tau, v1, v2)
}

// Rotate applies the plane rotations (x, y) ← (c_k·x + s_k·y, c_k·y − s_k·x), for ascending k, to rows k and k+1
// of a, which have n elements and lie ld apart.
func Rotate(c, s, a []float64, ld, n int) {
	if len(c) > 0 && n > 0 {
		use.rotate(c, s[:len(c)], a[:len(c)*ld+n], ld, n)
	}
}

// row checks the lengths of a row function and calls it; with no features the
// result is the empty sum or product.
func row(f func(dst, x, zt []float64, ld int), dst, x, zt []float64, ld int, empty float64) {
	if len(x) == 0 {
		for j := range dst {
			dst[j] = empty
		}
		return
	}
	if ld < 0 || len(zt) < (len(x)-1)*ld+len(dst) {
		panic("vmath: features do not cover the destination")
	}
	f(dst, x, zt, ld)
}

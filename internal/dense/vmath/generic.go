// The functions of the package in plain Go, the reference for the assembly.

package vmath

import "math"

func expGeneric(dst, x []float64, a float64) {
	for i, v := range x {
		dst[i] = math.Exp(a * v)
	}
}

func sqDistGeneric(g []float64, ni float64, nj []float64) {
	for j, v := range g {
		g[j] = max(0, ni+nj[j]-2*v)
	}
}

func maternGeneric(dst, x []float64, s, c1, c2 float64) {
	for i, v := range x {
		t := min(1000, s*math.Sqrt(v)) // beyond 1000 the value is 0, and t² may overflow
		dst[i] = (1 + t*(c1+t*c2)) * math.Exp(-t)
	}
}

func powerGeneric(dst, x []float64, gamma, c float64, q int) {
	for i, v := range x {
		base, p := gamma*v+c, 1.0
		for e := q; ; base *= base {
			if e&1 == 1 {
				p *= base
			}
			if e >>= 1; e == 0 {
				break
			}
		}
		dst[i] = p
	}
}

func sinCosGeneric(sin, cos, x []float64, amp float64) int {
	for i, v := range x {
		s, c := math.Sincos(v)
		sin[i], cos[i] = amp*s, amp*c
	}
	return len(x)
}

func cosGeneric(dst, x []float64, amp float64) int {
	for i, v := range x {
		dst[i] = amp * math.Cos(v)
	}
	return len(x)
}

func narrowGeneric(dst []float32, x []float64) {
	for i, v := range x {
		dst[i] = float32(v)
	}
}

func streamGeneric(dst, x []float64) { copy(dst, x) }

func l1RowGeneric(dst, x, zt []float64, ld int) {
	clear(dst)
	for f, a := range x {
		for j, z := range zt[f*ld : f*ld+len(dst)] {
			dst[j] += math.Abs(a - z)
		}
	}
}

func sqRowGeneric(dst, x, zt []float64, ld int) {
	clear(dst)
	for f, a := range x {
		for j, z := range zt[f*ld : f*ld+len(dst)] {
			dst[j] += (a - z) * (a - z)
		}
	}
}

func chi2RowGeneric(dst, x, zt []float64, ld int) {
	clear(dst)
	for f, a := range x {
		for j, z := range zt[f*ld : f*ld+len(dst)] {
			if s := a + z; s != 0 {
				dst[j] += (a - z) * (a - z) / s
			}
		}
	}
}

func harmonicRowGeneric(dst, x, zt []float64, ld int) {
	clear(dst)
	for f, a := range x {
		for j, z := range zt[f*ld : f*ld+len(dst)] {
			dst[j] += 1 / (a + z)
		}
	}
}

func secularGeneric(d, z []float64, mu float64) (sum, slope float64) {
	z = z[:len(d)]
	for j, v := range d {
		t := z[j] / (v - mu)
		sum += z[j] * t
		slope += t * t
	}
	return sum, slope
}

func reflect3Generic(x, y, z []float64, tau, v1, v2 float64) {
	y, z = y[:len(x)], z[:len(x)]
	for j, a := range x {
		t := tau * (a + v1*y[j] + v2*z[j])
		x[j] = a - t
		y[j] -= v1 * t
		z[j] -= v2 * t
	}
}

func rotateGeneric(c, s, a []float64, ld, n int) {
	for k, ck := range c {
		sk, x, y := s[k], a[k*ld:k*ld+n], a[(k+1)*ld:(k+1)*ld+n]
		for j, xj := range x {
			x[j], y[j] = ck*xj+sk*y[j], ck*y[j]-sk*xj
		}
	}
}

func sqDistBelowGeneric(g []float64, ni float64, nj []float64, s, c float64) bool {
	var below bool
	for j, v := range g {
		n := ni + nj[j]
		g[j] = max(0, n-2*v)
		below = below || g[j] <= s*n+c
	}
	return below
}

func lorentzRowGeneric(dst, x, zt []float64, ld int) {
	for j := range dst {
		dst[j] = 1
	}
	for f, a := range x {
		for j, z := range zt[f*ld : f*ld+len(dst)] {
			dst[j] *= 1 + (a-z)*(a-z)
		}
	}
}

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
			if s := a + z; s > 0 {
				dst[j] += (a - z) * (a - z) / s
			}
		}
	}
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

// maternGeneric evaluates (1 + t + c·t²)·exp(−t), or exp(−t) alone, at t = s·√x.
func maternGeneric(dst, x []float64, s float64, order int) {
	for i, v := range x {
		t := s * math.Sqrt(v)
		e := math.Exp(-t)
		switch order {
		case 1:
			e *= 1 + t
		case 2:
			e *= 1 + t*(1+t/3)
		}
		dst[i] = e
	}
}

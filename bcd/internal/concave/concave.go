// Package concave maximises a concave function of one variable.
package concave

import "math"

// Max is the maximum of a concave function on [0,hi], and where: from start by
// factors of 2 while the value grows, then by golden section. It is found to rounding,
// however small it is beside hi.
func Max(start, hi float64, value func(s float64) float64) (at, best float64) {
	s := math.Min(start, hi)
	v := value(s)
	for s < hi { // ends: s reaches hi
		next := math.Min(2*s, hi)
		w := value(next)
		if !(w > v) {
			break
		}
		s, v = next, w
	}
	for s > 0 { // ends: s underflows
		w := value(s / 2)
		if v > math.Inf(-1) && !(w > v) {
			break
		}
		s, v = s/2, w
	}
	at, best = Section(s/2, math.Min(2*s, hi), untilRounding, value)
	for _, x := range []float64{0, s} {
		if w := value(x); !(w <= best) {
			at, best = x, w
		}
	}
	return at, best
}

// untilRounding is how many steps of a golden-section search find a maximum to rounding.
const untilRounding = 80

// Section is the largest value met in a golden-section search on [lo,hi], lo
// included, of a concave function, and where.
func Section(lo, hi float64, steps int, value func(s float64) float64) (at, best float64) {
	at, best = lo, value(lo)
	see := func(s float64) float64 {
		v := value(s)
		if v > best {
			at, best = s, v
		}
		return v
	}
	ratio := (math.Sqrt(5) - 1) / 2
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := see(a), see(b)
	for range steps {
		if fa >= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = see(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = see(b)
		}
	}
	return at, best
}

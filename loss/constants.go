// Constants that are added to columns of predictions.

package loss

import (
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Settle sets the offsets to the minimising constants at F, where these are free.
func (c *Cells) Settle(F blas.General) {
	if !c.Free {
		return
	}
	before := c.Offset
	c.Offset = make([]float64, c.Y.Cols)
	par.For(c.Y.Cols, func(j int) {
		from := 0.0
		if before != nil {
			from = before[j]
		}
		c.Offset[j] = c.constant(F, j, from)
	})
}

// farOdds is a log odds whose probability differs from 1 by less than rounding.
const farOdds = 40

// constant is that of column j, looked for from a number on.
func (c *Cells) constant(F blas.General, j int, from float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	c.column(j, func(at int, y, _ float64) {
		r := y - F.Data[at]
		switch {
		case c.Kind == Logistic:
			low, high = min(low, -farOdds-F.Data[at]), max(high, farOdds-F.Data[at])
			return
		case c.Kappa > 0:
			r += c.Kappa * c.Center.Data[at]
		}
		low, high = min(low, r), max(high, r)
	})
	return crossing(low, high, from, func(b float64) (value, fall, size float64) {
		c.column(j, func(at int, y, w float64) {
			v, curvature := c.slopeAt(at, y, F.Data[at]+b)
			value, fall, size = value+w*v, fall+w*curvature, size+w*math.Abs(v)
		})
		return value, fall, size
	})
}

// level is the a for which Σ_i w·v of column j vanishes, v being 2μC/w − a moved into the box.
func (c *Cells) level(C blas.General, mu float64, j int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	c.column(j, func(at int, _, w float64) {
		v := 2 * mu * C.Data[at] / w
		low, high = min(low, v), max(high, v)
	})
	return crossing(low, high, 0, func(a float64) (value, fall, size float64) {
		c.column(j, func(at int, y, w float64) {
			lo, hi := c.Box(y)
			v := 2*mu*C.Data[at]/w - a
			if v > lo && v < hi {
				fall += w
			}
			v = min(max(v, lo), hi)
			value, size = value+w*v, size+w*math.Abs(v)
		})
		return value, fall, size
	})
}

// column calls visit for every cell of positive weight in column j, with its place in Data.
func (c *Cells) column(j int, visit func(at int, y, w float64)) {
	for at := j; at < len(c.W.Data); at += c.Y.Cols {
		if w := c.W.Data[at]; w > 0 {
			visit(at, c.Y.Data[at], w)
		}
	}
}

const (
	crossingSteps = 500     // at most: a range of 2⁵⁰⁰ and half of it each
	crossingSum   = 0x1p-50 // rounding of a sum, relative to that of the sizes
	crossingFirst = 0x1p-4  // first step where no slope tells one,
	crossingRise  = 4       // and how it grows
)

// crossing is where a function that nowhere rises changes its sign between low and high, to rounding, from a number
// on; low or high where it does not. f tells its value, the size of its slope, and the sum of the sizes of the terms of
// the value. Newton's steps are taken while they halve the value, and else growing steps until the sign has changed,
// and halves of what is left.
func crossing(low, high, from float64, f func(x float64) (value, fall, size float64)) float64 {
	if !(low < high) {
		if low == high {
			return low
		}
		return 0 // of an empty column
	}
	x, step, last := min(max(from, low), high), crossingFirst, math.Inf(1)
	var below, above bool // low and high are known to lie on their sides
	for range crossingSteps {
		value, fall, size := f(x)
		if !(math.Abs(value) > crossingSum*size) {
			return x
		}
		if value > 0 {
			low, below = x, true
		} else {
			high, above = x, true
		}
		next := x + value/fall
		if math.Abs(value) > last/2 || !(next > low && next < high) {
			switch {
			case below && above:
				next = low + (high-low)/2
			case below:
				next = min(x+step, high)
			default:
				next = max(x-step, low)
			}
			step *= crossingRise
		}
		if next == x || next == low && below || next == high && above {
			return next
		}
		x, last = next, math.Abs(value)
	}
	return x
}

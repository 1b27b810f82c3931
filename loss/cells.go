package loss

import (
	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Cells is a loss summed over the cells of a matrix of targets, Σ w·φ(y, f) with the predictions f = F + offset. The
// matrices that its methods take have the shape of Y and no gaps between their rows.
type Cells struct {
	Loss
	Y, W   blas.General // W is 0 where no target counts
	Offset []float64    // of the predictions, one for each column; nil for 0
	Zero   float64      // the sum for F = 0
	Rounding
}

// Rounding takes the kinks from a loss: it becomes the largest over the box of v·(y − f) less what [Loss.Conjugate]
// takes from v·y and (κ/2)(v − v⁰)², whose curvature is 1/κ at most. That is below the loss, and near it where v⁰ is
// near its v. The zero value rounds nothing; the logistic loss takes no other.
type Rounding struct {
	Kappa  float64      // κ
	Center blas.General // v⁰
}

// Exact is c without rounding.
func (c *Cells) Exact() *Cells {
	exact := *c
	exact.Rounding = Rounding{}
	return &exact
}

// SlopeAt is −∂φ/∂f and ∂²φ/∂f² of the cell at a place in Data, with the target y, for the prediction f + offset.
func (c *Cells) SlopeAt(at int, y, f float64) (slope, curvature float64) {
	if c.Kappa == 0 {
		return c.Slope(y, f+c.OffsetAt(at))
	}
	lo, hi := c.Box(y)
	stiff := c.Stiffness() + c.Kappa
	switch v := (y - f + c.Kappa*c.Center.Data[at]) / stiff; {
	case v <= lo:
		return lo, 0
	case v >= hi:
		return hi, 0
	default:
		return v, 1 / stiff
	}
}

// conjugateAt is ψ*(v) of a cell, less v·offset.
func (c *Cells) conjugateAt(at int, y, v float64) float64 {
	value := c.Conjugate(y, v) - v*c.OffsetAt(at)
	if c.Kappa > 0 {
		d := v - c.Center.Data[at]
		value -= c.Kappa / 2 * d * d
	}
	return value
}

// Each calls visit for every cell of positive weight, with its place in Data.
func (c *Cells) Each(visit func(at int, y, w float64)) {
	for at, w := range c.W.Data {
		if w > 0 {
			visit(at, c.Y.Data[at], w)
		}
	}
}

// cellsAtOnce is the number of places that [Cells.Parts] visits in one piece.
const cellsAtOnce = 4096

// Parts calls f with consecutive ranges of places in Data, in parallel, and returns what it returns in their order.
func (c *Cells) Parts(f func(lo, hi int) float64) []float64 {
	parts := make([]float64, (len(c.W.Data)+cellsAtOnce-1)/cellsAtOnce)
	par.Ranges(len(c.W.Data), cellsAtOnce, func(lo, hi int) { parts[lo/cellsAtOnce] = f(lo, hi) })
	return parts
}

// Add is the sum of term over the cells of positive weight, which are visited in parallel.
func (c *Cells) Add(term func(at int, y, w float64) float64) float64 {
	return floats.Sum(c.Parts(func(lo, hi int) (sum float64) {
		for at := lo; at < hi; at++ {
			if w := c.W.Data[at]; w > 0 {
				sum += term(at, c.Y.Data[at], w)
			}
		}
		return sum
	}))
}

// OffsetAt is the offset of a cell, by its place in Data.
func (c *Cells) OffsetAt(at int) float64 {
	if c.Offset == nil {
		return 0
	}
	return c.Offset[at%len(c.Offset)]
}

// Sum is Σ w·φ at F.
func (c *Cells) Sum(F blas.General) float64 {
	return c.Add(func(at int, y, w float64) float64 {
		f := F.Data[at]
		if c.Kappa == 0 {
			return w * c.Value(y, f+c.OffsetAt(at))
		}
		v, _ := c.SlopeAt(at, y, f)
		return w * (c.conjugateAt(at, y, v) - v*f)
	})
}

// Dual is Σ w·(ψ*(v) − v·offset) at v = 2μC/w of the coefficients scale·C, moved into the box.
func (c *Cells) Dual(C blas.General, mu, scale float64) float64 {
	return c.Add(func(at int, y, w float64) float64 {
		lo, hi := c.Box(y)
		v := min(max(2*mu*scale*C.Data[at]/w, lo), hi) // it is outside by rounding
		return w * c.conjugateAt(at, y, v)
	})
}

// Clip moves v = 2μC/w into the box, by C in place, and reports whether it was outside.
func (c *Cells) Clip(C blas.General, mu float64) (moved bool) {
	return 0 < c.Add(func(at int, y, w float64) (moved float64) {
		lo, hi := c.Box(y)
		unit := w / (2 * mu)
		if v := min(max(C.Data[at], unit*lo), unit*hi); v != C.Data[at] {
			C.Data[at], moved = v, 1
		}
		return moved
	})
}

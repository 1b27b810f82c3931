package loss

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// Cells is a loss summed over the cells of a matrix of targets, Σ w·φ(y, f) with the predictions f = F + offset. The
// matrices that its methods take have the shape of Y and no gaps between their rows.
type Cells struct {
	Loss
	Y, W   blas.General // W is 0 where no target counts
	Offset []float64    // of the predictions, one for each column; nil for 0
	Zero   float64      // the sum for F = 0
}

// Each calls visit for every cell of positive weight, with its place in Data.
func (c *Cells) Each(visit func(at int, y, w float64)) {
	for at, w := range c.W.Data {
		if w > 0 {
			visit(at, c.Y.Data[at], w)
		}
	}
}

// OffsetAt is the offset of a cell, by its place in Data.
func (c *Cells) OffsetAt(at int) float64 {
	if c.Offset == nil {
		return 0
	}
	return c.Offset[at%len(c.Offset)]
}

// Sum is Σ w·φ at F.
func (c *Cells) Sum(F blas.General) (sum float64) {
	c.Each(func(at int, y, w float64) { sum += w * c.Value(y, F.Data[at]+c.OffsetAt(at)) })
	return sum
}

// Dual is Σ w·(ψ*(v) − v·offset) at v = 2μC/w of the coefficients scale·C, moved into the box.
func (c *Cells) Dual(C blas.General, mu, scale float64) (sum float64) {
	c.Each(func(at int, y, w float64) {
		lo, hi := c.Box(y)
		v := math.Min(math.Max(2*mu*scale*C.Data[at]/w, lo), hi) // it is outside by rounding
		sum += w * (c.Conjugate(y, v) - v*c.OffsetAt(at))
	})
	return sum
}

// Clip moves v = 2μC/w into the box, by C in place, and reports whether it was outside.
func (c *Cells) Clip(C blas.General, mu float64) (moved bool) {
	c.Each(func(at int, y, w float64) {
		lo, hi := c.Box(y)
		unit := w / (2 * mu)
		if v := math.Min(math.Max(C.Data[at], unit*lo), unit*hi); v != C.Data[at] {
			C.Data[at], moved = v, true
		}
	})
	return moved
}

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
	return c.Add(func(at int, y, w float64) float64 { return w * c.Value(y, F.Data[at]+c.OffsetAt(at)) })
}

// Dual is Σ w·(ψ*(v) − v·offset) at v = 2μC/w of the coefficients scale·C, moved into the box.
func (c *Cells) Dual(C blas.General, mu, scale float64) float64 {
	return c.Add(func(at int, y, w float64) float64 {
		lo, hi := c.Box(y)
		v := min(max(2*mu*scale*C.Data[at]/w, lo), hi) // it is outside by rounding
		return w * (c.Conjugate(y, v) - v*c.OffsetAt(at))
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

package loss

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Cells is a loss summed over the cells of a matrix of targets, Σ w·φ(y, f), as a function of the matrix F of
// predictions. Where constants are free, it is the minimum over b of the sum at f = F + b, with a number b_j added to
// column j of F. This is a convex function of F too. Its gradient is −w·v at the minimising b, so that Σ_i w·v = 0 in
// every column (mathematics.md §17). Coefficients C must then have that property too; [Cells.Clip] establishes it.
// Matrices have the shape of Y and no gaps between their rows.
type Cells struct {
	Loss
	Y, W   blas.General // W is 0 where no target counts
	Free   bool         // constants are free
	Offset []float64    // b of the last Settle; nil for 0
	Zero   float64      // the sum for F = 0
	Rounding
}

// NewCells returns the loss summed over the targets that are not NaN, with the given weights ≥ 0. free tells whether
// constants are free. The error names a target of positive weight for which the loss is not defined.
func NewCells(l Loss, Y blas.General, weight func(i, j int) float64, free bool) (*Cells, error) {
	c := &Cells{Loss: l, Y: blas.Like(Y), W: blas.Like(Y), Free: free}
	for i := range Y.Rows {
		for j, y := range blas.Row(Y, i) {
			w := weight(i, j)
			if !(w > 0) || math.IsNaN(y) {
				continue
			}
			if err := l.CheckTarget(y); err != nil {
				return nil, fmt.Errorf("row %d, column %d: %w", i, j, err)
			}
			c.Y.Data[i*Y.Cols+j], c.W.Data[i*Y.Cols+j] = y, w
		}
	}
	c.Zero = c.Sum(blas.Like(Y))
	return c, nil
}

// Rounding smooths the kinks of a loss: φ(y, f) becomes the maximum over v in the box of ψ*(v) − v·f − (κ/2)(v − v⁰)².
// Its second derivative is at most 1/κ. It is at most φ, and near φ where v⁰ is near the maximising v. The zero value
// does not smooth. The logistic loss accepts the zero value alone.
type Rounding struct {
	Kappa  float64      // κ
	Center blas.General // v⁰
}

// Exact is c without smoothing.
func (c *Cells) Exact() *Cells {
	exact := *c
	exact.Rounding = Rounding{}
	return &exact
}

// SlopeAt is −∂φ/∂f and ∂²φ/∂f² of the cell at a place in Data, with the target y, for the prediction f + offset.
func (c *Cells) SlopeAt(at int, y, f float64) (slope, curvature float64) {
	return c.slopeAt(at, y, f+c.OffsetAt(at))
}

// slopeAt is SlopeAt for the prediction f.
func (c *Cells) slopeAt(at int, y, f float64) (slope, curvature float64) {
	if c.Kappa == 0 {
		return c.Slope(y, f)
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

// Each calls visit for every cell of positive weight, with its index in Data.
func (c *Cells) Each(visit func(at int, y, w float64)) {
	for at, w := range c.W.Data {
		if w > 0 {
			visit(at, c.Y.Data[at], w)
		}
	}
}

// Parts calls f in parallel with ranges of places in Data that cover all, and returns the values of f in the order of
// the ranges.
func (c *Cells) Parts(f func(lo, hi int) float64) []float64 {
	parts := make([]float64, (len(c.W.Data)+par.Elements-1)/par.Elements)
	par.Ranges(len(c.W.Data), par.Elements, func(lo, hi int) { parts[lo/par.Elements] = f(lo, hi) })
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

// Along returns the directional derivative of the sum at F + t·D in the direction D, as a function of t in [0, 1]. The
// derivative of a cell is monotone in t. Cells whose derivative is equal at both ends are summed once, unless constants
// are free.
func (c *Cells) Along(F, D blas.General) func(t float64) float64 {
	if c.Free {
		at := blas.Like(F)
		return func(t float64) float64 {
			blas.Copy(at, F)
			blas.AddScaled(at, t, D)
			c.Settle(at)
			return c.Add(func(i int, y, w float64) float64 {
				v, _ := c.SlopeAt(i, y, at.Data[i])
				return -w * v * D.Data[i]
			})
		}
	}
	moving := make([][]int, (len(c.W.Data)+par.Elements-1)/par.Elements)
	fixed := c.Parts(func(lo, hi int) (sum float64) {
		var list []int
		for at := lo; at < hi; at++ {
			if w, y, f, d := c.W.Data[at], c.Y.Data[at], F.Data[at], D.Data[at]; w > 0 {
				begin, _ := c.SlopeAt(at, y, f)
				if end, _ := c.SlopeAt(at, y, f+d); end != begin {
					list = append(list, at)
				} else {
					sum -= w * begin * d
				}
			}
		}
		moving[lo/par.Elements] = list
		return sum
	})
	return func(t float64) float64 {
		return floats.Sum(fixed) + floats.Sum(c.Parts(func(lo, _ int) (sum float64) {
			for _, at := range moving[lo/par.Elements] {
				v, _ := c.SlopeAt(at, c.Y.Data[at], F.Data[at]+t*D.Data[at])
				sum -= c.W.Data[at] * v * D.Data[at]
			}
			return sum
		}))
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
func (c *Cells) Sum(F blas.General) float64 {
	c.Settle(F)
	return c.Add(func(at int, y, w float64) float64 {
		f := F.Data[at]
		if c.Kappa == 0 {
			return w * c.Value(y, f+c.OffsetAt(at))
		}
		v, _ := c.SlopeAt(at, y, f)
		return w * (c.conjugateAt(at, y, v) - v*f)
	})
}

// Dual is Σ w·(ψ*(v) − v·offset) at v = 2μ·scale·C/w, clipped to the box.
func (c *Cells) Dual(C blas.General, mu, scale float64) float64 {
	return c.Add(func(at int, y, w float64) float64 {
		lo, hi := c.Box(y)
		v := min(max(2*mu*scale*C.Data[at]/w, lo), hi) // it is outside by rounding
		return w * c.conjugateAt(at, y, v)
	})
}

// Gap is the sum at F minus the dual sum at v = 2μC/w. Differences are taken cell by cell, which loses fewer digits
// than the difference of the sums where these are nearly equal.
func (c *Cells) Gap(C, F blas.General, mu float64) float64 {
	c.Settle(F)
	return c.Add(func(at int, y, w float64) float64 {
		lo, hi := c.Box(y)
		f, v := F.Data[at], min(max(2*mu*C.Data[at]/w, lo), hi)
		if c.Kappa == 0 {
			return w * (c.Value(y, f+c.OffsetAt(at)) - c.conjugateAt(at, y, v))
		}
		u, _ := c.SlopeAt(at, y, f)
		center, stiff := c.Center.Data[at], c.Stiffness()
		y -= c.OffsetAt(at)
		value := u*(y-f-stiff*u/2) - v*(y-stiff*v/2)
		return w * (value - c.Kappa/2*((u-center)*(u-center)-(v-center)*(v-center)))
	})
}

// Multiples is the dual side of the certificate at the coefficients s·C as a function of s, without the term of the
// kernels.
type Multiples struct {
	Most  float64                 // the largest s of which v is in the box
	Value func(s float64) float64 // Σ w·(ψ*(v) − v·offset)/μ at v = 2μsC/w for s up to Most
}

// Multiples returns the dual side of the certificate along the multiples of C.
func (c *Cells) Multiples(C blas.General, mu float64) *Multiples {
	m := &Multiples{Most: math.Inf(1)}
	var vy, vv, cross, center float64 // Σw·v·y, Σw·v², Σw·v·v⁰ and Σw·(v⁰)²
	c.Each(func(at int, y, w float64) {
		lo, hi := c.Box(y)
		v := 2 * mu * C.Data[at] / w
		switch {
		case v > 0:
			m.Most = min(m.Most, hi/v)
		case v < 0:
			m.Most = min(m.Most, lo/v)
		}
		vy, vv = vy+w*v*y, vv+w*v*v
		if c.Kappa > 0 {
			v0 := c.Center.Data[at]
			cross, center = cross+w*v*v0, center+w*v0*v0
		}
	})
	m.Most = max(m.Most, 1) // below by rounding
	curve := (c.Stiffness() + c.Kappa) / 2
	m.Value = func(s float64) float64 { return (s*(vy+c.Kappa*cross-s*curve*vv) - c.Kappa/2*center) / mu }
	if c.Kind == Logistic {
		m.Value = func(s float64) float64 { return c.Dual(C, mu, s) / mu }
	}
	return m
}

// Clip projects v = 2μC/w on the box of the loss, by changing C in place, and reports whether v was outside. Where
// constants are free it projects on the v in the box with Σ_i w·v = 0 in every column, in the norm of the weights: it
// subtracts a number from every column before clipping.
func (c *Cells) Clip(C blas.General, mu float64) (moved bool) {
	shift := make([]float64, c.Y.Cols)
	if c.Free {
		par.For(c.Y.Cols, func(j int) { shift[j] = c.level(C, mu, j) })
	}
	return 0 < c.Add(func(at int, y, w float64) (moved float64) {
		lo, hi := c.Box(y)
		unit := w / (2 * mu)
		if v := min(max(C.Data[at]-unit*shift[at%len(shift)], unit*lo), unit*hi); v != C.Data[at] {
			C.Data[at], moved = v, 1
		}
		return moved
	})
}

package semismooth

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// gap is the certificates P − D at fixed kernels of the rounded loss and of the loss itself, and P of that.
type gap struct{ soft, whole, primal float64 }

// gapAt is that for C in the box. While the rounding stays it is that of the rounded loss alone.
func (n *Newton) gapAt(C, F blas.General) (g gap) {
	form := n.Mu * blas.Inner(C, F)
	g.soft = 2*form + n.Cells.Gap(C, F, n.Mu)
	if n.Hold && n.Cells.Kappa > 0 {
		g.primal = n.Cells.Sum(F) + form
		return g
	}
	exact := n.Cells.Exact()
	g.primal, g.whole = exact.Sum(F)+form, g.soft
	if n.Cells.Kappa > 0 {
		g.whole = 2*form + exact.Gap(C, F, n.Mu)
	}
	return g
}

// candidate is the certificates of the next iterate, moved into the box, which it leaves in D.
func (n *Newton) candidate() gap {
	blas.Copy(n.D, n.C1)
	F := n.F1
	if n.Cells.Clip(n.D, n.Mu) {
		n.Map.ApplyMatrix(n.rhs, n.D)
		F = n.rhs
	}
	return n.gapAt(n.D, F)
}

// step computes the next iterate C1 and its F1 by a system that is solved to a relative residual by the share of
// the gap that is to remain and how open it is, and on to where the step is one of descent.
func (n *Newton) step(ctx context.Context, share, open float64) error {
	cells, moved := n.linearize()
	if blas.Zero(n.fixed); moved { // what the fixed cells change
		n.Map.ApplyMatrix(n.fixed, n.D)
		blas.AddScaled(n.rhs, -1, n.fixed)
	}
	cells.Project(n.rhs, n.rhs)
	cells.Balance(n.rhs)
	blas.Zero(n.C1)
	tol := math.Max(0.3*share, math.Min(newtonLoose/max(open, 1), 0.1*open))
	if n.Cells.Kappa > 0 {
		tol = math.Min(tol, 0.1*n.Cells.Kappa/n.size)
	}
	tol = math.Max(newtonStrict, tol)
	for first := true; ; first = false {
		err := n.Solve(ctx, n.C1, n.moved, cells, n.rhs, tol)
		n.failed = first && n.quantile() && !n.Hold &&
			(errors.Is(err, sylvester.ErrNotConverged) || errors.Is(err, sylvester.ErrNotSPD))
		if err != nil && !n.failed && !errors.Is(err, sylvester.ErrNotConverged) {
			return err
		}
		cells.Project(n.move, n.C1)
		blas.AddScaled(n.move, 1, n.D)
		blas.AddScaled(n.moved, 1, n.fixed)
		n.level(n.moved)
		if err != nil || tol <= newtonStrict || n.descends() {
			break
		}
		tol = math.Max(newtonStrict, tighter*tol)
	}
	blas.Copy(n.C1, n.C)
	blas.AddScaled(n.C1, 1, n.move)
	blas.Copy(n.F1, n.F)
	blas.AddScaled(n.F1, 1, n.moved)
	return nil
}

// descends reports whether the residual ε of the system leaves the objective, as it is linearised, at least half of its
// slope along the step d: it is −2(μ⟨d, Md⟩ + ‖PMd‖² + ⟨ε, PMd⟩) for the map M.
func (n *Newton) descends() bool {
	exact := n.Mu*blas.Inner(n.move, n.moved) + n.Cells.Add(func(at int, _, _ float64) float64 {
		return n.W.Data[at] * square(n.moved.Data[at])
	})
	slope := n.Cells.Add(func(at int, _, _ float64) float64 {
		return n.moved.Data[at] * (n.slope.Data[at]/2 - n.Mu*n.C.Data[at] + n.W.Data[at]*(n.at.Data[at]-n.F.Data[at]))
	})
	return slope >= 0.5*exact
}

// level takes from F, of which any constants of its columns can be added to the free ones, the means by W.
func (n *Newton) level(F blas.General) {
	if !n.Cells.Free {
		return
	}
	mean := n.sums(func(at int) float64 { return n.W.Data[at] * F.Data[at] })
	for j, w := range n.sums(func(at int) float64 { return n.W.Data[at] }) {
		if mean[j] != 0 {
			mean[j] /= w
		}
	}
	for at := range F.Data {
		F.Data[at] -= mean[at%F.Cols]
	}
}

// linearize computes the weights W of the step, the right side t − F − μC/W of the cells of positive weight, and the
// change D that is known before the step, that of the others, and reports whether that is not 0.
func (n *Newton) linearize() (cells *linop.Cells, moved bool) {
	blas.Zero(n.rhs)
	blas.Zero(n.D)
	blas.Zero(n.W)
	top := n.slopes(n.at)
	moved = 0 < n.Cells.Add(func(at int, _, w float64) float64 {
		c, slope := n.C.Data[at], n.slope.Data[at]
		if n.W.Data[at] > flatCell*w*top {
			n.rhs.Data[at] = (slope-2*n.Mu*c)/(2*n.W.Data[at]) + n.at.Data[at] - n.F.Data[at]
			return 0
		}
		n.W.Data[at] = 0
		n.D.Data[at] = slope/(2*n.Mu) - c
		return math.Abs(n.D.Data[at])
	})
	cells = linop.WeightedCells(n.W.Rows, n.W.Cols, func(i, j int) float64 { return n.W.Data[i*n.W.Cols+j] })
	if !n.Cells.Free {
		return cells, moved
	}
	return cells.Balanced(), n.share() || moved
}

// share lets the cells of positive W take up what the sums of C and D are off 0, in proportion to W, and reports
// whether that is more than rounding.
func (n *Newton) share() (moved bool) {
	k := n.W.Cols
	all := n.sums(func(at int) float64 { return n.W.Data[at] })
	sum := n.sums(func(at int) float64 { return n.C.Data[at] + n.D.Data[at] })
	size := n.sums(func(at int) float64 { return math.Abs(n.C.Data[at]) + math.Abs(n.D.Data[at]) })
	for j := range sum {
		if all[j] == 0 || !(math.Abs(sum[j]) > 0x1p-50*size[j]) {
			sum[j] = 0
			continue
		}
		sum[j], moved = sum[j]/all[j], true
	}
	n.Cells.Each(func(at int, _, _ float64) {
		if w := n.W.Data[at]; w > 0 {
			n.D.Data[at] -= w * sum[at%k]
			n.rhs.Data[at] += n.Mu * sum[at%k] // −μD/W
		}
	})
	return moved
}

// slopes fills in slope and W at F and returns the largest W/w.
func (n *Newton) slopes(F blas.General) float64 {
	n.Cells.Settle(F)
	return floats.Max(n.Cells.Parts(func(lo, hi int) (top float64) {
		for at := lo; at < hi; at++ {
			if w := n.Cells.W.Data[at]; w > 0 {
				slope, curvature := n.Cells.SlopeAt(at, n.Cells.Y.Data[at], F.Data[at])
				n.slope.Data[at], n.W.Data[at] = w*slope, w*curvature/2
				top = max(top, curvature/2)
			}
		}
		return top
	}))
}

// search moves from C towards C1 to where the slope of the objective has all but vanished, and returns the share of
// the way.
func (n *Newton) search() (step float64) {
	blas.AddScaled(n.C1, -1, n.C)
	blas.AddScaled(n.F1, -1, n.F)
	first, second := blas.Inner(n.C, n.F1), blas.Inner(n.C1, n.F1)
	along := n.Cells.Along(n.F, n.F1)
	slope := func(t float64) float64 { return 2*n.Mu*(first+t*second) + along(t) }
	t := 1.0
	begin := slope(0)
	switch end := slope(1); {
	case begin >= 0: // of F⁰ far from F
		t = 0
	case end > -risingStep*begin:
		lo, below, hi, above := 0.0, begin, 1.0, end // the slopes, or parts of them, of the Illinois method
		for range bisections {
			t = lo - below*(hi-lo)/(above-below)
			switch v := slope(t); {
			case v < fullStep*begin:
				lo, below, above = t, v, above/2
			case v > -risingStep*begin:
				hi, above, below = t, v, below/2
			default:
				lo, hi = t, t
			}
			if lo == hi {
				break
			}
		}
	}
	blas.AddScaled(n.C, t, n.C1)
	blas.AddScaled(n.F, t, n.F1)
	return t
}

// scale is the mean of |y − F| over the width of the box.
func (n *Newton) scale(F blas.General) float64 {
	n.Cells.Settle(F)
	sum := n.Cells.Add(func(at int, y, w float64) float64 {
		lo, hi := n.Cells.Box(y)
		return w * math.Abs(y-F.Data[at]-n.Cells.OffsetAt(at)) / (hi - lo)
	})
	least := math.Max(0x1p-30*n.Cells.Zero, math.SmallestNonzeroFloat64)
	return math.Max(sum, least) / n.Cells.Add(func(_ int, _, w float64) float64 { return w })
}

func square(x float64) float64 { return x * x }

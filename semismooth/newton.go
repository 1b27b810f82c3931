// Package semismooth finds the coefficients C of a convex loss of predictions that are linear in them, by Newton steps
// whose linear systems the caller solves.
//
// It is for the least of
//
//	Σ w·φ(y, F) + μ·⟨C, F⟩,   F = ΣK_jCL_j,
//
// over C. Where φ has the curvature h > 0, w·φ is next to (wh/2)·(t − F)² with another target t, so that a step is a
// system with weights W = wh/2; a cell where h is 0 has v = −∂φ/∂F, which fixes its C:
//
//	P(ΣK_j(PB)L_j) + μB = P∘(t − F⁰),   C = C⁰ + P∘B,   P = diag(√W).
//
// Steps are searched along, which makes them converge from everywhere. Where φ is not strictly convex, they may be
// short. The proximal point method makes them longer: φ becomes the largest of v·r + ψ*(v) − v·y − (κ/2)(v − v⁰)² over
// the box, whose curvature is 1/κ at most. As v⁰ is v of the iterate, the limit is exact whatever κ is.
// Li, Sun and Toh, doi:10.1137/16M1097572, call the like SSNAL.
package semismooth

import (
	"context"
	"errors"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// Problem is what is minimised.
type Problem struct {
	Cells *loss.Cells
	Mu    float64
	Map   *linop.KroneckerSum // C ↦ F
	// Solve solves for B, from the B given, with the weights W of cells and the right side Y, to the relative residual
	// tol or, with an error that is [sylvester.ErrNotConverged], as near as it gets.
	Solve func(ctx context.Context, B blas.General, cells *linop.Cells, Y blas.General, tol float64) error
}

// Newton is the method, with scratch of twelve matrices of the shape of C. Its zero value is ready. Calls for problems
// of the same cells go on with the κ and the weights of the call before.
type Newton struct {
	Problem
	kappa  float64      // kept between calls; 0 at first
	most   float64      // bound of κ; 0 where there is none
	center blas.General // v⁰ of quantiles

	C, F, C1, F1, D, rhs blas.General // the iterate, the next, and scratch
	move                 blas.General // from C to C1
	at                   blas.General // F⁰; at the first step of a call that of the last iterate before
	slope, W             blas.General // w·(−∂φ/∂F) and W at F⁰
}

// Constants of the method.
const (
	newtonSteps  = 200
	newtonIdle   = 30      // steps in a row that do not halve the gap
	openTarget   = 0x1p-51 // least gap over the loss of the function 0: the rounding of the sums
	flatCell     = 1e-9    // curvature relative to the largest below which a cell counts as flat
	fullStep     = 0.1     // slope that the end of a step may have, relative to that at its start
	bisections   = 40
	newtonLoose  = 1e-2 // relative residual of a system, and its least
	newtonStrict = 1e-10
	tighter      = 0.1 // part of a tolerance that gave no descent

	// κ is in units of the mean of |y − F| over the width of the box. It begins at kappaFirst, where most cells are
	// within the box, and with kappaWarm times the last value at a start near a solution. It falls by kappaFall after a
	// full step, and rises by kappaRise, to kappaAgain at least, after one that ends before shortStep of its length.
	kappaFirst = 3
	kappaAgain = 0.03
	kappaLeast = 1e-9
	kappaWarm  = 10
	kappaFall  = 0.2
	kappaRise  = 3
	shortStep  = 0.1
)

// Minimize moves C into the box, and then until the square root of the certificate, relative to the loss of the
// function 0, is at most tol, or no step lowers it. The error is that of the context or of Solve.
func (n *Newton) Minimize(ctx context.Context, C blas.General, p Problem, tol float64) error {
	n.Problem = p
	resumed := n.F.Rows == C.Rows && n.F.Cols == C.Cols
	n.at, n.F = n.F, n.at
	for _, a := range []*blas.General{&n.at, &n.C, &n.F, &n.C1, &n.F1, &n.D, &n.rhs, &n.move, &n.slope, &n.W} {
		*a = blas.Reshape(*a, C.Rows, C.Cols)
	}
	n.Cells.Clip(C, n.Mu)
	n.soften(C)
	n.begin(C)
	if !resumed {
		blas.Copy(n.at, n.F)
	}
	target := math.Max(tol*tol, openTarget) * n.Cells.Zero
	best, idle := n.gap(C, n.F), 0
	for range newtonSteps {
		if best <= target || idle > newtonIdle {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := n.step(ctx, math.Sqrt(target/best), math.Sqrt(best/n.Cells.Zero)); err != nil {
			return err
		}
		idle++
		if now := n.candidate(); now < best {
			if now < 0.5*best {
				idle = 0
			}
			best = now
			blas.Copy(C, n.D)
		}
		way := n.search()
		blas.Copy(n.at, n.F)
		n.recenter(way)
	}
	return nil
}

// begin shortens C to where the objective is about the least.
func (n *Newton) begin(C blas.General) {
	blas.Zero(n.C)
	blas.Zero(n.F)
	blas.Copy(n.C1, C)
	n.Map.ApplyMatrix(n.F1, C)
	n.search()
	blas.Copy(C, n.C)
}

// gap is the certificate P − D at fixed kernels for C in the box.
func (n *Newton) gap(C, F blas.General) float64 {
	return n.Cells.Sum(F) + 2*n.Mu*blas.Inner(C, F) - n.Cells.Dual(C, n.Mu, 1)
}

// candidate is the certificate of the next iterate, moved into the box, which it leaves in D.
func (n *Newton) candidate() float64 {
	blas.Copy(n.D, n.C1)
	F := n.F1
	if n.Cells.Clip(n.D, n.Mu) {
		n.Map.ApplyMatrix(n.rhs, n.D)
		F = n.rhs
	}
	return n.gap(n.D, F)
}

// step computes the next iterate C1 and its F1 by a system that is solved to a relative residual by the share of
// the gap that is to remain and how open it is, and on to where the step is one of descent.
func (n *Newton) step(ctx context.Context, share, open float64) error {
	cells, moved := n.linearize()
	if moved { // what the fixed cells change
		n.Map.ApplyMatrix(n.F1, n.D)
		blas.AddScaled(n.rhs, -1, n.F1)
	}
	cells.Project(n.rhs, n.rhs)
	blas.Zero(n.C1)
	tol := math.Max(newtonStrict, math.Max(0.3*share, math.Min(newtonLoose/max(open, 1), 0.1*open)))
	for {
		err := n.Solve(ctx, n.C1, cells, n.rhs, tol)
		if err != nil && !errors.Is(err, sylvester.ErrNotConverged) {
			return err
		}
		cells.Project(n.move, n.C1)
		blas.AddScaled(n.move, 1, n.D)
		n.Map.ApplyMatrix(n.F1, n.move)
		if err != nil || tol <= newtonStrict || n.descends() {
			break
		}
		tol = math.Max(newtonStrict, tighter*tol)
	}
	blas.Copy(n.C1, n.C)
	blas.AddScaled(n.C1, 1, n.move)
	blas.AddScaled(n.F1, 1, n.F)
	return nil
}

// descends reports whether the residual ε of the system leaves the objective, as it is linearised, at least half of its
// slope along the step d: it is −2(μ⟨d, Md⟩ + ‖PMd‖² + ⟨ε, PMd⟩) for the map M.
func (n *Newton) descends() bool {
	exact, slope := n.Mu*blas.Inner(n.move, n.F1), 0.0
	n.Cells.Each(func(at int, _, _ float64) {
		w, f := n.W.Data[at], n.F1.Data[at]
		exact += w * f * f
		slope += f * (n.slope.Data[at]/2 - n.Mu*n.C.Data[at] + w*(n.at.Data[at]-n.F.Data[at]))
	})
	return slope >= 0.5*exact
}

// linearize computes the weights W of the step, the right side t − F − μC/W of the cells of positive weight, and the
// change D of the others, and reports whether that is not 0.
func (n *Newton) linearize() (cells *linop.Cells, moved bool) {
	blas.Zero(n.rhs)
	blas.Zero(n.D)
	blas.Zero(n.W)
	top := n.slopes(n.at)
	n.Cells.Each(func(at int, _, w float64) {
		c, slope := n.C.Data[at], n.slope.Data[at]
		if n.W.Data[at] > flatCell*w*top {
			n.rhs.Data[at] = (slope-2*n.Mu*c)/(2*n.W.Data[at]) + n.at.Data[at] - n.F.Data[at]
			return
		}
		n.W.Data[at] = 0
		n.D.Data[at] = slope/(2*n.Mu) - c
		moved = moved || n.D.Data[at] != 0
	})
	return linop.WeightedCells(n.W.Rows, n.W.Cols, func(i, j int) float64 { return n.W.Data[i*n.W.Cols+j] }), moved
}

// slopes fills in slope and W at F and returns the largest W/w.
func (n *Newton) slopes(F blas.General) (top float64) {
	n.Cells.Each(func(at int, y, w float64) {
		slope, curvature := n.slopeAt(at, y, F.Data[at])
		n.slope.Data[at], n.W.Data[at] = w*slope, w*curvature/2
		top = math.Max(top, curvature/2)
	})
	return top
}

// slopeAt is −∂φ/∂F and ∂²φ/∂F² of a cell, with κ.
func (n *Newton) slopeAt(at int, y, f float64) (slope, curvature float64) {
	if n.kappa == 0 {
		return n.Cells.Slope(y, f+n.Cells.OffsetAt(at))
	}
	lo, hi := n.Cells.Box(y)
	stiff := n.Cells.Stiffness() + n.kappa
	switch v := (y - f + n.kappa*n.center.Data[at]) / stiff; {
	case v <= lo:
		return lo, 0
	case v >= hi:
		return hi, 0
	default:
		return v, 1 / stiff
	}
}

// search moves from C towards C1 to where the slope of the objective has all but vanished, and returns the share of
// the way.
func (n *Newton) search() (step float64) {
	blas.AddScaled(n.C1, -1, n.C)
	blas.AddScaled(n.F1, -1, n.F)
	first, second := blas.Inner(n.C, n.F1), blas.Inner(n.C1, n.F1)
	slope := func(t float64) float64 {
		sum := 2 * n.Mu * (first + t*second)
		n.Cells.Each(func(at int, y, w float64) {
			v, _ := n.slopeAt(at, y, n.F.Data[at]+t*n.F1.Data[at])
			sum -= w * v * n.F1.Data[at]
		})
		return sum
	}
	t := 1.0
	begin := slope(0)
	if begin < 0 && slope(1) > -fullStep*begin {
		lo, hi := 0.0, 1.0
		for range bisections {
			t = (lo + hi) / 2
			v := slope(t)
			if math.Abs(v) <= -fullStep*begin {
				break
			}
			if v < 0 {
				lo = t
			} else {
				hi = t
			}
		}
	}
	blas.AddScaled(n.C, t, n.C1)
	blas.AddScaled(n.F, t, n.F1)
	return t
}

// soften sets κ and v⁰ for a start C.
func (n *Newton) soften(C blas.General) {
	n.center = blas.Reshape(n.center, C.Rows, C.Cols)
	n.centerAt(C)
	n.most = kappaFirst * n.scale()
	switch {
	case n.Cells.Kind == loss.Logistic:
		n.most, n.kappa = 0, 0
	case n.Cells.Kind == loss.Quantile && n.kappa == 0:
		n.kappa = n.most
	default:
		n.kappa = math.Min(kappaWarm*n.kappa, n.most)
	}
}

// scale is the mean of |y − F⁰| over the width of the box.
func (n *Newton) scale() float64 {
	var sum, weight float64
	n.Cells.Each(func(at int, y, w float64) {
		lo, hi := n.Cells.Box(y)
		sum += w * math.Abs(y-n.at.Data[at]) / (hi - lo)
		weight += w
	})
	return math.Max(sum/weight, math.SmallestNonzeroFloat64)
}

// recenter takes the iterate as v⁰. κ falls after a full step, and rises after one of which little was left.
func (n *Newton) recenter(step float64) {
	if n.most == 0 {
		return
	}
	switch {
	case step == 1:
		n.kappa *= kappaFall
	case step < shortStep:
		n.kappa = math.Min(math.Max(kappaRise*n.kappa, kappaAgain*n.scale()), n.most)
	default:
		return
	}
	if n.kappa < kappaLeast*n.Cells.Stiffness() {
		n.kappa = 0
	}
	n.kappa = math.Max(n.kappa, n.least())
	n.centerAt(n.C)
}

// least is the least κ.
func (n *Newton) least() float64 {
	if n.Cells.Stiffness() > 0 {
		return 0
	}
	return kappaLeast * n.scale()
}

func (n *Newton) centerAt(C blas.General) {
	n.Cells.Each(func(at int, y, w float64) {
		lo, hi := n.Cells.Box(y)
		n.center.Data[at] = math.Min(math.Max(2*n.Mu*C.Data[at]/w, lo), hi)
	})
}

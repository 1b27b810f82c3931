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
// Where a constant of each column is free beside F, the sum is that at the best ones, and Σ_i C is 0 in every column.
// The constants leave the system by a projection Q: P becomes Q·P, B and the right side have sums Σ_i √W·B of 0, and C⁰
// takes up in proportion to W what the cells of known C leave of the sums of C ([linop.Cells.Balanced]).
//
// Steps are searched along, which makes them converge from everywhere. Where φ has kinks they may be short, and C is
// known only once it is known which cells lie at one. The proximal point method rounds the kinks: φ becomes the largest
// of v·r + ψ*(v) − v·y − (κ/2)(v − v⁰)² over the box, whose curvature is 1/κ at most. Where its solution is found, its
// v becomes v⁰, and κ falls, until its certificate for φ itself is small. The solution for κ and v⁰ has exact
// derivatives of a least value that is as near: methods which descend on them hold both, and let κ fall between.
// Li, Sun and Toh, doi:10.1137/16M1097572, call the like SSNAL.
package semismooth

import (
	"cmp"
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"

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
	Hold  bool                // the rounding of Cells stays: the loss to minimise is the rounded one
	// Solve solves for B, from the B given, with the weights W of cells and the right side Y, to the relative residual
	// tol or, with an error that is [sylvester.ErrNotConverged], as near as it gets. It fills in F = ΣK_j(PB)L_j.
	Solve func(ctx context.Context, B, F blas.General, cells *linop.Cells, Y blas.General, tol float64) error
}

// Newton is the method, with scratch of fourteen matrices of the shape of C. Its zero value is ready. Calls for
// problems of the same cells go on with the rounding and the weights of the call before.
type Newton struct {
	Problem
	soft float64 // κ over size from which a start other than 0 is expected to leave the gap asked for, 0 if unknown
	size float64 // mean of |y − F| over the width of the box, at the start of a call
	hard float64 // κμ below which rounding leaves no solution of the systems, as far as is known

	C, F, C1, F1, D, rhs blas.General // the iterate, the next, and scratch
	move, moved          blas.General // from C to C1, and its F
	fixed                blas.General // F of D
	at                   blas.General // F⁰; at the first step of a call that of the last iterate before
	slope, W             blas.General // w·(−∂φ/∂F) and W at F⁰
	failed               bool         // rounding left no solution of the last system
}

// Constants of the method. The rules of κ are in docs/decisions/2026-11-26-kinks.md, with what was tried beside them;
// go test . -bench Losses measures the whole. But for openTarget they change the number of
// steps, not the certificate that ends a call: docs/decisions/2026-11-27-constants.md has half and twice of most.
const (
	newtonSteps  = 200
	newtonIdle   = 30      // steps in a row that do not halve the gap
	fullWay      = 0.5     // share of a step from which the next may end near the solution,
	sometimes    = 4       // whose gap is computed after so many shorter ones all the same
	openTarget   = 0x1p-51 // least gap over the loss of the function 0: the rounding of the sums
	flatCell     = 1e-9    // curvature relative to the largest below which a cell counts as flat
	fullStep     = 0.1     // slope that the end of a step may have, relative to that at its start, or
	risingStep   = 0.01    // with the other sign
	bisections   = 40
	newtonLoose  = 1e-2 // relative residual of a system, and its least
	newtonStrict = 1e-10
	tighter      = 0.1 // part of a tolerance that gave no descent

	// κ begins at softFirst times the mean of |y − F| over the width of the box, where most cells are in the box, or
	// at softWarm of it from a start other than 0. Where the certificate for the rounded loss is at most softPart of
	// that of φ, it falls to at most softFall and at least softLeast of itself. It rises by 1/softLeast after
	// softSteps steps in a row that do not halve the gap. What κ leaves falls as κ^(1/softPower).
	softFirst = 3
	softWarm  = 0.25
	softPart  = 0.05
	softFall  = 0.5
	softLeast = 0.25
	softSteps = 8
	softPower = 2. / 3

	// hardRise is the factor by which κ exceeds one at which rounding has left no solution of a system, and no way of
	// more than hardWay along what there is. From there on v⁰ moves alone, which converges all the faster as κ is small
	// beside the kernels over μ.
	hardRise = 16
	hardWay  = 1e-6
)

// Minimize moves C into the box, and then until the square root of the certificate, relative to the loss of the
// function 0, and the certificate relative to the objective, are at most tol, or no step lowers it. For quantiles the
// first is the certificate of the rounded loss. The error is that of the context or of Solve.
func (n *Newton) Minimize(ctx context.Context, C blas.General, p Problem, tol float64) error {
	r := run{Newton: n, X: C, tol: tol, deep: math.Inf(1), first: true, way: 1, since: 1}
	r.resumed = n.Cells == p.Cells && n.F.Rows == C.Rows && n.F.Cols == C.Cols
	n.Problem = p
	r.begin()
	for step := 0; step < newtonSteps && r.idle <= newtonIdle; step++ {
		if r.sharpens() {
			continue
		}
		if r.met() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.advance(ctx); err != nil {
			return err
		}
	}
	return nil
}

// run is one call of Minimize.
type run struct {
	*Newton
	X           blas.General // the best C, in the box
	best        gap          // there
	tol         float64
	deep        float64 // what the certificate may be where κ does not fall any more: a square of what the loss leaves
	resumed     bool    // rounding and weights are those of the call before
	first       bool    // there has been no solution yet
	way         float64 // the share of the last step that was taken
	idle, since int     // steps that have not halved the gap; steps with this rounding
}

// begin starts between 0 and C.
func (r *run) begin() {
	n, C := r.Newton, r.X
	n.at, n.F = n.F, n.at
	for _, a := range []*blas.General{
		&n.at, &n.C, &n.F, &n.C1, &n.F1, &n.D, &n.rhs, &n.move, &n.moved, &n.fixed, &n.slope, &n.W,
	} {
		*a = blas.Reshape(*a, C.Rows, C.Cols)
	}
	blas.Copy(n.C1, C)
	if n.Cells.Free {
		n.balance(n.C1)
	}
	n.Map.ApplyMatrix(n.F1, n.C1)
	n.size = n.scale(n.F1)
	if blas.Copy(n.D, n.C1); n.Cells.Clip(n.D, n.Mu) { // C of another loss, say
		n.Map.ApplyMatrix(n.rhs, n.D)
		n.size = math.Max(n.size, n.scale(n.rhs))
	}
	if !n.Hold && !r.resumed {
		n.round(blas.Frob(C) == 0)
	}
	blas.Zero(n.C)
	blas.Zero(n.F)
	n.search() // from 0 towards C1
	if !r.resumed {
		blas.Copy(n.at, n.F)
	}
	blas.Copy(C, n.C)
	if n.Cells.Clip(C, n.Mu) {
		r.again()
	} else {
		r.best = n.gapAt(C, n.F)
	}
}

// again computes the certificates of the best point anew.
func (r *run) again() {
	r.Map.ApplyMatrix(r.F1, r.X)
	r.best = r.gapAt(r.X, r.F1)
}

// goal is what the certificate of the rounded loss, of others that of the loss itself, may be.
func (r *run) goal() float64 {
	of := r.tol * r.best.primal
	if r.quantile() && !r.Hold {
		of = math.Min(softPart*of, r.deep)
	}
	return math.Max(math.Min(r.tol*r.tol*r.Cells.Zero, of), openTarget*r.Cells.Zero)
}

// over is how many times the certificate of the loss itself is what it may be.
func (r *run) over() float64 {
	limit := r.goal()
	switch {
	case r.Hold:
		return 0
	case r.quantile():
		limit = math.Max(r.tol*r.best.primal, openTarget*r.Cells.Zero)
	}
	return r.best.whole / math.Max(limit, math.SmallestNonzeroFloat64)
}

func (r *run) met() bool {
	return r.Hold && r.best.soft <= r.goal() || !r.Hold && r.over() <= 1
}

// sharpens lets κ fall where the rounded problem is solved and that of the loss itself is not, and reports whether it
// does.
func (r *run) sharpens() bool {
	more, before := r.over(), r.Cells.Kappa
	if !(before > 0 && more > 1 && r.since > 0) ||
		!(r.best.soft <= math.Max(r.goal(), math.Min(softPart*r.best.whole, r.deep))) {
		return false
	}
	if r.first && !r.resumed {
		r.soft = before / r.size * math.Pow(2*more, -softPower)
	}
	r.sharpen(r.X, math.Min(math.Max(0.9/math.Sqrt(more), softLeast), softFall))
	r.again()
	if r.deep = math.Inf(1); r.Cells.Kappa >= before {
		r.deep = softPart * r.best.soft / (more * more)
	}
	r.idle, r.since, r.first = 0, 0, false
	return true
}

// advance takes a step.
func (r *run) advance(ctx context.Context) error {
	target := r.goal()
	open := math.Max(r.best.soft, target)
	if err := r.step(ctx, math.Sqrt(target/open), math.Sqrt(open/r.Cells.Zero)); err != nil {
		return err
	}
	if r.idle++; r.way > fullWay || r.idle%sometimes == 0 {
		if now := r.candidate(); now.soft < r.best.soft {
			if now.soft < 0.5*r.best.soft {
				r.idle = 0
			}
			r.best = now
			blas.Copy(r.X, r.D)
		}
	}
	r.way = r.search()
	blas.Copy(r.at, r.F)
	if r.failed && !(r.way > hardWay) {
		r.hard = hardRise * r.Cells.Kappa * r.Mu
		r.sharpen(r.X, 1)
		r.again()
		r.since, r.first = 0, false
		return nil
	}
	if r.since++; r.idle > softSteps && !r.Hold && r.soften() {
		r.again()
		r.since = 0
	}
	return nil
}

func (n *Newton) quantile() bool { return n.Cells.Kind == loss.Quantile }

// balance takes from the v of every column of C the number that makes its sum of C vanish.
func (n *Newton) balance(C blas.General) {
	sum, all := make([]float64, C.Cols), make([]float64, C.Cols)
	n.Cells.Each(func(at int, _, w float64) {
		sum[at%C.Cols] += C.Data[at]
		all[at%C.Cols] += w
	})
	n.Cells.Each(func(at int, _, w float64) { C.Data[at] -= w / all[at%C.Cols] * sum[at%C.Cols] })
}

// Beside is a method whose first κ is the last one of n: for a problem like its, at another level.
func (n *Newton) Beside() Newton {
	if n.Cells == nil {
		return Newton{}
	}
	return Newton{soft: math.Min(n.Cells.Kappa/n.size, softFirst), hard: n.hard}
}

// round chooses κ and v⁰ for a call that goes on from C1, which is 0 or not.
func (n *Newton) round(zero bool) {
	n.Cells.Rounding = loss.Rounding{Center: blas.NewGeneral(n.C1.Rows, n.C1.Cols)}
	if n.quantile() {
		if n.Cells.Kappa = cmp.Or(n.soft, softWarm) * n.size; zero {
			n.Cells.Kappa = softFirst * n.size
		}
		n.Cells.Kappa = math.Max(n.Cells.Kappa, n.hard/n.Mu)
	}
}

// Sharpen makes v of C the v⁰, multiplies κ by fall, and takes for F⁰ the predictions at which cells with v in the box
// keep it. It is for a call after one that held the rounding.
func (n *Newton) Sharpen(C blas.General, fall float64) {
	n.sharpen(C, fall)
	n.at, n.F = n.F, n.at // which the next call begins with
}

func (n *Newton) sharpen(C blas.General, fall float64) {
	n.Cells.Settle(n.F)
	n.Cells.Kappa *= fall
	if n.quantile() {
		n.Cells.Kappa = math.Max(n.Cells.Kappa, n.hard/n.Mu)
	}
	if n.Cells.Kappa < softLeast*softLeast*n.Cells.Stiffness() {
		n.Cells.Kappa = 0
	}
	n.Cells.Add(func(at int, y, w float64) float64 {
		lo, hi := n.Cells.Box(y)
		v := min(max(2*n.Mu*C.Data[at]/w, lo), hi)
		n.Cells.Center.Data[at], n.at.Data[at] = v, n.F.Data[at]
		if v > lo && v < hi {
			n.at.Data[at] = y - n.Cells.OffsetAt(at) - n.Cells.Stiffness()*v
		}
		return 0
	})
}

// soften raises κ, and reports false where it is as large as it is to be.
func (n *Newton) soften() bool {
	if n.Cells.Kind == loss.Logistic || n.Cells.Kind == loss.Squared || n.Cells.Kappa >= softFirst*n.size {
		return false
	}
	if n.Cells.Kappa /= softLeast; n.Cells.Kappa == 0 {
		n.Cells.Kappa = softWarm * n.size
	}
	n.Cells.Kappa = math.Min(n.Cells.Kappa, softFirst*n.size)
	return true
}

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
	sum, all := make([]float64, F.Cols), make([]float64, F.Cols)
	for at, w := range n.W.Data {
		sum[at%F.Cols] += w * F.Data[at]
		all[at%F.Cols] += w
	}
	for j, w := range all {
		if sum[j] != 0 {
			sum[j] /= w
		}
	}
	for at := range F.Data {
		F.Data[at] -= sum[at%F.Cols]
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
	sum, size, all := make([]float64, k), make([]float64, k), make([]float64, k)
	n.Cells.Each(func(at int, _, _ float64) {
		c, d := n.C.Data[at], n.D.Data[at]
		sum[at%k] += c + d
		size[at%k] += math.Abs(c) + math.Abs(d)
		all[at%k] += n.W.Data[at]
	})
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

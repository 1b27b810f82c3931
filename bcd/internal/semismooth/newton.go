// Package semismooth minimises a convex loss of predictions that are linear in the coefficients C, by semismooth Newton
// steps whose linear systems the caller solves:
//
//	minimise over C:  Σ w·φ(y, F) + μ·⟨C, F⟩,   F = ΣK_jCL_j.
//
// Where φ has the second derivative h > 0, w·φ is approximated by (wh/2)·(t − F)² with another target t, so that a step
// is a system with weights W = wh/2. In a cell with h = 0, v = −∂φ/∂F determines C. The step is
//
//	P(ΣK_j(PB)L_j) + μB = P∘(t − F⁰),   C = C⁰ + P∘B,   P = diag(√W).
//
// If a constant of each column is free, the sum is minimised over the constants too, and Σ_i C = 0 in every column. The
// constants are eliminated by a projection Q: P becomes Q·P, B and the right side satisfy Σ_i √W·B = 0, and the sums
// over the cells with known C are compensated in C⁰ in proportion to W (linop.Cells.Balanced).
//
// A line search makes the steps converge from any start. At kinks of φ they may be short, because C depends on which
// cells lie at a kink. The proximal point method smooths the kinks: φ becomes the maximum over the box of v·r + ψ*(v) −
// v·y − (κ/2)(v − v⁰)², r = y − F, whose second derivative is at most 1/κ. After each solution v⁰ becomes its v and κ
// decreases, until the certificate for φ itself is small. For fixed κ and v⁰ the minimum has exact derivatives in η and
// L. Methods that descend on them keep κ and v⁰ fixed, and decrease κ in between. The method is that of SSNAL (Li, Sun
// and Toh, doi:10.1137/16M1097572).
package semismooth

import (
	"cmp"
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
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

// sums are those of a over the observed cells of every column.
func (n *Newton) sums(a func(at int) float64) []float64 {
	sum := make([]float64, n.W.Cols)
	n.Cells.Each(func(at int, _, _ float64) { sum[at%n.W.Cols] += a(at) })
	return sum
}

// balance takes from the v of every column of C the number that makes its sum of C vanish.
func (n *Newton) balance(C blas.General) {
	w := n.Cells.W.Data
	sum, all := n.sums(func(at int) float64 { return C.Data[at] }), n.sums(func(at int) float64 { return w[at] })
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

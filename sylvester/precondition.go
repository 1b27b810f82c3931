// This file preconditions systems with missing cells, and sums, by a decomposition of K that is kept between calls.

package sylvester

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// keeper keeps the decomposition, or the leading part of one, by which systems with
// holes and sums are preconditioned, and decides when it is made anew: K may have
// changed since, and a part may say too little about K.
type keeper struct {
	cfg   Config
	exact bool // dec holds all eigenvectors, else a sketch
	only  bool // exact stays as it is, whatever is forecast
	below int  // the order up to which all eigenvectors are computed without a sketch before
	dec   *Decomposition
	each  float64 // flops of one product with the system to solve
	stale bool    // K has changed since
	hard  bool    // full-grid solves have cost what a factor for the cells and its iterations do, without an end
	pairs int     // that a factor for the cells takes at most; 0 without one
	full  bool    // the sketch has ended at that number
	moves bool    // the cells change between calls, so that a factor for them would not last

	pace    float64 // work for each factor e of the residual, when fresh; 0 when unknown
	history []point
}

// point is the state of a solve after an iteration.
type point struct{ residual, work float64 }

// left forecasts the work for so many factors e by the pace since an earlier point.
func (p point) left(folds float64, before point) float64 {
	if gained := math.Log(before.residual / p.residual); gained > 0 {
		return folds * (p.work - before.work) / gained
	}
	return math.Inf(1)
}

// These decide between methods only. They are of the size that docs/decisions/2026-11-22-missing-cells.md measures;
// docs/decisions/2026-11-27-constants.md says what half and twice of usualSolves and sketchGap change.
const (
	// exactBelow is keeper.below for the methods that choose.
	exactBelow = 400
	// usualSolves is the number of full-grid solves, and of iterations behind a sketch,
	// that a system with holes is expected to take.
	usualSolves = 12.
	// forecastOver is how many iterations a forecast looks back.
	forecastOver = 3
	// sketchGap is the largest σ·ρ/μ beyond a sketch that needs no larger one, where a
	// product with the system costs what one with K does. It is smaller in proportion where that costs more.
	sketchGap = 4.
	// sketchFirst is the rank of a first sketch, sketchForecast that from which its
	// eigenvalues tell how the others fall.
	sketchFirst, sketchForecast = 32, 64
)

// limited is filled with MaxIter in place for l rows.
func (o Options) limited(l int) Options {
	o = o.filled()
	o.MaxIter = cmp.Or(o.MaxIter, 10*l)
	return o
}

// renewal is the cost of making dec anew.
func (k *keeper) renewal(l int) float64 {
	fl := float64(l)
	if k.exact {
		return DecomposeCubes * fl * fl * fl
	}
	return sketchWork(fl, fl/8)
}

// prepare makes sure that there is a decomposition for K's order.
func (k *keeper) prepare(ctx context.Context, sys System) error {
	if k.dec != nil && k.dec.T.Rows == sys.K.Dim() {
		return nil
	}
	if !k.only {
		k.exact = sys.K.Dim() <= k.below
	}
	return k.renew(ctx, sys)
}

// renew makes dec from the present K. Where memory does not allow all eigenvectors
// and nothing but speed asks for them, it makes a sketch.
func (k *keeper) renew(ctx context.Context, sys System) error {
	done, err := false, error(nil)
	k.full = false
	if !k.exact {
		done, err = k.sketch(ctx, sys)
	}
	if !done && err == nil {
		k.dec = nil // to be collected
		if k.dec, err = Decompose(ctx, sys.K, k.cfg.Backend); !k.only && errors.Is(err, memory.ErrTooLarge) {
			k.exact, k.only = false, true
			_, err = k.sketch(ctx, sys)
		}
	}
	if err != nil {
		k.dec = nil
		return err
	}
	k.stale, k.pace = false, 0
	return nil
}

// sketch makes dec of leading eigenvectors, as many as the condition of the system
// asks for. It reports false, and sets exact, when all of them are forecast to be cheaper.
func (k *keeper) sketch(ctx context.Context, sys System) (done bool, err error) {
	l := sys.K.Dim()
	s := sketch{be: k.cfg.Backend, seed: k.cfg.Seed}
	for q := min(sketchFirst, l); ; q = min(2*q, l/2) {
		known, err := s.grow(ctx, sys.K, q)
		if err != nil {
			return false, err
		}
		if !known { // K is zero, or not positive semidefinite
			k.dec = &Decomposition{T: blas.NewGeneral(l, 0)}
			return true, nil
		}
		k.dec = &Decomposition{T: s.low.U, Sigma: s.low.s}
		k.full = k.fills(sys)
		if !k.coarse(sys) || s.exhausted() || q >= l/2 || k.full {
			return true, nil
		}
		if k.exact = !k.only && q >= sketchForecast && k.hopeless(sys); k.exact {
			return false, nil
		}
	}
}

// fills reports whether the pairs that the sketch knows are all that a factor for the cells takes.
func (k *keeper) fills(sys System) bool {
	last := len(k.dec.Sigma) - 1
	if k.pairs == 0 || last < 0 || sys.L.Rank() == 0 {
		return false
	}
	cut := k.dec.Sigma[last] * sys.L.S[0] / sys.Mu
	return pairs(make([]int, sys.L.Rank()), k.dec.Sigma, sys.L.S, 0, sys.Mu, cut) > k.pairs
}

// hopeless forecasts, by a power law through its eigenvalues, whether a sketch large
// enough for the system and iterations behind it cost more than all eigenvectors.
func (k *keeper) hopeless(sys System) bool {
	s := k.dec.Sigma
	q, l, r := len(s), sys.K.Dim(), sys.L.Rank()
	slope := math.Log(s[q/2-1]/s[q-1]) / math.Log(float64(q)/float64(q/2))
	enough := float64(q) * math.Pow(s[q-1]*sys.L.S[0]/(k.gap(sys)*sys.Mu), 1/max(slope, 0.1))
	fl, fr := float64(l), float64(r)
	by := sketchWork(fl, enough) + usualSolves*(k.each+16*fl*enough*fr)
	return by > DecomposeCubes*fl*fl*fl+usualSolves*gridWork(l, l, r)
}

// overdue reports, after an iteration that has left the given residual for the work so
// far, whether what is left is forecast to cost more than with a new decomposition,
// its making included. It settles which kind that is to be.
func (k *keeper) overdue(sys System, residual, work, tol float64) bool {
	folds := math.Log(residual / tol)
	left := k.left(point{residual, work}, folds, len(k.history)-forecastOver)
	if !(folds > 0) {
		return false
	}
	l, r := sys.K.Dim(), sys.L.Rank()
	if !k.only && !k.exact && k.coarse(sys) {
		all := DecomposeCubes*math.Pow(float64(l), 3) + usualSolves*gridWork(l, l, r)
		if left > all {
			k.exact = true
			return true
		}
	}
	return k.stale && left > 1.5*k.renewal(l)+k.pace*folds
}

// left forecasts the work for so many factors e by the pace since an earlier point of the history, which now ends it; 0
// where that is too short to tell.
func (k *keeper) left(now point, folds float64, since int) float64 {
	k.history = append(k.history, now)
	if len(k.history) <= forecastOver {
		return 0
	}
	return now.left(folds, k.history[since])
}

// gap is sketchGap for the cost of a product.
func (k *keeper) gap(sys System) float64 {
	l, r := float64(sys.K.Dim()), float64(sys.L.Rank())
	return sketchGap * min(1, 2*l*l*r/k.each)
}

// coarse reports whether what a sketch leaves out of K matters for the condition of the system.
func (k *keeper) coarse(sys System) bool {
	last := len(k.dec.Sigma) - 1
	return sys.L.Rank() > 0 && (last < 0 || k.dec.Sigma[last]*sys.L.S[0] > k.gap(sys)*sys.Mu)
}

// leading are the pairs of dec that a sketch for the system would keep.
func (k *keeper) leading(sys System) Decomposition {
	d := *k.dec
	if s := d.Sigma; len(s) == 0 || s[0] >= s[len(s)-1] || sys.L.Rank() == 0 { // those of a sketch descend
		return d
	}
	out, _ := slices.BinarySearch(d.Sigma, k.gap(sys)*sys.Mu/sys.L.S[0]) // they ascend
	out = max(out-1, 0)
	return Decomposition{blas.View(d.T, 0, out, d.T.Rows, d.T.Cols-out), d.Sigma[out:]}
}

// preconditioned solves systems A·vec(C) = vec(Y) on the observed cells by flexible
// conjugate gradients, preconditioned by [missingCells] with a separable system.
type preconditioned struct {
	keep  keeper
	inner missingCells
	grid  spectralGrid
	near  cellFactor
	work  cg.Workspace
	x, b  blas.General // contiguous C and P_Ω·Y
}

// target is one system A·x = b on the observed cells.
type target struct {
	A       linop.Operator // on vec, masked
	cells   *linop.Cells   // of weights at most 1, for near; nil for all
	between *linop.Cells   // whose sums of x vanish, where they are balanced; else not read
	near    System         // a separable system close to it, or itself; K is used when a decomposition is made
	same    bool           // near is the system itself
	product float64        // flops of one application of A
	columns int            // columns multiplied by K in one application of A
}

// load copies C and Y to x and b, on the observed cells.
func (p *preconditioned) load(cells *linop.Cells, C, Y blas.General) {
	p.x, p.b = blas.Reshape(p.x, C.Rows, C.Cols), blas.Reshape(p.b, C.Rows, C.Cols)
	blas.Copy(p.x, C)
	blas.Copy(p.b, Y)
	if cells != nil {
		cells.Keep(p.x, p.x)
		cells.Keep(p.b, p.b)
	}
}

// relInexact is how far [missingCells] goes where its system is only near the one to solve. The work hardly depends on
// it: docs/decisions/2026-11-22-missing-cells.md.
const relInexact = 0.1

// solve improves x until A·x = b holds to the tolerance, with the decomposition kept. A factor for the cells takes over
// from full-grid solves that have cost as much without an end.
func (p *preconditioned) solve(ctx context.Context, t target, opt Options, res *Result) error {
	k := &p.keep
	k.history, k.each, k.pairs = k.history[:0], t.product, 0
	if k.factors(t.cells) {
		k.pairs = mostPairs(p.x.Rows)
	}
	if err := k.prepare(ctx, t.near); err != nil {
		return err
	}
	switch {
	case k.factors(t.cells):
		return p.byFactor(ctx, t, opt, res)
	case t.cells == nil || k.only || k.moves:
		return p.byGrid(ctx, t, opt, res)
	}
	_, _, other := p.near.plan(k.cfg.Backend, k.dec, t)
	p.near.made = nil
	each := gridWork(p.x.Rows, len(k.dec.Sigma), t.near.L.Rank())
	bounded := opt
	bounded.MaxIter = min(opt.MaxIter, max(usualSolves, int(other/each)))
	err := p.byGrid(ctx, t, bounded, res)
	if opt.MaxIter -= res.Iter; !errors.Is(err, ErrNotConverged) || opt.MaxIter <= 0 {
		return err
	}
	k.hard = true
	return p.byFactor(ctx, t, opt, res)
}

// byGrid is solve by conjugate gradients preconditioned by [missingCells].
func (p *preconditioned) byGrid(ctx context.Context, t target, opt Options, res *Result) error {
	k := &p.keep
	p.aim(t, opt)
	s, start := &p.inner, 0.0
	s.cells, s.grid, s.mu, s.limit, s.solves, s.err = t.cells, &p.grid, t.near.Mu, opt.MaxIter, 0, nil
	if s.share = 1; t.cells != nil {
		s.share = t.cells.Mean()
	}
	s.shape(p.x.Rows, p.x.Cols)
	err := p.run(ctx, t.A, t.between.Between(s.within(ctx)), t.columns, opt, res, func(step cg.Step) error {
		if s.err != nil {
			return s.err
		}
		if step.Iter == 0 {
			start = step.Residual
		}
		work := float64(step.Iter)*t.product + float64(s.solves)*gridWork(p.x.Rows, len(k.dec.Sigma),
			t.near.L.Rank())
		if k.overdue(t.near, step.Residual, work, opt.Tol) {
			if err := k.renew(ctx, t.near); err != nil {
				return err
			}
			k.history = k.history[:0]
			p.aim(t, opt)
			return cg.ErrRestart
		}
		if folds := math.Log(start / step.Residual); step.Residual <= opt.Tol && !k.stale && k.pace == 0 && folds > 1 {
			k.pace = work / folds
		}
		return nil
	})
	res.GridSolves += s.solves
	return err
}

// fewMissing is the mean of 1 − w up to which correcting for the missing cells takes fewer flops than a factor. Figures
// in docs/decisions/2026-11-23-leading-pairs.md.
const fewMissing = 0.05

// factors reports whether a [cellFactor] is to precondition the system of the cells.
func (k *keeper) factors(cells *linop.Cells) bool {
	return cells != nil && !k.only && !k.moves && (k.hard || 1-cells.Mean() > fewMissing)
}

// byFactor is solve by conjugate gradients that a factor for the cells preconditions. One of an earlier system serves
// until what is left is forecast to cost more than with a new one, its making included.
func (p *preconditioned) byFactor(ctx context.Context, t target, opt Options, res *Result) error {
	k, f := &p.keep, &p.near
	f.cells = t.cells
	if k.full && !k.fills(t.near) && k.coarse(t.near) { // L has fewer large eigenvalues now
		k.stale = true
	}
	made := f.made != nil && f.U.Rows == p.x.Rows && f.V.Rows == p.x.Cols
	last := !made // no other factor is to follow
	// All eigenvectors of a K before serve once more where L has changed too.
	decomposes := func() bool {
		return k.stale && (!made || !k.dec.whole() || slices.Equal(f.rho, t.near.L.S))
	}
	renew := func() error {
		if decomposes() {
			if err := k.renew(ctx, t.near); err != nil {
				return err
			}
		}
		k.history, last = k.history[:0], !k.stale
		return f.set(ctx, k.cfg.Backend, k.dec, t)
	}
	if !made {
		if err := renew(); err != nil {
			return err
		}
		made = true
	}
	return p.run(ctx, t.A, t.between.Between(f), t.columns, opt, res, func(step cg.Step) error {
		folds := math.Log(step.Residual / (margin * opt.Tol))
		if last || !(folds > 0) {
			return nil
		}
		left := k.left(point{step.Residual, float64(step.Iter)}, folds, 0)
		each := t.product + f.iterationWork(f.factor.Rows, f.U.Cols, f.V.Cols)
		again := folds*math.Sqrt(1+f.cut)/2*each + buildWork(p.x.Rows, f.factor.Rows)
		if decomposes() {
			again += k.renewal(p.x.Rows)
		}
		if left*each > again {
			if err := renew(); err != nil {
				return err
			}
			return cg.ErrRestart
		}
		return nil
	})
}

// aim gives the grid the decomposition kept, and the corrections for missing cells
// the accuracy that it deserves.
func (p *preconditioned) aim(t target, opt Options) {
	p.grid.be, p.grid.dec, p.grid.L, p.grid.mu = p.keep.cfg.Backend, p.keep.dec, t.near.L, t.near.Mu
	p.inner.tol, p.inner.rel = 0.9*opt.Tol, relInexact
	if t.same && !p.keep.stale && p.keep.dec.whole() {
		p.inner.rel = 0
	}
}

// run is conjugate gradients on x with the preconditioner M; watch, when not
// nil, sees every step, and may change M or stop the solve.
func (p *preconditioned) run(
	ctx context.Context, A, M linop.Operator, columns int, opt Options, res *Result, watch func(cg.Step) error,
) error {
	out, err := p.work.Solve(ctx, p.x.Data, A, p.b.Data, cg.Options{
		Tol: margin * opt.Tol, MaxIter: opt.MaxIter, ScaleStart: true, Precond: M, Flexible: true,
		Trace: func(s cg.Step) error {
			var changed error
			if watch != nil {
				if changed = watch(s); changed != nil && !errors.Is(changed, cg.ErrRestart) {
					return changed
				}
			}
			if opt.Trace == nil {
				return changed
			}
			return cmp.Or(opt.Trace(Step{Iter: s.Iter, Residual: s.Residual, Columns: s.Iter * columns}), changed)
		},
	})
	res.Residual = out.Residual
	(&Result{Iter: out.Applies, Columns: out.Applies * columns}).count(ctx, p.x.Rows)
	res.Iter += out.Applies
	res.Columns += out.Applies * columns
	switch {
	case errors.Is(err, cg.ErrNotConverged) && out.Residual <= opt.Tol:
		return nil // by less than the margin
	case errors.Is(err, cg.ErrNotConverged), errors.Is(err, errLimit):
		return notConverged(res, opt.Tol)
	}
	return translated(err)
}

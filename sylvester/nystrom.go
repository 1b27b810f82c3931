// This file is the solver nystrom: conjugate gradients preconditioned by a randomized sketch of K.

package sylvester

import (
	"context"
	"math"
	"runtime/debug"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// nystrom is rotated with one randomized low-rank preconditioner for all shifts;
// see [sketch] and [lowRank]. Its rank is chosen from the spectrum it finds, the
// shifts and the tolerance. Columns whose shift is too small for the part of K
// outside the sketch to matter are solved by the low-rank formula alone.
//
// After Invalidate the preconditioner stays in use until iterations grow by half.
//
// Where K is a linop.Mixed of an order for which that pays, the sketch and the
// iterations take it in single precision unless the tolerance or the condition of
// the system forbid; true residuals are of double precision always, and
// when they show that single precision does not do, double precision takes over.
type nystrom struct {
	cg   shifted
	sk   sketch
	load workload

	model   spectrumModel
	changed bool // K has changed since it was sampled

	roughAt float64 // the last tolerance that single precision was too rough for
	room    float64 // memory for the sketch where a factor is another way, 0 where there is none
	stale   bool    // K has changed since it was sketched
	uses    float64 // solves since K was last sketched
	pace    float64 // iterations for each factor e of the residual, when fresh
}

func newNystrom(cfg Config) *nystrom {
	return &nystrom{sk: sketch{be: blas.Beside(cfg.Backend), seed: cfg.Seed}}
}

func (s *nystrom) Name() string { return "nystrom" }

func (s *nystrom) Invalidate() { s.stale, s.changed = true, true }

func (s *nystrom) sketch(ctx context.Context, f *frame) (*lowRank, error) {
	if err := s.survey(ctx, f); err != nil || len(f.rho) == 0 {
		return nil, err
	}
	return &s.sk.low, s.chooseRank(ctx, f)
}

func (s *nystrom) prepare(ctx context.Context, f *frame) error {
	if err := s.survey(ctx, f); err != nil {
		return err
	}
	if err := s.chooseRank(ctx, f); err != nil {
		return err
	}
	s.solveByFormula(f)
	return nil
}

func (s *nystrom) round(ctx context.Context, f *frame, round int) error {
	s.cg.patience, s.cg.renew = 0, nil
	if round > 0 {
		return s.cg.round(ctx, f, round)
	}
	f.start()
	first := f.res.Iter
	folds := math.Log(blas.Frob(blas.View(f.rt, 0, 0, f.rt.Rows, f.iterated)) / (f.opt.Tol * f.normY))
	if !(folds > 1) {
		folds = 1
	}
	if s.stale && s.pace > 0 {
		s.cg.patience = int(slower*s.pace*folds) + 2
		s.cg.renew = func(ctx context.Context) error { // sketch the present K, with the rank there was
			q := s.sk.Q.Cols
			s.sk.reset()
			return s.grow(ctx, f, q)
		}
	}
	err := s.cg.round(ctx, f, round)
	if !s.stale && s.pace == 0 && err == nil {
		s.pace = float64(f.res.Iter-first) / folds
	}
	s.uses++
	return err
}

// survey sets what the columns ask for and makes a first sketch where there is none.
func (s *nystrom) survey(ctx context.Context, f *frame) error {
	if err := s.view(f, false); err != nil || len(f.rho) == 0 {
		return err
	}
	return s.firstSketch(ctx, f)
}

// view sets what the columns ask for and samples K. The caller's start is multiplied by K where that is cheap, or the
// product is known; elsewhere the columns are taken to start from zero.
func (s *nystrom) view(f *frame, cheap bool) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	r := len(f.rho)
	if r == 0 {
		return nil
	}
	if s.sk.Q.Rows != f.Y.Rows {
		s.sk.reset()
	}
	rhs := f.yt
	if !f.cold && (cheap || f.known()) {
		f.iterated = r
		f.start()
		rhs = f.rt
	}
	s.load.reset(f.Y.Rows)
	norms := f.columnSums(r)
	columnSquares(norms, rhs)
	share := math.Log(f.opt.Tol * f.normY / math.Sqrt(float64(r)))
	for j, rho := range f.rho {
		s.load.add(rho/f.mu, 0.5*math.Log(norms[j])-share)
	}
	if s.changed || s.model.l != f.Y.Rows {
		s.model.sample(f.be, f.given, s.sk.seed)
		s.changed = false
	}
	s.model.project(f.be, rhs)
	s.fit()
	s.allowSingle(f)
	s.load.single = s.expectsSingle(f)
	return nil
}

// fit brings the model up to the sketch.
func (s *nystrom) fit() { s.model.fit(s.sk.low.s, s.sk.low.rank() > 0 && s.sk.exhausted()) }

// allowSingle lets the sketch and the iterations take K in single precision where that pays.
func (s *nystrom) allowSingle(f *frame) {
	m, ok := f.sys.K.(linop.Mixed)
	l := f.Y.Rows
	if ok && !f.res.Single && l >= mixedFrom && l <= linop.KeepBoth && len(f.rho) >= mixedRank &&
		!s.illConditioned(f) &&
		(s.sk.low.rank() == 0 || f.opt.Tol > s.roughAt) {
		f.fast, f.mixed = m.Single(), true
	}
}

// expectsSingle foretells, after survey, whether the iterations will be in single precision.
func (s *nystrom) expectsSingle(f *frame) bool {
	if !f.mixed || s.illConditioned(f) {
		return false
	}
	if s.uses > 0 || s.sk.low.rank() == 0 {
		return true // the last solve has found it exact enough, or nothing tells yet
	}
	s.guess(f, &s.sk.low)
	return !s.singleTooRough(f)
}

// illConditioned reports whether the system is too ill conditioned for single precision.
func (s *nystrom) illConditioned(f *frame) bool {
	return f.top()*s.model.value[0] > singleCondition*f.mu
}

// singleTooRough reports whether the residual that iterations in single precision
// leave, Σ_j (ρ_j·‖E·x_j‖)², exceeds what the tolerance allows, by the sizes of the
// columns of C̃.
func (s *nystrom) singleTooRough(f *frame) bool {
	sq := f.columnSums(len(f.rho))
	columnSquares(sq, f.ct)
	var rest float64
	for j, rho := range f.rho {
		rest += sq[j] * square(rho)
	}
	low := s.sk.low.s
	return square(singleError)*blas.Dot(low, low)/float64(f.Y.Rows)*rest > square(f.opt.Tol*f.normY)
}

// firstSketch makes the first sketch of an order, or of a precision that shows more of it.
func (s *nystrom) firstSketch(ctx context.Context, f *frame) error {
	if l := f.Y.Rows; s.sk.Q.Rows != l || s.sk.coarse(f.fast) {
		s.sk.reset()
		if err := s.grow(ctx, f, min(l, firstRank)); err != nil {
			return err
		}
	}
	s.fit()
	if f.mixed && s.illConditioned(f) {
		f.unmix()
		return s.firstSketch(ctx, f)
	}
	s.load.single = s.expectsSingle(f)
	return nil
}

// maxRank is the largest rank for order l: half of it or, of large orders, what part of the memory there is holds, and
// no more than the factor that is another way.
func (s *nystrom) maxRank(l int) int {
	if l <= linop.KeepBoth {
		return l / 2
	}
	room := sketchMemory * float64(memory.Limit())
	if s.room > 0 {
		room = min(room, s.room)
	}
	return max(min(l/2, int(room/(8*sketchBlocks*float64(l)))), firstRank)
}

// SketchBytes is the memory that an iterative solver is planned to have for the sketch of a K of order l; it takes
// more where there is more, and less where there is less.
func SketchBytes(l int) float64 { return 8 * sketchBlocks * plannedRank * float64(l) }

// chooseRank grows the sketch to the rank that makes the solves to come cheapest, by a factor of two at a time.
func (s *nystrom) chooseRank(ctx context.Context, f *frame) error {
	for grown := true; grown && s.mayGrow() && len(f.rho) > 0; {
		q := s.sk.low.rank()
		best, _ := s.load.bestRank(&s.model, costsOf(f.be), q, s.maxRank(f.Y.Rows), max(1, min(s.uses, mostUses)),
			math.Inf(1))
		if best <= q {
			return nil
		}
		var err error
		if grown, err = s.growTo(ctx, f, 2*q); err != nil {
			return err
		}
	}
	return nil
}

// mayGrow reports whether a larger sketch would be one of the present K and show more of it.
func (s *nystrom) mayGrow() bool { return !s.stale && !s.sk.exhausted() }

// growTo extends the sketch to q columns, maxRank at most, where it may grow, and
// reports whether it has: each time it has more columns than before, so that a
// loop which ends when it has not grown ends.
func (s *nystrom) growTo(ctx context.Context, f *frame, q int) (bool, error) {
	q = min(q, s.maxRank(f.Y.Rows))
	if !s.mayGrow() || q <= s.sk.Q.Cols {
		return false, nil
	}
	if err := s.grow(ctx, f, q); err != nil {
		return false, err
	}
	s.fit()
	s.load.single = s.expectsSingle(f)
	return true, nil
}

// grow extends the sketch of the present K.
func (s *nystrom) grow(ctx context.Context, f *frame, q int) error {
	if s.sk.Q.Cols > 0 && f.Y.Rows > linop.KeepBoth {
		debug.FreeOSMemory() // of the blocks that the growth before left, or it takes more than sketchBlocks
	}
	f.res.Columns += 2 * (q - s.sk.Q.Cols)
	f.res.Iter += 2
	ok, err := s.sk.grow(ctx, f.fast, q)
	if !ok && err == nil && f.mixed { // beyond the range of single precision
		f.unmix()
		s.sk.reset()
		return s.grow(ctx, f, q)
	}
	switch {
	case !ok && err != nil:
		return err
	case !ok:
		s.sk.low = lowRank{} // K is not positive semidefinite: go on without
	}
	s.stale, s.uses, s.pace = false, 0, 0
	s.cg.pre = nil
	if s.sk.low.rank() > 0 {
		s.cg.pre = &s.sk.low
	}
	return err
}

// solveByFormula solves by the low-rank formula the trailing columns for which the
// error of that, ρ_j·‖K − U·diag(s)·Uᵀ‖·‖x_j‖, fits into a quarter of the squared
// residual allowed, and leaves the others to iterate. The norm is estimated by
// twice the smallest eigenvalue of the sketch, or, when K has changed since, by
// twice the largest, with no low-rank part in the formula. What is guessed of the
// solution also tells whether single precision will do.
func (s *nystrom) solveByFormula(f *frame) {
	r := len(f.rho)
	f.iterated = r
	if r == 0 || s.sk.low.rank() == 0 {
		return
	}
	low := s.sk.low
	gap := 2 * low.s[len(low.s)-1]
	if s.stale {
		gap, low = 2*low.s[0], lowRank{}
	}
	done := f.mixed && !s.stale
	if f.mixed {
		if s.guess(f, &s.sk.low); s.singleTooRough(f) {
			f.unmix()
			s.roughAt = f.opt.Tol
		}
	}
	if !done {
		s.guess(f, &low)
	}
	sq := f.columnSums(r)
	columnSquares(sq, f.ct)
	left := (1 - formulaShare) * square(f.opt.Tol*f.normY)
	for f.iterated > 0 {
		left -= sq[f.iterated-1] * square(f.rho[f.iterated-1]*gap)
		if !(left >= 0) {
			return
		}
		f.iterated--
	}
}

// guess writes the solutions by the low-rank formula to C̃.
func (s *nystrom) guess(f *frame, low *lowRank) {
	low.guess(f.be, f.ct, f.yt, &s.cg.W, f.rho, f.mu)
}

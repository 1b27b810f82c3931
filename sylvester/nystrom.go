package sylvester

import (
	"context"
	"math"
	"runtime/debug"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// nystrom is rotated with one randomized low-rank preconditioner for all shifts; see [sketch] and [lowRank]. Its rank
// follows from what iterations cost: the sketch doubles when those since it last grew have cost as much as that does,
// so that the sketches of a K together cost no more than the iterations, and one of them more. Columns whose shift is
// too small for the part of K outside the sketch to matter are solved by the low-rank formula alone.
//
// After Invalidate the preconditioner stays in use. When iterations have paid for it, one of the present K takes its
// place: of the same rank where they have slowed down by half, else of twice the rank.
//
// Where K is a linop.Mixed of an order for which that pays, the sketch and the iterations take it in single precision
// unless the condition of the system forbids; true residuals are of double precision always, and when they show that
// single precision does not do for a tolerance, double precision takes over.
type nystrom struct {
	cg    shifted
	sk    sketch
	first int     // columns of the sketch that is made before any iteration
	room  float64 // memory for the sketch where a factor is another way, 0 where there is none
	stale bool    // K has changed since it was sketched

	// In nanoseconds of [costs].
	limit  float64 // what spent may reach before errSlow ends the iterations
	other  float64 // cost of the method that then follows
	spent  float64 // cost of the iterations and sketches for the present K
	credit float64 // cost of the iterations since the last sketch, less what it cost
	since  point   // residual and spent at the last sketch of a round

	iterations int     // of this solve
	folds      float64 // of a factor e by which the residual of its start exceeds the tolerance
	fresh      float64 // iterations for each of them behind a sketch of the present K; 0 when unknown

	pace, at float64 // cost of the last solve for each factor e of the residual that it has gained, at this ρ₁/μ

	mixed   bool    // the first round takes K in single precision
	roughAt float64 // the largest tolerance that single precision was too rough for
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

func newNystrom(cfg Config, first int) *nystrom {
	s := &nystrom{sk: sketch{be: blas.Beside(cfg.Backend), seed: cfg.Seed}, first: first, limit: math.Inf(1)}
	s.cg.before = s.before
	return s
}

func (s *nystrom) Name() string { return "nystrom" }

func (s *nystrom) Invalidate() {
	s.stale, s.spent = true, 0
	if q := s.sk.low.rank(); q > 0 {
		s.sk.low.tail = s.sk.low.s[q-1]
	}
}

// open sets f up for iterations.
func (s *nystrom) open(f *frame) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	f.iterated = len(f.rho)
	if l := f.Y.Rows; s.sk.Q.Rows != l {
		s.sk.reset()
		s.credit, s.pace = 0, 0
	}
	m, ok := f.sys.K.(linop.Mixed)
	l := f.Y.Rows
	if ok && !f.res.Single && l >= mixedFrom && l <= linop.KeepBoth && len(f.rho) >= mixedRank &&
		f.opt.Tol > s.roughAt {
		f.fast, f.mixed = m.Single(), true
		s.checkSingle(f)
	}
	return nil
}

// checkSingle gives products back to double precision where the system is too ill conditioned for the other.
func (s *nystrom) checkSingle(f *frame) {
	if f.mixed && s.sk.low.rank() > 0 && f.top()*s.sk.low.s[0] > singleCondition*f.mu {
		f.unmix()
	}
}

func (s *nystrom) sketch(ctx context.Context, f *frame) (*lowRank, error) {
	if err := s.open(f); err != nil || len(f.rho) == 0 {
		return nil, err
	}
	if err := s.begin(ctx, f); err != nil || s.sk.low.rank() == 0 {
		return nil, err
	}
	return &s.sk.low, nil
}

func (s *nystrom) prepare(ctx context.Context, f *frame) error {
	if err := s.open(f); err != nil || len(f.rho) == 0 {
		return err
	}
	if err := s.begin(ctx, f); err != nil {
		return err
	}
	s.solveByFormula(f)
	return nil
}

// begin makes the sketch that comes before any iteration, and what one iteration pays for.
func (s *nystrom) begin(ctx context.Context, f *frame) error {
	s.iterations, s.folds = 0, 0
	if s.sk.coarse(f.fast) {
		s.sk.reset()
	}
	if q := min(s.first, f.Y.Rows); s.sk.Q.Cols < q {
		if err := s.grow(ctx, f, q); err != nil {
			return err
		}
	}
	if s.sk.Q.Cols == 0 {
		if _, err := s.pay(ctx, f, s.iterationCost(f, len(f.rho))); err != nil {
			return err
		}
	}
	if s.sk.low.rank() == 0 {
		f.unmix() // nothing tells the condition
	}
	return nil
}

func (s *nystrom) round(ctx context.Context, f *frame, round int) error {
	if round == 0 {
		s.mixed = f.mixed
		f.start()
		s.folds = max(math.Log(blas.Frob(blas.View(f.rt, 0, 0, f.rt.Rows, f.iterated))/(f.opt.Tol*f.normY)), 1)
	} else if s.mixed {
		s.mixed, s.roughAt = false, max(s.roughAt, f.opt.Tol)
	}
	s.cg.pre = s.preconditioner()
	before, grown := s.spent, s.sk.Q.Cols
	s.since = point{blas.Frob(blas.View(f.rt, 0, 0, f.rt.Rows, f.iterated)), s.spent}
	err := s.cg.round(ctx, f, round)
	if round > 0 || len(f.rho) == 0 {
		return err
	}
	// The least that is gained keeps iterations that gain nothing from being given up for ever.
	gained := max(s.folds-max(math.Log(math.Sqrt(s.cg.squared())/(f.opt.Tol*f.normY)), 0), s.folds/100)
	if s.spent > before {
		s.pace, s.at = (s.spent-before)/gained, f.top()/f.mu
	}
	if !s.stale && s.sk.Q.Cols == grown && err == nil {
		s.fresh = float64(s.iterations) / s.folds
	}
	return err
}

func (s *nystrom) preconditioner() *lowRank {
	if s.sk.low.rank() == 0 {
		return nil
	}
	return &s.sk.low
}

// forecast is the cost of iterations on the columns of f at the pace of the last ones, 0 where there were none. look
// lets it multiply the caller's start by K.
func (s *nystrom) forecast(f *frame, look bool) float64 {
	if s.pace == 0 {
		return 0
	}
	folds := -math.Log(f.opt.Tol)
	if !f.cold && (look || f.known()) {
		f.start()
		folds = math.Log(blas.Frob(f.rt) / (f.opt.Tol * f.normY))
	}
	return s.pace * max(folds, 0) * math.Sqrt(f.top()/f.mu/s.at)
}

// iterationCost is that of one iteration on some columns.
func (s *nystrom) iterationCost(f *frame, columns int) float64 {
	q := s.sk.low.rank()
	it := costsOf(f.be).behindSketch(q, f.mixed)
	return it.total(1, float64(columns), float64(f.Y.Rows), float64(q))
}

// before pays for an iteration on the active columns, and for the sketches that come before it.
func (s *nystrom) before(ctx context.Context, f *frame, active int) (changed bool, err error) {
	cost := s.iterationCost(f, active)
	changed, err = s.pay(ctx, f, cost)
	if err != nil {
		return changed, err
	}
	if changed {
		cost = s.iterationCost(f, active)
		s.cg.K, s.cg.pre = f.fast, s.preconditioner()
	}
	if s.spent+cost > s.limit {
		if s.limit = s.spent + s.bound(f, active); !(s.limit <= s.spent+s.other) {
			return changed, errSlow
		}
		s.other = 0 // rounding errors may hinder what the bound promises
	}
	s.spent += cost
	s.credit += cost
	s.iterations++
	return changed, nil
}

// bound is what iterations on the active columns cost at most, by the condition number 1 + 2·ρ₁·s_q/μ that a sketch of
// the present K leaves (Frangella, Tropp, Udell, arXiv:2110.02820) and the bound of Chebyshev polynomials; +Inf where
// there is no such sketch, or rounding errors of K are as large as the tolerance.
func (s *nystrom) bound(f *frame, active int) float64 {
	if s.stale || s.sk.low.rank() == 0 || f.top()*s.sk.low.s[0]*rounding(f.fast) > f.opt.Tol*f.mu {
		return math.Inf(1)
	}
	condition := 1 + 2*f.top()*s.sk.low.tail/f.mu
	folds := math.Log(2 * math.Sqrt(s.cg.squared()*condition) / (f.opt.Tol * f.normY))
	return (1 + folds*math.Sqrt(condition)/2) * s.iterationCost(f, active)
}

// pay makes the sketches that the credit and one iteration more, of the given cost, pay for within the limit.
func (s *nystrom) pay(ctx context.Context, f *frame, iteration float64) (changed bool, err error) {
	c, l := costsOf(f.be), f.Y.Rows
	for {
		q, known := s.next(l)
		price := c.growth(l, q, known, f.mixed)
		part := 1.
		if q > 0 && s.pays(f, price) {
			part = soonShare
		}
		if q == 0 || s.credit+iteration < part*price || s.spent+price+iteration > s.limit {
			return changed, nil
		}
		if known == 0 {
			s.sk.reset()
		}
		if err := s.grow(ctx, f, q); err != nil {
			return changed, err
		}
		s.credit = min(s.credit-part*price, 0)
		s.spent += price
		s.since = point{math.Sqrt(s.cg.squared()), s.spent}
		changed = true
		s.checkSingle(f)
	}
}

// pays reports whether a sketch of twice the rank is expected to save more than its price: at the pace since the last
// one, and with iterations that fall as the square root of the eigenvalue that the sketch ends with, which falls again
// as it has from half of the columns on.
func (s *nystrom) pays(f *frame, price float64) bool {
	if s.iterations == 0 || s.stale {
		return false
	}
	saved := 1.
	if q := s.sk.low.rank(); q > 1 {
		saved -= math.Sqrt(s.sk.low.s[q-1] / s.sk.low.s[q/2-1])
	}
	now := point{math.Sqrt(s.cg.squared()), s.spent}
	return saved*now.left(math.Log(now.residual/(f.opt.Tol*f.normY)), s.since) > price
}

// next is the number of columns of the next sketch, 0 for none, and how many of them are known.
func (s *nystrom) next(l int) (q, known int) {
	most := s.maxRank(l)
	q = s.sk.Q.Cols
	switch {
	case q == 0:
		return min(firstRank, most), 0
	case s.stale && float64(s.iterations) > slower*s.fresh*s.folds+2:
		return q, 0
	case s.stale:
		return min(2*q, most), 0
	case s.sk.exhausted() || q >= most:
		return 0, 0
	}
	return min(2*q, most), q
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

// SketchBytes is the memory in bytes that plans count for the sketch of an iterative solver of order l. The sketch
// itself takes more where more memory is available, and less where less is.
func SketchBytes(l int) float64 { return 8 * sketchBlocks * plannedRank * float64(l) }

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
	s.stale, s.fresh = false, 0
	if s.sk.exhausted() && s.sk.unit <= 0x1p-52 {
		s.sk.low.tail = 0
	}
	return err
}

// solveByFormula solves by the low-rank formula the trailing columns for which the
// error of that, ρ_j·‖K − U·diag(s)·Uᵀ‖·‖x_j‖, fits into a quarter of the squared
// residual allowed, and leaves the others to iterate. The norm is estimated by
// twice the smallest eigenvalue of the sketch, or, when K has changed since, by
// twice the largest, with no low-rank part in the formula.
func (s *nystrom) solveByFormula(f *frame) {
	low := s.sk.low
	if low.rank() == 0 {
		return
	}
	gap := 2 * low.s[len(low.s)-1]
	if s.stale {
		gap, low = 2*low.s[0], lowRank{}
	}
	low.guess(f.be, f.ct, f.yt, &s.cg.W, f.rho, f.mu)
	sq := f.columnSums(len(f.rho))
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

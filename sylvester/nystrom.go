package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
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
	*frame
	cg   shifted
	sk   sketch
	cap  int
	load workload

	model spectrumModel // of the K that was sketched

	res       Result // of the call under way
	unbilled  Result // what look has multiplied
	refreshFn func() // the method value, made once

	sharp float64 // the last tolerance that single precision was too rough for
	stale bool    // K has changed since
	uses  float64 // solves since K was last sketched
	pace  float64 // iterations for each factor e of the residual, when fresh
}

func newNystrom(cfg Config) Solver {
	s := &nystrom{frame: &frame{be: cfg.Backend, single: cfg.Single}, sk: sketch{be: blas.Beside(cfg.Backend), seed: cfg.Seed}, cap: cfg.Rank}
	s.refreshFn = s.refresh
	return s
}

func (s *nystrom) Name() string { return "nystrom" }

func (s *nystrom) Invalidate() {
	s.stale = true
	s.forget()
}

func (s *nystrom) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	s.res = Result{Solver: s.Name(), Residual: math.NaN(), Iter: s.unbilled.Iter, Columns: s.unbilled.Columns}
	s.unbilled = Result{}
	err := s.solve(ctx, C, sys, Y, opt.filled(Y.Rows))
	return s.res, err
}

func (s *nystrom) solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) error {
	var err error
	if s.res.Single, err = s.beginIn(opt.Single, C, sys, Y); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.rotate()
	s.workload(opt.Tol)
	s.mix(opt.Tol)
	s.prepare(opt.Tol)
	s.settle(opt.Tol)
	if err := s.open(C, &s.res); err != nil {
		return err
	}
	first := s.res.Iter
	folds := math.Log(blas.Frob(blas.View(s.rt, 0, 0, s.rt.Rows, s.hard)) / (opt.Tol * s.normY))
	if !(folds > 1) {
		folds = 1
	}
	s.cg.patience, s.cg.renew = 0, nil
	if s.stale && s.pace > 0 {
		s.cg.patience = int(slower*s.pace*folds) + 2
		s.cg.renew = s.refreshFn
	}
	err = s.iterate(ctx, &s.cg, C, opt, &s.res)
	if !s.stale && s.pace == 0 && err == nil {
		s.pace = float64(s.res.Iter-first) / folds
	}
	s.uses++
	return err
}

// slower is how much the iterations may grow before a preconditioner is renewed.
const slower = 1.5

// workload sets what a cold start would have to do.
func (s *nystrom) workload(tol float64) {
	r := s.sys.L.Rank()
	s.load.reset(s.Y.Rows)
	norms := s.columnSums(r)
	columnSquares(norms, s.yt)
	share := math.Log(tol * s.normY / math.Sqrt(float64(max(r, 1))))
	for j, rho := range s.sys.L.S {
		s.load.add(rho/s.sys.Mu, 0.5*math.Log(norms[j])-share)
	}
}

// look makes a first sketch where there is none, and reports whether K has a
// spectrum that it can tell something about.
func (s *nystrom) look(C blas.General, sys System, Y blas.General, opt Options) bool {
	s.res = s.unbilled
	if _, err := s.beginIn(opt.Single, C, sys, Y); err != nil || sys.L.Rank() == 0 {
		return false
	}
	s.rotate()
	s.rotated = true
	s.workload(opt.Tol)
	s.mix(opt.Tol)
	s.first()
	s.unbilled = s.res
	return s.sk.low.rank() > 0
}

// Products in single precision pay from the order mixedFrom on, up to that at
// which two renditions of K are kept, for mixedRank columns or more.
const (
	mixedFrom = 1000
	mixedRank = 8
	// harshest is the largest condition number, 1 + ρ₁·‖K‖/μ, of a system that
	// iterates in single precision, a hundredth of what would leave no digit: more
	// of them cost iterations.
	harshest = 0x1p24 / 100
	// singleError is ‖E·x‖/‖x‖ over ‖K‖_F/√l, the same of K, for the error E of a
	// product in single precision, as measured on Gram matrices.
	singleError = 4e-7
)

// mix lets the sketch and the iterations take K in single precision where that pays.
func (s *nystrom) mix(tol float64) {
	m, ok := s.sys.K.(linop.Mixed)
	l := s.Y.Rows
	if ok && !s.res.Single && l >= mixedFrom && l <= linop.KeepBoth && s.sys.L.Rank() >= mixedRank && !s.harsh() &&
		(s.sk.low.rank() == 0 || tol > s.sharp) {
		s.fast, s.mixed = m.Single(), true
	}
}

// willMix foretells, after look, whether a solve will iterate in single precision.
func (s *nystrom) willMix(tol float64) bool {
	if !s.mixed || s.harsh() {
		return false
	}
	if s.uses > 0 {
		return true // the last solve has found it sharp enough
	}
	s.guess(&s.sk.low)
	return !s.blurred(tol)
}

// harsh reports whether the system, by what a sketch has told of K, is too ill
// conditioned for single precision.
func (s *nystrom) harsh() bool {
	return s.sk.low.rank() > 0 && s.top()*s.sk.low.s[0] > harshest*s.sys.Mu
}

// blurred reports whether the residual that iterations in single precision leave,
// Σ_j (ρ_j·‖E·x_j‖)², exceeds what the tolerance allows, by the sizes of the
// columns of C̃.
func (s *nystrom) blurred(tol float64) bool {
	r := s.sys.L.Rank()
	sq := s.columnSums(r)
	columnSquares(sq, s.ct)
	var rest float64
	for j, rho := range s.sys.L.S {
		rest += sq[j] * square(rho)
	}
	low := s.sk.low.s
	return square(singleError)*blas.Dot(low, low)/float64(s.Y.Rows)*rest > square(tol*s.normY)
}

// widen grows the sketch between look and the solve.
func (s *nystrom) widen(q int) {
	s.res = s.unbilled
	s.grow(q)
	s.unbilled = s.res
}

// firstSketch is the rank of the first sketch: it costs little beside any solve.
const firstSketch = 16

// first makes the first sketch of an order, or of a precision that shows more of it.
func (s *nystrom) first() {
	if l := s.Y.Rows; s.sk.Q.Rows != l || s.sk.coarse(s.fast) {
		s.sk.reset()
		s.grow(min(l, firstSketch))
	}
}

// limit is the largest rank.
func (s *nystrom) limit() int {
	l := s.Y.Rows
	if s.cap > 0 {
		return min(s.cap, l)
	}
	return l / 2
}

// prepare makes sure that there is a sketch, of a rank that suits the workload.
func (s *nystrom) prepare(tol float64) {
	if s.sys.L.Rank() == 0 {
		return
	}
	s.first()
	if s.mixed && s.harsh() {
		s.unmix()
		s.first()
	}
	for !s.stale {
		q := s.sk.low.rank()
		if q == 0 || q < s.sk.Q.Cols/2 || s.sk.Q.Cols >= s.limit() {
			return // K has no more than this rank, or the sketch no more room
		}
		s.model.fit(s.Y.Rows, s.sk.low.s)
		s.load.single = s.willMix(tol)
		best, _ := s.load.bestRank(&s.model, costsOf(s.be), q, min(s.limit(), 3*q), max(1, min(s.uses, 8)))
		if best < q*5/4 {
			return
		}
		s.grow(best)
	}
}

// grow extends the sketch of the present K.
func (s *nystrom) grow(q int) {
	s.res.Columns += 2 * (q - s.sk.Q.Cols)
	s.res.Iter += 2
	if !s.sk.grow(s.fast, q) {
		s.sk.low = lowRank{} // K is not positive semidefinite: go on without
	}
	s.stale, s.uses, s.pace = false, 0, 0
	s.cg.pre = nil
	if s.sk.low.rank() > 0 {
		s.cg.pre = &s.sk.low
	}
}

// refresh sketches the present K anew, with the rank it had.
func (s *nystrom) refresh() {
	q := s.sk.Q.Cols
	s.sk.reset()
	s.grow(q)
}

// settle solves by the low-rank formula the trailing columns for which the error
// of that, ρ_j·‖K − U·diag(s)·Uᵀ‖·‖x_j‖, fits into a quarter of the squared
// residual allowed, and leaves the others to iterate. The norm is estimated by
// twice the smallest eigenvalue of the sketch, or, when K has changed since, by
// twice the largest, with no low-rank part in the formula. What is guessed of the
// solution also tells whether single precision will do.
func (s *nystrom) settle(tol float64) {
	r := s.sys.L.Rank()
	s.hard = r
	if r == 0 || s.sk.low.rank() == 0 {
		return
	}
	low := s.sk.low
	gap := 2 * low.s[len(low.s)-1]
	if s.stale {
		gap, low = 2*low.s[0], lowRank{}
	}
	done := s.mixed && !s.stale
	if s.mixed {
		if s.guess(&s.sk.low); s.blurred(tol) {
			s.unmix()
			s.sharp = tol
		}
	}
	if !done {
		s.guess(&low)
	}
	sq := s.columnSums(r)
	columnSquares(sq, s.ct)
	left := 0.25 * square(tol*s.normY)
	for s.hard > 0 {
		left -= sq[s.hard-1] * square(s.sys.L.S[s.hard-1]*gap)
		if !(left >= 0) {
			return
		}
		s.hard--
	}
}

// guess writes the solutions by the low-rank formula to C̃.
func (s *nystrom) guess(low *lowRank) {
	s.cg.W = blas.Reshape(s.cg.W, low.rank(), s.yt.Cols)
	low.guess(s.be, s.ct, s.yt, s.cg.W, s.sys.L.S, s.sys.Mu)
}

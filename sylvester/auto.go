// This file is the solver auto, which predicts for each call the fastest method.

package sylvester

import (
	"context"
	"errors"
	"math"
	"runtime/debug"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// auto picks the method for every call by predicting the cost of each from l, n,
// the eigenvalues of L, those of K in a sketch, the tolerance, and what is kept
// from earlier calls; see [costs] and [workload].
type auto struct {
	be       blas.Backend
	plain    rotated
	sketched *nystrom
	reduced  direct
	exact    direct
	factors  direct
	single   singleCholesky
	lowest   []float64 // residual of a trial until each step
}

func newAuto(cfg Config) engine {
	return &auto{
		be:       cfg.Backend,
		sketched: newNystrom(cfg),
		reduced:  direct{name: "tridiagonal", factors: &tridiagonal{}},
		exact:    direct{name: "eigen", factors: &eigen{}},
		factors:  direct{name: "cholesky", factors: &cholesky{}},
	}
}

func (s *auto) Name() string { return "auto" }

func (s *auto) Invalidate() {
	for _, m := range []method{s.sketched, &s.reduced, &s.exact, &s.factors, &s.single} {
		m.Invalidate()
	}
}

func (s *auto) solve(ctx context.Context, f *frame) error {
	f.opt = f.opt.filled()
	l, n := f.Y.Rows, f.Y.Cols
	c := costsOf(s.be)
	best, least := s.direct(c, f.sys, n, f.opt.Tol)
	if alwaysDirect(l, n) {
		return f.run(ctx, best, nil)
	}
	tried := false
	if enough := c.trialLength(l, len(f.rho)); enough >= trialIter && s.sketched.sk.Q.Rows != l {
		if err := f.run(ctx, &s.plain, s.trial(c, f, enough, least)); !errors.Is(err, errSlow) {
			return err
		}
		tried = true
	}
	chosen, err := s.choose(ctx, c, best, least, tried, f)
	if err != nil {
		return err
	}
	if chosen != method(s.sketched) || best != method(&s.single) {
		return s.finish(ctx, f, chosen)
	}
	q := float64(s.sketched.sk.low.rank())
	each := s.sketched.load.iterationCost(c, int(q)).total(1, float64(len(f.rho)), float64(l), q)
	err = f.run(ctx, chosen, s.watch(f.opt.Tol, int(watchShare*least/each), each,
		func(float64) float64 { return least }))
	if !errors.Is(err, errSlow) {
		return err
	}
	return s.finish(ctx, f, best)
}

// finish solves by the method chosen. A factor in single precision takes the place of the sketch in memory, and where
// it breaks down a new sketch takes its.
func (s *auto) finish(ctx context.Context, f *frame, chosen method) error {
	if chosen != method(&s.single) {
		return f.run(ctx, chosen, nil)
	}
	if s.sketched.sk.Q.Rows > 0 {
		s.sketched = newNystrom(Config{Backend: s.be, Seed: s.sketched.sk.seed})
		debug.FreeOSMemory()
	}
	err := f.run(ctx, chosen, nil)
	if s.single.broken {
		s.single = singleCholesky{broken: true}
		return f.run(ctx, s.sketched, nil)
	}
	return err
}

// alwaysDirect reports whether a direct method is chosen without looking.
func alwaysDirect(l, n int) bool {
	return l <= directOrder || n > directOutputs*l && l <= directMost
}

// errSlow ends a trial, which then leaves C as it was.
var errSlow = errors.New("sylvester: another method is expected to be faster")

// trial watches plain iterations. From the iteration enough on it ends them when those
// to come are expected to cost more than the direct method, or than a sketch and half
// as many iterations behind it, which is what a first sketch saves as a rule.
func (s *auto) trial(c *costs, f *frame, enough int, least float64) func(Step) error {
	l, r := float64(f.Y.Rows), float64(len(f.rho))
	each, behind := c.plain.total(1, r, l, 0), c.sketched.total(1, r, l, firstRank)
	sketch := c.growth(f.Y.Rows, firstRank, 0, false)
	return s.watch(f.opt.Tol, enough, each, func(left float64) float64 { return min(least, sketch+behind*left/2) })
}

// watch ends iterations to tol, of the cost each, when those to come are expected, from the iteration enough on, to
// cost more than other says of their number. The pace of the second half of the iterations done predicts how many are
// to come: the first digits often take fewer iterations than the others.
func (s *auto) watch(tol float64, enough int, each float64, other func(left float64) float64) func(Step) error {
	s.lowest = s.lowest[:0]
	return func(step Step) error {
		now := step.Residual
		done := len(s.lowest)
		if done > 0 {
			now = min(now, s.lowest[done-1])
		}
		s.lowest = append(s.lowest, now)
		if done < max(enough, 1) || !(now > tol) {
			return nil
		}
		left := math.Log(now/tol) / math.Log(s.lowest[done/2]/now) * float64(done-done/2)
		if each*left > other(left) {
			return errSlow
		}
		return nil
	}
}

// trialLength is how many plain iterations on r columns a trial has at least, 0 for none.
func (c *costs) trialLength(l, r int) int {
	if r > trialRank {
		return 0
	}
	return int(trialShare * c.growth(l, firstRank, 0, false) / c.plain.total(1, float64(r), float64(l), 0))
}

// direct returns the cheapest direct method that memory holds, and its predicted cost; plain iterations and +Inf where
// memory holds none. Where K is in single precision beyond [linop.KeepBoth], factors in double precision would take
// eight times its memory, and one in single precision is that method.
func (s *auto) direct(c *costs, sys System, n int, tol float64) (best method, least float64) {
	K, L := sys.K, sys.L
	l, r := K.Dim(), L.Rank()
	best, least = &s.plain, math.Inf(1)
	if l > linop.KeepBoth && linop.PrecisionOf(K) == blas.Float32 {
		if r == 0 || !s.single.fits(K) {
			return best, least
		}
		s.sketched.room = factorBytes(l)
		least, _ = s.single.plan(c, l, L, sys.Mu, tol)
		return &s.single, least
	}
	take := func(d *direct, cost float64) {
		if cost < least && d.fits(l, n, r) == nil {
			best, least = d, cost
		}
	}
	take(&s.reduced, c.tridiagonal(l, r, s.reduced.kept(l)))
	take(&s.exact, c.eigendecomposition(l, r, s.exact.kept(l)))
	if r > 0 {
		take(&s.factors, c.cholesky(l, r, len(distinct(L.S))))
	}
	return best, least
}

// worthLooking reports whether a first sketch is worth its cost beside a direct method of cost least. Iterations behind
// it have an even chance to be the fewest possible, where those columns of L that weigh little need none, and half of
// that chance after a trial of plain iterations that has failed.
func (s *auto) worthLooking(c *costs, f *frame, least float64, tried bool) bool {
	var w workload
	w.single = f.Y.Rows >= mixedFrom && len(f.rho) >= mixedRank
	chance := 1. / 2
	if tried {
		chance /= 2
	}
	passes, l, columns := -minIterPerDigit*math.Log10(f.opt.Tol), float64(f.Y.Rows), 0.0
	for _, rho := range f.rho {
		columns += rho / f.rho[0]
	}
	iterations := w.iterationCost(c, firstRank).total(passes, passes*columns, l, firstRank)
	return chance*(least-iterations) > c.growth(f.Y.Rows, firstRank, 0, w.single)
}

// choose compares the direct method, of cost least, with the iterative ones. The sketch grows, by a factor of two each
// time, while iterations behind a larger one are the cheapest method. tried says that plain iterations were found too
// slow; they are then left out.
func (s *auto) choose(ctx context.Context, c *costs, best method, least float64, tried bool, f *frame) (method, error) {
	it := s.sketched
	l := f.Y.Rows
	if it.sk.Q.Rows != l && !s.worthLooking(c, f, least, tried) {
		return best, nil
	}
	if err := it.survey(ctx, f); err != nil {
		return nil, err
	}
	if len(f.rho) == 0 || it.sk.low.rank() == 0 {
		return best, nil // nothing that a sketch could tell
	}
	it.load.single = it.expectsSingle(f)
	for {
		q := it.sk.low.rank()
		model := &it.model
		model.fit(l, it.sk.low.s)
		plain := it.load.solveBy(model, 0, c)
		if tried {
			plain = math.Inf(1)
		}
		rank, sketched := it.load.bestRank(model, c, q, max(q, it.maxRank(l)), 1)
		lowest := min(least, plain, sketched)
		if lowest == sketched && rank > 2*q {
			grown, err := it.growTo(ctx, f, 2*q)
			if err != nil {
				return nil, err
			}
			if grown {
				continue
			}
		}
		switch lowest {
		case sketched:
			return it, nil
		case plain:
			return &s.plain, nil
		}
		return best, nil
	}
}

func (s *auto) sketch(ctx context.Context, f *frame) (*lowRank, error) {
	l, n := f.Y.Rows, f.Y.Cols
	if alwaysDirect(l, n) || n <= sketchOutputs {
		return nil, nil
	}
	c := costsOf(s.be)
	best, least := s.direct(c, f.sys, n, f.opt.Tol)
	chosen, err := s.choose(ctx, c, best, least, false, f)
	if err != nil || chosen != method(s.sketched) {
		return nil, err
	}
	return s.sketched.sketch(ctx, f)
}

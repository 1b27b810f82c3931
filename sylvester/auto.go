package sylvester

import (
	"context"
	"errors"
	"math"
	"runtime/debug"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// auto iterates by [nystrom], and takes the cheapest direct method once all iterations and sketches for the present K
// have cost as much as that; see [costs] for the unit. It predicts nothing of K: the costs of a direct method and of
// one iteration follow from l, n and the distinct eigenvalues of L alone.
//
// With D the cost of the direct method, P that of plain iterations, and S(q) + I(q) that of a sketch of q columns and
// the iterations behind it, a first solve costs, one iteration apart, at most 2·D, and at most
//
//	2·min(P, min_q S(q) + I(q))
//
// where that is at most D, provided that iterations which go on behind a larger sketch need no more than from the start
// behind a smaller one. So it costs at most four times the best of all methods. Later solves begin with the direct
// method where iterations at the pace of the last ones would cost more than it.
type auto struct {
	be       blas.Backend
	sketched *nystrom
	reduced  direct
	exact    direct
	factors  direct
	single   singleCholesky
}

func newAuto(cfg Config) engine {
	return &auto{
		be:       cfg.Backend,
		sketched: newNystrom(cfg, 0),
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

// errSlow ends iterations, which then leave C as it was.
var errSlow = errors.New("sylvester: iterations have cost as much as a direct method")

func (s *auto) solve(ctx context.Context, f *frame) error {
	best, iterate, err := s.choose(f)
	if err != nil {
		return err
	}
	if iterate {
		if err = f.run(ctx, s.sketched); !errors.Is(err, errSlow) {
			if s.sketched.sk.low.rank() == 0 {
				f.res.Solver = "rotated" // nystrom is that without a sketch
			}
			return err
		}
	}
	return s.finish(ctx, f, best)
}

// choose returns the cheapest direct method, and whether iterations, which get their limit, go before it.
func (s *auto) choose(f *frame) (best method, iterate bool, err error) {
	f.opt = f.opt.filled()
	l, n, it := f.Y.Rows, f.Y.Cols, s.sketched
	c := costsOf(s.be)
	best, least := s.direct(c, f.sys, n, f.opt.Tol)
	if l <= directOrder || n > directOutputs*l && l <= directMost {
		return best, false, nil
	}
	if err := it.open(f); err != nil {
		return nil, false, err
	}
	it.limit, it.other = least, least
	if best == method(&s.factors) { // which serve one solve, where other decompositions serve all for this K
		it.limit += it.spent
	}
	product := c.plain.total(1, float64(len(f.rho)), float64(l), 0)
	switch {
	case math.IsInf(least, 1) || len(f.rho) == 0:
		return best, true, nil
	case it.spent+product > it.limit:
		return best, false, nil
	}
	return best, !(it.forecast(f, product < startShare*least) > least), nil
}

// finish solves by a direct method. A factor in single precision takes the place of the sketch in memory, and where
// it breaks down a new sketch takes its.
func (s *auto) finish(ctx context.Context, f *frame, chosen method) error {
	if chosen != method(&s.single) {
		return f.run(ctx, chosen)
	}
	if s.sketched.sk.Q.Rows > 0 {
		s.sketched = newNystrom(Config{Backend: s.be, Seed: s.sketched.sk.seed}, 0)
		debug.FreeOSMemory()
	}
	err := f.run(ctx, chosen)
	if s.single.broken {
		s.single = singleCholesky{broken: true}
		return f.run(ctx, s.sketched)
	}
	return err
}

// direct returns the cheapest direct method that memory holds, and its cost, +Inf where
// memory holds none. Where K is in single precision beyond [linop.KeepBoth], factors in double precision would take
// eight times its memory, and one in single precision is that method.
func (s *auto) direct(c *costs, sys System, n int, tol float64) (best method, least float64) {
	K, L := sys.K, sys.L
	l, r := K.Dim(), L.Rank()
	best, least = &s.reduced, math.Inf(1)
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

func (s *auto) sketch(ctx context.Context, f *frame) (*lowRank, error) {
	if f.Y.Cols <= sketchOutputs {
		return nil, nil
	}
	if _, iterate, err := s.choose(f); err != nil || !iterate {
		return nil, err
	}
	return s.sketched.sketch(ctx, f)
}

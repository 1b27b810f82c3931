// This file is the solver auto, which predicts for each call the fastest method.

package sylvester

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime/debug"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// auto picks the method for every call by predicting the cost of each from l, n,
// the eigenvalues of L, a model of those of K, the tolerance, and what is kept
// from earlier calls; see [costs], [workload] and [spectrumModel]. Iterations that
// have cost as much as the next method, and are slow, give way to it, until no other
// one is left.
type auto struct {
	be       blas.Backend
	plain    rotated
	sketched *nystrom
	reduced  direct
	exact    direct
	factors  direct
	single   singleCholesky
	seen     []point // of iterations that are watched: the least residual so far and the cost
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
	ways, err := s.choose(ctx, c, best, least, f)
	if err != nil {
		return err
	}
	for ; len(ways) > 1 && ways[0].each != nil; ways = ways[1:] {
		if err := f.run(ctx, ways[0].method, s.watch(f, ways[0].each, ways[1].cost)); !errors.Is(err, errSlow) {
			return err
		}
	}
	return s.finish(ctx, f, ways[0].method)
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

// errSlow ends iterations, which then leave C as it was.
var errSlow = errors.New("sylvester: another method is expected to be faster")

// watch ends iterations, of which each costs that, once they have cost as much as another method, if those to come are
// expected to cost more than it. The pace of the second half of what they have cost predicts that: the first digits
// often cost less than the others.
func (s *auto) watch(f *frame, each *iterationCost, other float64) func(Step) error {
	s.seen = s.seen[:0]
	var first Step
	l, q := float64(f.Y.Rows), float64(s.sketched.sk.low.rank()) // plain iterations do not depend on q
	return func(step Step) error {
		if len(s.seen) == 0 {
			first = step
		}
		passes, columns := float64(step.Iter-first.Iter), float64(step.Columns-first.Columns)
		now := point{step.Residual, each.total(passes, columns, l, q)}
		if done := len(s.seen); done > 0 {
			now.residual = min(now.residual, s.seen[done-1].residual)
		}
		s.seen = append(s.seen, now)
		if now.work < other || !(now.residual > f.opt.Tol) {
			return nil
		}
		if now.left(math.Log(now.residual/f.opt.Tol), s.seen[len(s.seen)/2]) > other {
			return errSlow
		}
		return nil
	}
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

// plan is a method and its predicted cost.
type plan struct {
	method method
	cost   float64
	each   *iterationCost // nil for a direct method
}

// choose compares the direct method, of cost least, with the iterative ones, by what a sample of K tells, or a sketch
// where K shows no elements. The sketch grows, by a factor of two each time, while iterations behind a larger one are
// the cheapest method. A small sketch says less of plain iterations than the sample does. It returns the methods that
// are left, the cheapest first: iterations that turn out to be slow give way to the next.
func (s *auto) choose(ctx context.Context, c *costs, best method, least float64, f *frame) ([]plan, error) {
	it, l, r := s.sketched, f.Y.Rows, len(f.rho)
	cheap := c.plain.total(1, float64(r), float64(l), 0) < startShare*least
	if err := it.view(f, cheap); err != nil || r == 0 {
		return []plan{{method: best}}, err
	}
	if len(it.model.sampled) == 0 {
		if err := it.firstSketch(ctx, f); err != nil {
			return nil, err
		}
	}
	plain := it.load.solveBy(&it.model, 0, c, least)
	for {
		q := it.sk.low.rank()
		rank, sketched := it.load.bestRank(&it.model, c, q, max(q, it.maxRank(l)), 1, min(least, plain))
		if sketched < min(least, plain) && rank > q {
			grown, err := s.grow(ctx, f)
			if err != nil {
				return nil, err
			}
			if grown {
				continue
			}
			if it.sk.low.rank() == 0 {
				return []plan{{method: best}}, nil // K is not positive semidefinite
			}
		}
		behind := it.load.iterationCost(c, q)
		ways := []plan{{&s.plain, plain, &c.plain}, {it, sketched, &behind}}
		switch {
		case !math.IsInf(least, 1):
			ways = append([]plan{{method: best, cost: least}}, ways...)
		case math.IsInf(sketched, 1): // which is more than plain iterations
			ways[1].cost = max(plain, c.growth(l, max(2*q, firstRank), q, false))
		}
		slices.SortStableFunc(ways, func(a, b plan) int { return cmp.Compare(a.cost, b.cost) })
		return ways, nil
	}
}

// grow makes the first sketch or doubles the one there is, and reports whether it is larger than before.
func (s *auto) grow(ctx context.Context, f *frame) (bool, error) {
	it := s.sketched
	if it.sk.Q.Rows != f.Y.Rows {
		err := it.firstSketch(ctx, f)
		return it.sk.low.rank() > 0, err
	}
	return it.growTo(ctx, f, 2*it.sk.low.rank())
}

func (s *auto) sketch(ctx context.Context, f *frame) (*lowRank, error) {
	l, n := f.Y.Rows, f.Y.Cols
	if alwaysDirect(l, n) || n <= sketchOutputs {
		return nil, nil
	}
	c := costsOf(s.be)
	best, least := s.direct(c, f.sys, n, f.opt.Tol)
	ways, err := s.choose(ctx, c, best, least, f)
	if err != nil || ways[0].method != method(s.sketched) {
		return nil, err
	}
	return s.sketched.sketch(ctx, f)
}

package sylvester

import (
	"context"
	"errors"

	"github.com/iokl/iokl/blas"
)

// auto picks the method for every call by predicting the cost of each from l, n,
// the eigenvalues of L, those of K in a sketch, the tolerance, and what is kept
// from earlier calls; see [costs] and [workload].
type auto struct {
	be       blas.Backend
	plain    *rotated
	sketched *nystrom
	reduced  *tridiagonal
	exact    *eigen
}

func newAuto(cfg Config) Solver {
	s := &auto{
		be:       cfg.Backend,
		plain:    newRotated(cfg).(*rotated),
		sketched: newNystrom(cfg).(*nystrom),
		reduced:  newTridiagonal(cfg).(*tridiagonal),
		exact:    newEigen(cfg).(*eigen),
	}
	// One set of scratch for all.
	s.plain.frame, s.reduced.frame, s.exact.frame = s.sketched.frame, s.sketched.frame, s.sketched.frame
	return s
}

func (s *auto) Name() string { return "auto" }

func (s *auto) Invalidate() {
	s.sketched.Invalidate()
	s.reduced.Invalidate()
	s.exact.Invalidate()
}

const (
	// Up to the order tiny, and with more than manyOutputs·l outputs, a direct
	// method is chosen without looking.
	tiny        = 64
	manyOutputs = 3
	// For at most trialColumns columns a trial of trialIter plain iterations goes
	// first: it costs less than finding out what would be best.
	trialColumns = 2
	trialIter    = 12
)

func (s *auto) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	l, n := Y.Rows, Y.Cols
	c := costsOf(s.be, l)
	best, least := s.direct(c, l, n)
	if l <= tiny || n > manyOutputs*l && l <= 1000 {
		return best.Solve(ctx, C, sys, Y, opt)
	}
	if n <= trialColumns && s.sketched.sk.Q.Rows != l && (opt.MaxIter == 0 || opt.MaxIter > trialIter) {
		short := opt
		short.MaxIter = trialIter
		res, err := s.plain.Solve(ctx, C, sys, Y, short)
		if !errors.Is(err, ErrNotConverged) {
			return res, err
		}
		s.sketched.unbilled = Result{Iter: res.Iter, Columns: res.Columns}
	}
	best = s.choose(c, best, least, C, sys, Y, opt.filled(l))
	bill := s.sketched.unbilled
	if best != Solver(s.sketched) {
		s.sketched.unbilled = Result{}
	} else {
		bill = Result{} // it adds what it has multiplied itself
	}
	res, err := best.Solve(ctx, C, sys, Y, opt)
	res.Iter += bill.Iter
	res.Columns += bill.Columns
	return res, err
}

// direct returns the cheaper direct method and its predicted cost.
func (s *auto) direct(c costs, l, n int) (Solver, float64) {
	reduced := c.direct(c.reduce, c.back[0], l, n, s.reduced.kept && len(s.reduced.d) == l)
	exact := c.direct(c.eigen, c.back[1], l, n, s.exact.kept && len(s.exact.sigma) == l)
	if exact < reduced {
		return s.exact, exact
	}
	return s.reduced, reduced
}

// choose compares the direct method, of cost least, with the iterative ones. As
// long as what a larger sketch would tell may change the choice and costs little
// beside it, the sketch grows.
func (s *auto) choose(c costs, best Solver, least float64, C blas.General, sys System, Y blas.General, opt Options) Solver {
	it := s.sketched
	if !it.look(C, sys, Y, opt) {
		return best
	}
	l := Y.Rows
	check := 2 * float64(l) * float64(l) * float64(Y.Cols) // the true residual
	for {
		q := it.sk.low.rank()
		model := newSpectrum(it.sk.low.s)
		plain := check + it.load.solve(&model, 0, c)
		rank, sketched := it.load.bestRank(&model, c, q, max(q, it.limit()), 1)
		sketched += check
		lowest := min(least, plain, sketched)
		wider := min(2*q, it.limit())
		more := c.sketch(l, wider, q)
		open := min(plain, sketched) < 1.5*least && more < 0.1*lowest || lowest == sketched && rank > 2*q
		if it.stale || wider <= q || q < it.sk.Q.Cols/2 || !open {
			switch lowest {
			case sketched:
				return it
			case plain:
				return s.plain
			}
			return best
		}
		it.widen(wider)
	}
}

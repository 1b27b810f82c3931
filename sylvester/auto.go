package sylvester

import (
	"context"
	"errors"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
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
	factors  *cholesky
}

func newAuto(cfg Config) Solver {
	s := &auto{
		be:       cfg.Backend,
		plain:    newRotated(cfg).(*rotated),
		sketched: newNystrom(cfg).(*nystrom),
		reduced:  newTridiagonal(cfg).(*tridiagonal),
		exact:    newEigen(cfg).(*eigen),
		factors:  newCholesky(cfg).(*cholesky),
	}
	// One set of scratch for all.
	s.plain.frame, s.reduced.frame, s.exact.frame, s.factors.frame = s.sketched.frame, s.sketched.frame, s.sketched.frame, s.sketched.frame
	return s
}

func (s *auto) Name() string { return "auto" }

func (s *auto) Invalidate() {
	s.sketched.Invalidate()
	s.reduced.Invalidate()
	s.exact.Invalidate()
	s.factors.Invalidate()
}

const (
	// Up to the order tiny, and with more than manyOutputs·l outputs, a direct
	// method is chosen without looking.
	tiny        = 64
	manyOutputs = 3
	// For at most trialColumns columns a trial of plain iterations goes first, of
	// trialIter at least: it costs less than finding out what would be best.
	trialColumns = 2
	trialIter    = 20
)

func (s *auto) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	l, n := Y.Rows, Y.Cols
	c := costsOf(s.be)
	best, least := s.direct(c, l, sys.L)
	if l <= tiny || n > manyOutputs*l && l <= 1000 {
		return best.Solve(ctx, C, sys, Y, opt)
	}
	tried := false
	if n <= trialColumns && s.sketched.sk.Q.Rows != l {
		res, err := s.trial(ctx, c, least, C, sys, Y, opt)
		if !errors.Is(err, errSlow) {
			return res, err
		}
		tried = true
		s.sketched.unbilled = Result{Iter: res.Iter, Columns: res.Columns}
	}
	best = s.choose(c, best, least, tried, C, sys, Y, opt.filled(l))
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

// errSlow ends a trial.
var errSlow = errors.New("sylvester: another method is expected to be faster")

// trial runs plain iterations until they have met the tolerance, or are expected to
// cost more in all than the direct method would. Conjugate gradients win digits at
// an even pace on the whole, so the best residual yet tells how many are to come.
func (s *auto) trial(ctx context.Context, c *costs, least float64, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	filled := opt.filled(Y.Rows)
	each := c.plain.of(1, float64(Y.Cols), float64(Y.Rows), 0)
	first, lowest := math.NaN(), math.Inf(1)
	watched := opt
	watched.Trace = func(step Step) error {
		if math.IsNaN(first) {
			first = step.Residual
		}
		if err := trace(opt, step, nil); err != nil {
			return err
		}
		lowest = min(lowest, step.Residual)
		won, all := math.Log(first/lowest), math.Log(first/filled.Tol)
		if spent := each * float64(step.Iter); step.Iter >= trialIter && won < all && spent*all > 1.2*least*won {
			return errSlow
		}
		return nil
	}
	return s.plain.Solve(ctx, C, sys, Y, watched)
}

// direct returns the cheapest direct method and its predicted cost.
func (s *auto) direct(c *costs, l int, L *linop.Spectral) (Solver, float64) {
	r := L.Rank()
	best, least := Solver(s.reduced), c.tridiagonal(l, r, s.reduced.kept && len(s.reduced.d) == l)
	if t := c.eigendecomposition(l, r, s.exact.kept && len(s.exact.sigma) == l); t < least {
		best, least = s.exact, t
	}
	if shifts := distinctCount(L.S); shifts > 0 {
		if t := c.cholesky(l, r, shifts); t < least {
			best, least = s.factors, t
		}
	}
	return best, least
}

// choose compares the direct method, of cost least, with the iterative ones. As
// long as what a larger sketch would tell may change the choice and costs little
// beside it, the sketch grows. Plain iterations that have been tried are out of question.
func (s *auto) choose(c *costs, best Solver, least float64, tried bool, C blas.General, sys System, Y blas.General, opt Options) Solver {
	it := s.sketched
	l := Y.Rows
	if tried && c.growth(l, firstSketch, 0) > 0.02*least || !it.look(C, sys, Y, opt) {
		return best
	}
	for {
		q := it.sk.low.rank()
		model := &it.model
		model.fit(l, it.sk.low.s)
		plain := it.load.solveBy(model, 0, c)
		if tried {
			plain = math.Inf(1)
		}
		rank, sketched := it.load.bestRank(model, c, q, max(q, it.limit()), 1)
		lowest := min(least, plain, sketched)
		wider := min(2*q, it.limit())
		more := c.growth(l, wider, q)
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

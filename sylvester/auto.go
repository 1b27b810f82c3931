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
	lowest   []float64 // residual of a trial until each step
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
	// Where L has at most the rank trialRank, a trial of plain iterations goes first,
	// for trialShare of what a first sketch would cost, if that is trialIter or more of
	// them: fewer do not tell the pace.
	trialRank  = 8
	trialIter  = 8
	trialShare = 2. / 3
	// Iterations are chosen when they are expected to cost this part of what a direct
	// method takes: that is known, theirs is estimated.
	surely = 0.9
	// So many iterations for each digit are the fewest that are hoped for.
	fewestIter = 0.75
	// For so few outputs a sketch is not worth its while to a caller.
	fewOutputs = 2
)

func (s *auto) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	l, n := Y.Rows, Y.Cols
	c := costsOf(s.be)
	best, least := s.direct(c, l, sys.L)
	if directly(l, n) {
		return best.Solve(ctx, C, sys, Y, opt)
	}
	tried, look := false, true
	if enough := c.trialLength(l, sys.L.Rank()); enough >= trialIter && s.sketched.sk.Q.Rows != l {
		var res Result
		var err error
		if res, look, err = s.trial(ctx, c, enough, least, C, sys, Y, opt); !errors.Is(err, errSlow) {
			return res, err
		}
		tried = true
		s.sketched.rotated = true // the frame is that of all
		s.sketched.unbilled = Result{Iter: res.Iter, Columns: res.Columns}
	}
	if look {
		best = s.choose(c, best, least, tried, C, sys, Y, opt.filled(l))
	}
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

// directly reports whether a direct method is chosen without looking.
func directly(l, n int) bool { return l <= tiny || n > manyOutputs*l && l <= 1000 }

// errSlow ends a trial, which then leaves C as it was.
var errSlow = errors.New("sylvester: another method is expected to be faster")

// trial runs plain iterations until they have met the tolerance, or what is left of
// them is expected to cost more than the direct method would, or a sketch and half
// as many iterations behind it, which is what a first sketch saves as a rule. The
// pace of the second half of the iterations done tells how many are to come: the
// first digits are often won fast. No verdict falls before enough iterations. look
// says that a sketch, which may find another method than the direct one, is worth its cost.
func (s *auto) trial(ctx context.Context, c *costs, enough int, least float64, C blas.General, sys System, Y blas.General, opt Options) (res Result, look bool, err error) {
	l, r := float64(Y.Rows), float64(sys.L.Rank())
	each, behind := c.plain.of(1, r, l, 0), c.sketched.of(1, r, l, firstSketch)
	sketch := c.growth(Y.Rows, firstSketch, 0, false)
	tol := opt.filled(Y.Rows).Tol
	s.lowest = s.lowest[:0]
	watched := opt
	watched.Trace = func(step Step) error {
		if err := trace(opt, step, nil); err != nil {
			return err
		}
		now := step.Residual
		done := len(s.lowest)
		if done > 0 {
			now = min(now, s.lowest[done-1])
		}
		s.lowest = append(s.lowest, now)
		if done < enough || !(now > tol) {
			return nil
		}
		left := math.Log(now/tol) / math.Log(s.lowest[done/2]/now) * float64(done-done/2)
		if each*left > min(least, sketch+behind*left/2) {
			return errSlow
		}
		return nil
	}
	res, err = s.plain.Solve(ctx, C, sys, Y, watched)
	return res, sketch < 0.08*least, err
}

// trialLength is how many plain iterations on r columns a trial has at least, 0 for none.
func (c *costs) trialLength(l, r int) int {
	if r > trialRank {
		return 0
	}
	return int(trialShare * c.growth(l, firstSketch, 0, false) / c.plain.of(1, float64(r), float64(l), 0))
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

// hopeful is the least that a first sketch and the iterations behind it can be
// expected to cost, where those columns of L that weigh little need none.
func (s *auto) hopeful(c *costs, sys System, Y blas.General, opt Options) float64 {
	var w workload
	w.single = Y.Rows >= mixedFrom && sys.L.Rank() >= mixedRank
	passes, l, columns := -fewestIter*math.Log10(opt.Tol), float64(Y.Rows), 0.0
	for _, rho := range sys.L.S {
		columns += rho / sys.L.S[0]
	}
	return c.growth(Y.Rows, firstSketch, 0, w.single) + w.price(c, firstSketch).of(passes, passes*columns, l, firstSketch)
}

// choose compares the direct method, of cost least, with the iterative ones. As
// long as what a larger sketch would tell may change the choice and costs little
// beside it, the sketch grows. Plain iterations that have been tried are out of question.
func (s *auto) choose(c *costs, best Solver, least float64, tried bool, C blas.General, sys System, Y blas.General, opt Options) Solver {
	it := s.sketched
	l := Y.Rows
	least *= surely
	if it.sk.Q.Rows != l && s.hopeful(c, sys, Y, opt) > least || !it.look(C, sys, Y, opt) {
		return best
	}
	it.load.single = it.willMix(opt.Tol)
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
		more := c.growth(l, wider, q, it.load.single)
		open := min(plain, sketched) < 1.5*least && more < 0.07*lowest || lowest == sketched && rank > 2*q
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

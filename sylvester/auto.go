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
	plain    rotated
	sketched *nystrom
	reduced  direct
	exact    direct
	factors  direct
	lowest   []float64 // residual of a trial until each step
}

func newAuto(cfg Config) engine {
	return &auto{
		be:       cfg.Backend,
		sketched: makeNystrom(cfg),
		reduced:  direct{name: "tridiagonal", factors: &tridiagonal{}},
		exact:    direct{name: "eigen", factors: &eigen{}},
		factors:  direct{name: "cholesky", factors: &cholesky{}},
	}
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

func (s *auto) solve(ctx context.Context, f *frame) error {
	f.opt = f.opt.filled()
	l, n := f.Y.Rows, f.Y.Cols
	c := costsOf(s.be)
	best, least := s.direct(c, l, f.sys.L)
	if directly(l, n) {
		return f.run(ctx, best, nil)
	}
	tried := false
	if enough := c.trialLength(l, len(f.rho)); enough >= trialIter && s.sketched.sk.Q.Rows != l {
		if err := f.run(ctx, &s.plain, s.trial(c, f, enough, least)); !errors.Is(err, errSlow) {
			return err
		}
		if !(c.growth(l, firstRank, 0, false) < 0.08*least) {
			return f.run(ctx, best, nil) // a sketch, which may find another method, is not worth its cost
		}
		tried = true
	}
	best, err := s.choose(ctx, c, best, least, tried, f)
	if err != nil {
		return err
	}
	return f.run(ctx, best, nil)
}

// directly reports whether a direct method is chosen without looking.
func directly(l, n int) bool { return l <= tiny || n > manyOutputs*l && l <= 1000 }

// errSlow ends a trial, which then leaves C as it was.
var errSlow = errors.New("sylvester: another method is expected to be faster")

// trial watches plain iterations and ends them when what is left of
// them is expected to cost more than the direct method would, or a sketch and half
// as many iterations behind it, which is what a first sketch saves as a rule. The
// pace of the second half of the iterations done tells how many are to come: the
// first digits are often won fast. No verdict falls before enough iterations.
func (s *auto) trial(c *costs, f *frame, enough int, least float64) func(Step) error {
	l, r := float64(f.Y.Rows), float64(len(f.rho))
	each, behind := c.plain.of(1, r, l, 0), c.sketched.of(1, r, l, firstRank)
	sketch := c.growth(f.Y.Rows, firstRank, 0, false)
	tol := f.opt.Tol
	s.lowest = s.lowest[:0]
	return func(step Step) error {
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
}

// trialLength is how many plain iterations on r columns a trial has at least, 0 for none.
func (c *costs) trialLength(l, r int) int {
	if r > trialRank {
		return 0
	}
	return int(trialShare * c.growth(l, firstRank, 0, false) / c.plain.of(1, float64(r), float64(l), 0))
}

// direct returns the cheapest direct method and its predicted cost.
func (s *auto) direct(c *costs, l int, L *linop.Spectral) (method, float64) {
	r := L.Rank()
	best, least := &s.reduced, c.tridiagonal(l, r, s.reduced.kept(l))
	if t := c.eigendecomposition(l, r, s.exact.kept(l)); t < least {
		best, least = &s.exact, t
	}
	if shifts := distinctCount(L.S); shifts > 0 {
		if t := c.cholesky(l, r, shifts); t < least {
			best, least = &s.factors, t
		}
	}
	return best, least
}

// hopeful is the least that a first sketch and the iterations behind it can be
// expected to cost, where those columns of L that weigh little need none.
func (s *auto) hopeful(c *costs, f *frame) float64 {
	var w workload
	w.single = f.Y.Rows >= mixedFrom && len(f.rho) >= mixedRank
	passes, l, columns := -fewestIter*math.Log10(f.opt.Tol), float64(f.Y.Rows), 0.0
	for _, rho := range f.rho {
		columns += rho / f.rho[0]
	}
	return c.growth(f.Y.Rows, firstRank, 0, w.single) + w.price(c, firstRank).of(passes, passes*columns, l, firstRank)
}

// choose compares the direct method, of cost least, with the iterative ones. As
// long as what a larger sketch would tell may change the choice and costs little
// beside it, the sketch grows. Plain iterations that have been tried are out of question.
func (s *auto) choose(ctx context.Context, c *costs, best method, least float64, tried bool, f *frame) (method, error) {
	it := s.sketched
	l := f.Y.Rows
	least *= surely
	if it.sk.Q.Rows != l && s.hopeful(c, f) > least {
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
		more := c.growth(l, min(2*q, it.maxRank(l)), q, it.load.single)
		open := min(plain, sketched) < 1.5*least && more < 0.07*lowest || lowest == sketched && rank > 2*q
		if open {
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
	if directly(l, n) || n <= fewOutputs {
		return nil, nil
	}
	c := costsOf(s.be)
	best, least := s.direct(c, l, f.sys.L)
	chosen, err := s.choose(ctx, c, best, least, false, f)
	if err != nil || chosen != method(s.sketched) {
		return nil, err
	}
	return s.sketched.sketch(ctx, f)
}

package sylvester

import (
	"context"

	"github.com/iokl/iokl/blas"
)

// auto picks the method for every call by predicting the cost of each from l, n,
// the eigenvalues of L, those of K in a small sketch, the tolerance, and what is
// kept from earlier calls; see [costs] and [workload].
type auto struct {
	costs    costs
	iterate  *rotated
	sketched *nystrom
	reduced  *tridiagonal
	exact    *eigen
}

func newAuto(cfg Config) Solver {
	return &auto{
		costs:    costsOf(cfg.Backend),
		iterate:  newRotated(cfg).(*rotated),
		sketched: newNystrom(cfg).(*nystrom),
		reduced:  newTridiagonal(cfg).(*tridiagonal),
		exact:    newEigen(cfg).(*eigen),
	}
}

func (s *auto) Name() string { return "auto" }

func (s *auto) Invalidate() {
	s.sketched.Invalidate()
	s.reduced.Invalidate()
	s.exact.Invalidate()
}

func (s *auto) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	return s.choose(C, sys, Y, opt.filled(Y.Rows)).Solve(ctx, C, sys, Y, opt)
}

// tiny is the order up to which a direct method is chosen without looking.
const tiny = 64

// choose returns the method that is predicted to be fastest.
func (s *auto) choose(C blas.General, sys System, Y blas.General, opt Options) Solver {
	l, n := Y.Rows, Y.Cols
	if l <= tiny {
		return s.reduced
	}
	kept := len(s.reduced.d) == l && s.reduced.kept
	best, least := Solver(s.reduced), s.costs.direct(s.costs.reduce, s.costs.back[0], l, n, kept)
	kept = len(s.exact.sigma) == l && s.exact.kept
	if c := s.costs.direct(s.costs.eigen, s.costs.back[1], l, n, kept); c < least {
		best, least = s.exact, c
	}
	it := s.sketched
	if !it.look(C, sys, Y, opt) {
		return best
	}
	model := newSpectrum(it.sk.low.s)
	check := 2 * float64(l) * float64(l) * float64(n) // the true residual
	if c := check + it.load.solve(&model, 0, s.costs); c < least {
		best, least = s.iterate, c
	}
	q := it.sk.low.rank()
	if _, c := it.load.bestRank(&model, s.costs, q, max(q, it.limit()), 1); check+c < least {
		best = it
	}
	return best
}

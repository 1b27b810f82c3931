package sylvester

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// cellSolver solves systems of cells with weights, P·𝒦(P·C) + μ·C = Y on Ω. It begins with conjugate gradients by the
// mean weights ([meanField]), which need no factor. Where these have cost as much as one, without an end, a factor
// takes over: Cholesky's of the matrix of the observed cells where that is the cheaper one ([observedFactor]), else
// that of leading pairs cut down to the cells ([cellFactor]). So a solve costs at most about twice what the better of
// both does, the decomposition apart. A factor of pairs serves later systems with the same cells as long as its
// iterations cost less than another one; Cholesky's only the same K, L and μ.
type cellSolver struct {
	cfg   Config
	name  string
	keep  keeper
	mean  meanField
	pairs cellFactor
	chol  observedFactor
	work  cg.Workspace

	x, b         blas.General // contiguous C and Q·P_Ω·Y
	unit         float64      // of these
	rest, change blas.General // of refinement
	mu           float64      // of the last call, whose L is that of chol
	here         float64      // cost of iterations at this K, L and μ since a factor of the cells
	since        float64      // and of those for these cells since a factor of pairs
	of           *linop.Cells // these cells
	present      bool         // pairs is of the present K, L and μ
}

// cellSystem is one system as [cellSolver] takes it.
type cellSystem struct {
	cells   *linop.Cells // nil for all, of weight 1
	A       linop.Operator
	near    System // a separable system with nearly this 𝒦, for all cells
	same    bool   // or with this one
	columns int    // multiplied by any K in a product with 𝒦
}

func (s *cellSolver) set(name string, cfg Config) {
	s.cfg, s.name, s.mu = cfg, name, math.NaN()
	s.keep = keeper{cfg: cfg, only: name == "eigen", below: exactBelow}
	if name == "nystrom" {
		s.keep.below = 0
	}
}

// share takes what is known of the same K.
func (s *cellSolver) share(known *cellSolver) {
	s.keep.dec, s.keep.most, s.keep.stale, s.chol.K = known.keep.dec, known.keep.most, known.keep.stale, known.chol.K
}

func (s *cellSolver) invalidate() {
	s.keep.stale, s.present, s.chol.K, s.mu = true, false, blas.General{}, math.NaN()
}

// limited is filled with MaxIter in place for l rows.
func (o Options) limited(l int) Options {
	o = o.filled()
	o.MaxIter = cmp.Or(o.MaxIter, 10*l)
	return o
}

// after is o for what is left of MaxIter.
func (o Options) after(res *Result) Options {
	o.MaxIter -= res.Iter
	return o
}

// load copies C and Y to x and b, on the observed cells, in units of a power of two, and returns the sum of their
// norms.
func (s *cellSolver) load(cells *linop.Cells, C, Y blas.General) (norm float64) {
	s.x, s.b = blas.Reshape(s.x, C.Rows, C.Cols), blas.Reshape(s.b, C.Rows, C.Cols)
	blas.Copy(s.x, C)
	blas.Copy(s.b, Y)
	if cells != nil {
		for _, a := range []blas.General{s.x, s.b} {
			cells.Keep(a, a)
			cells.Balance(a)
		}
	}
	norm = blas.Frob(s.b)
	s.unit = powerOfTwo(norm)
	norm += blas.Frob(s.x)
	blas.Scal(1/s.unit, s.x.Data)
	blas.Scal(1/s.unit, s.b.Data)
	return norm
}

// solve improves x until the system holds for the right side b to the tolerance.
func (s *cellSolver) solve(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	if blas.Frob(s.b) == 0 || t.near.L.Rank() == 0 {
		blas.CopyScaled(s.x, 1/t.near.Mu, s.b)
		s.mean.V, res.Residual = blas.General{}, 0
		return nil
	}
	s.keep.each = 2 * float64(s.x.Rows) * (float64(s.x.Rows)*float64(t.columns) +
		2*float64(s.x.Cols)*float64(t.near.L.Rank()))
	if t.cells == nil {
		return s.complete(ctx, t, opt, res)
	}
	s.same(t)
	if !t.same {
		return s.sum(ctx, t, opt, res)
	}
	if err := s.mean.set(s.cfg.Backend, t); err != nil {
		return err
	}
	if s.name == "cg" {
		return s.run(ctx, t, nil, opt, res)
	}
	exact := s.exactCost(t)
	expected := max(expectedIterations, float64(s.keep.last))*s.meanCost(t) + s.here
	if s.name == "cholesky" || s.chol.mu == t.near.Mu && s.chol.cells == t.cells { // asked for, or there
		expected = math.Inf(1)
	}
	if exact < expected {
		if done, err := s.direct(ctx, t, opt, res); done || err != nil {
			return err
		}
		return s.last(ctx, t, opt, res)
	}
	if done, err := s.kept(ctx, t, opt, res); done || err != nil {
		return err
	}
	return s.anew(ctx, t, exact, opt, res)
}

// same forgets the factor of the cells, and what iterations have cost, where L, μ or the cells are not those of before.
func (s *cellSolver) same(t *cellSystem) {
	L := blas.NewGeneral(t.near.L.Dim(), t.near.L.Dim())
	t.near.L.Dense(s.cfg.Backend, L)
	if s.mu != t.near.Mu || L.Rows != s.chol.L.Rows || !slices.Equal(L.Data, s.chol.L.Data) {
		s.mu, s.chol.L, s.chol.mu, s.here, s.present = t.near.Mu, L, math.NaN(), 0, false
	}
	if s.of != t.cells {
		s.pairs.made = nil
		s.of, s.since = t.cells, 0
	}
}

// prepare makes the leading pairs of K, unless those that are kept serve.
func (s *cellSolver) prepare(ctx context.Context, t *cellSystem) error {
	err := s.keep.prepare(ctx, t.near)
	if err == nil {
		near := t.near
		near.L = linop.Leading(blas.NewGeneral(0, len(s.mean.lambda)), s.mean.lambda, 0)
		s.mean.leading = s.keep.leading(near)
	}
	return err
}

// kept solves by a factor of pairs that was made for an earlier system, as long as its iterations cost less than a new
// one, and reports whether they have ended.
func (s *cellSolver) kept(ctx context.Context, t *cellSystem, opt Options, res *Result) (done bool, err error) {
	f := &s.pairs
	if f.made == nil {
		return false, nil
	}
	each := s.keep.each + f.eachWork()
	limit := opt.MaxIter
	if !s.present {
		limit = min(limit, int((f.build+s.keep.renewal(s.x.Rows))/each))
	}
	err = ErrNotConverged
	if s.present || limit > fewIterations {
		limited := opt
		limited.MaxIter = limit
		err = s.behindPairs(ctx, t, limited, res)
	}
	if errors.Is(err, ErrNotConverged) && res.Iter < opt.MaxIter && !s.present {
		f.made, s.since = nil, 0
		return false, nil
	}
	return true, err
}

// anew solves by iterations with the mean weights, and by a factor once they have cost as much. exact is the cost of
// Cholesky's factor of the cells.
func (s *cellSolver) anew(ctx context.Context, t *cellSystem, exact float64, opt Options, res *Result) error {
	for {
		if err := s.prepare(ctx, t); err != nil {
			return err
		}
		l := s.x.Rows
		pairs := flop * buildWork(l, min(mostPairs(l), l*t.near.L.Rank())) // at most: plans for other cells take long
		if !s.cfg.Reweighted {
			if _, _, err := s.pairs.plan(s.cfg.Backend, s.keep.dec, t, s.keep.each); err != nil {
				return err
			}
			pairs, s.pairs.made = flop*s.pairs.build, nil
		}
		err := s.byMeans(ctx, t, min(exact-s.here, pairs-s.since), opt, res)
		switch {
		case !errors.Is(err, ErrNotConverged) || res.Iter >= opt.MaxIter:
			return err
		case s.keep.stale: // pairs of another K
			s.keep.dec = nil
			continue
		case exact > pairs:
			if err = s.byPairs(ctx, t, opt, res); !errors.Is(err, ErrNotConverged) ||
				math.IsInf(exact, 1) || res.Iter >= opt.MaxIter {
				return err
			}
		}
		if done, failed := s.direct(ctx, t, opt, res); done || failed != nil {
			return failed
		}
		return s.last(ctx, t, opt, res)
	}
}

// last iterates with the mean weights where rounding has left no factor that solves the system.
func (s *cellSolver) last(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	if err := s.prepare(ctx, t); err != nil {
		return err
	}
	return s.byMeans(ctx, t, math.Inf(1), opt, res)
}

// byMeans iterates with the mean weights, at a cost of up to limit, or not at all where that is a few iterations.
func (s *cellSolver) byMeans(ctx context.Context, t *cellSystem, limit float64, opt Options, res *Result) error {
	within, each := opt.after(res), s.meanCost(t)
	if limit /= each; limit < float64(within.MaxIter) {
		if limit < fewIterations {
			return ErrNotConverged
		}
		within.MaxIter = int(limit)
	}
	iterations, pace, err := s.mean.solve(ctx, s.x, s.b, !s.keep.stale, within, res)
	s.keep.counted(iterations, pace)
	s.here, s.since = s.here+float64(iterations)*each, s.since+float64(iterations)*each
	return err
}

// byPairs solves by a new factor of pairs.
func (s *cellSolver) byPairs(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	if err := s.pairs.set(ctx, s.cfg.Backend, s.keep.dec, t, s.keep.each); err != nil {
		return err
	}
	s.since, s.present = 0, true
	s.here += flop * s.pairs.build
	return s.behindPairs(ctx, t, opt.after(res), res)
}

// behindPairs iterates with the factor of pairs.
func (s *cellSolver) behindPairs(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	before := res.Iter
	err := s.run(ctx, t, &s.pairs, opt, res)
	s.here += flop * float64(res.Iter-before) * (s.keep.each + s.pairs.eachWork())
	return err
}

// meanCost is what an iteration with the mean weights costs, in nanoseconds of [costs].
func (s *cellSolver) meanCost(t *cellSystem) float64 {
	q := 0
	if s.keep.dec != nil {
		q = len(s.mean.leading.s)
	}
	return costsOf(s.cfg.Backend).sketched.total(1, float64(t.columns), float64(s.x.Rows), float64(q))
}

// exactCost is what Cholesky's factor of the observed cells costs, +Inf where it takes more memory than there is, or
// than eigenvectors of K.
func (s *cellSolver) exactCost(t *cellSystem) float64 {
	N, l, n := t.cells.Count(), float64(s.x.Rows), float64(s.x.Cols)
	fN := float64(N)
	if N > mostPairs(s.x.Rows) || memory.Check("", 8*(4./3*fN*fN+l*l+n*(n+fN)), "") != nil {
		return math.Inf(1)
	}
	return costsOf(s.cfg.Backend).cholesky(N, 1, 1)
}

// direct solves by Cholesky's factor, in few rounds of refinement, and reports false where rounding leaves none that
// solves the system.
func (s *cellSolver) direct(ctx context.Context, t *cellSystem, opt Options, res *Result) (done bool, err error) {
	if s.here = 0; s.chol.mu == t.near.Mu && s.chol.cells == t.cells {
		s.chol.be = blas.Until(ctx, s.cfg.Backend) // that before may have ended with its context
	} else if err := s.chol.set(ctx, blas.Until(ctx, s.cfg.Backend), t.near, t.cells); err != nil {
		if ctx.Err() == nil && errors.Is(err, ErrNotSPD) {
			return false, nil
		}
		return false, cmp.Or(ctx.Err(), err)
	}
	return s.refine(ctx, t, opt, res), nil
}

// refine solves by Cholesky's factor, from 0, and reports whether that has reached the tolerance.
func (s *cellSolver) refine(ctx context.Context, t *cellSystem, opt Options, res *Result) bool {
	inverse := s.chol.Apply
	if t.cells.IsBalanced() {
		var ok bool
		if inverse, ok = balanced(s.cfg.Backend, inverse, t.cells); !ok {
			return false
		}
	}
	s.rest, s.change = blas.Reshape(s.rest, s.x.Rows, s.x.Cols), blas.Reshape(s.change, s.x.Rows, s.x.Cols)
	blas.Copy(s.rest, s.b)
	solution, kept := blas.Like(s.x), res.Residual
	for before := math.Inf(1); ; before = res.Residual {
		inverse(blas.Vector(s.change.Data), blas.Vector(s.rest.Data))
		blas.AddScaled(solution, 1, s.change)
		s.mean.measure(solution, s.b, res)
		blas.CopyScaled(s.rest, -1, s.mean.PF)
		if res.Residual <= opt.Tol {
			blas.Copy(s.x, solution)
			return true
		}
		if !(res.Residual < before/2) || ctx.Err() != nil {
			res.Residual, s.mean.measured = kept, false
			return false
		}
	}
}

// predict computes F = K·(P·C)·L, by one product with 𝒦 more where conjugate gradients on the cells have ended the
// solve.
func (s *cellSolver) predict(F blas.General, res *Result) {
	m := &s.mean
	if m.V.Rows == 0 { // x is b/μ
		blas.Zero(F)
		return
	}
	if !m.measured {
		m.measure(s.x, s.b, res)
	}
	blas.Gemm(s.cfg.Backend, false, true, s.unit, m.KR, m.V, 0, F)
}

// run is conjugate gradients on x, on the cells themselves, with the preconditioner M.
func (s *cellSolver) run(ctx context.Context, t *cellSystem, M linop.Operator, opt Options, res *Result) error {
	if opt.MaxIter <= 0 {
		return notConverged(res, opt.Tol)
	}
	if t.cells != nil && M != nil {
		M = t.cells.Between(M)
	}
	before, start := *res, math.NaN()
	s.mean.measured = false
	out, err := s.work.Solve(ctx, s.x.Data, t.A, s.b.Data, cg.Options{
		Tol: margin * opt.Tol, MaxIter: opt.MaxIter, ScaleStart: true, Precond: M, Flexible: true,
		Trace: func(c cg.Step) error {
			if math.IsNaN(start) {
				start = c.Residual
			}
			if opt.Trace == nil {
				return nil
			}
			return opt.Trace(Step{
				Iter: before.Iter + c.Iter, Residual: c.Residual, Columns: before.Columns + c.Iter*t.columns,
			})
		},
	})
	res.Residual = out.Residual
	res.Iter += out.Applies
	res.Columns += out.Applies * t.columns
	if folds := math.Log(start / out.Residual); folds > 1 && t.cells == nil {
		s.keep.counted(out.Iter, float64(out.Iter)/folds)
	}
	switch {
	case errors.Is(err, cg.ErrNotConverged) && out.Residual <= opt.Tol:
		return nil // by less than the margin
	case errors.Is(err, cg.ErrNotConverged):
		return notConverged(res, opt.Tol)
	}
	return translated(err)
}

// This file solves systems of cells whose weights change from call to call, in the range of L.

package sylvester

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/linop"
)

// Reweighted solves the system of [NewMasked],
//
//	P·(K·(P·B)·L) + μ·B = Y on Ω,   B = 0 elsewhere,   P = diag(√w),
//
// for weights w that differ from call to call, in the range of L = V·Vᵀ with the n×r V. With A = (P·B)·V it is
//
//	μ·A + (w∘(K·A·Vᵀ))·V = (P·Y)·V,   B = (Y − P·(K·A·Vᵀ))/μ,
//
// a system of l×r numbers that a product with K makes symmetric and positive definite. Flexible conjugate gradients
// solve it. They are preconditioned by the inverse of A ↦ μ·A + K·A·Λ on leading eigenvectors of K, where
// Λ = Vᵀ·diag(w̄)·V with the mean weight w̄ of each column, and V is turned so that Λ is diagonal. An iteration
// multiplies K and q eigenvectors by r columns: 2·l²·r + 4·l·q·r + 4·l·n·r flops. The residual R of A leaves
// P·(K·R·Vᵀ)/μ of Y. Cholesky's factor of the observed cells, or of others and a border, takes the place of iterations
// that are expected to take longer, and of those that have.
//
// Of cells that are balanced ([linop.Cells.Balanced]) the system is that between projections,
// Q·P·(K·(P·B)·L) + μ·B = Q·Y, whose solution has sums Σ_i √w·B of 0.
//
// It keeps the eigenvectors after Invalidate until iterations have doubled, and serves one goroutine. Scratch:
// 9·l·r + 5·l·n floats.
type Reweighted struct {
	keep    keeper
	chol    ObservedFactor
	few     cellBorder   // where few cells differ from those of chol
	V       blas.General // n×r
	lambda  []float64    // Λ
	leading lowRank      // the pairs that precondition, in any order
	fresh   int          // iterations of the first call after the eigenvectors were made
	last    int          // and of the last one
	mu      float64      // of the last call, whose L is that of chol
	spent   int          // iterations of calls for these since the factor

	A, KA, R, KR, before blas.General // l×r: the iterate, the residual and that before it, and their products with K
	Z, KZ, P, KP         blas.General // the preconditioned residual, the direction, and their products with K
	coordinates, PY, PF  blas.General // of R; P∘Y and P∘F, l×n
	Y, rest, change      blas.General // Y on Ω, and those of refinement, l×n
}

// NewReweighted returns a solver.
func NewReweighted(cfg Config) *Reweighted {
	cfg.Backend = blas.Or(cfg.Backend)
	return &Reweighted{keep: keeper{cfg: cfg, below: exactBelow}}
}

// Beside returns a solver for the same K that shares what is known of it.
func (s *Reweighted) Beside(cfg Config) *Reweighted {
	o := NewReweighted(cfg)
	o.keep.dec, o.keep.stale, o.chol.K = s.keep.dec, s.keep.stale, s.chol.K
	return o
}

// Invalidate tells the solver that K has changed.
func (s *Reweighted) Invalidate() { s.keep.stale, s.chol.K, s.mu = true, blas.General{}, math.NaN() }

// Solve overwrites B by the solution for cells of the given weights. Y is read on Ω only. A nil error means that
// Result.Residual, ‖P·(K·(P·B)·L) + μB − Y‖_F/‖Y‖_F on Ω, is at most opt.Tol. Result.KC is empty, Options.Single and
// Options.Trace have no effect. Errors are those of a [Solver].
func (s *Reweighted) Solve(
	ctx context.Context, B blas.General, sys System, cells *linop.Cells, Y blas.General, opt Options,
) (Result, error) {
	res := Result{Solver: "reweighted"}
	l, n := cells.Dims()
	s.Y, s.PY, s.PF = blas.Reshape(s.Y, l, n), blas.Reshape(s.PY, l, n), blas.Reshape(s.PF, l, n)
	cells.Keep(s.Y, Y)
	cells.Balance(s.Y)
	norm := blas.Frob(s.Y)
	if err := checkSystem(sys.L, sys.Mu, norm); err != nil {
		return res, err
	}
	if norm == 0 || sys.L.Rank() == 0 {
		s.V = blas.General{}
		blas.CopyScaled(B, 1/sys.Mu, s.Y)
		return res, opt.check()
	}
	opt = opt.limited(l)
	cells.Project(s.PY, s.Y)
	if err := s.turn(sys.L, cells); err != nil {
		return res, err
	}
	s.same(sys)
	// Few cells take more iterations than usual, and others as many as in the call before. At an L that has taken as
	// many as cost as much as a factor, a factor is likely to serve more calls.
	limit, expected := s.factorIterations(sys, cells), max(4*usualSolves, float64(s.last))+float64(s.spent)
	if done, err := s.bordered(ctx, B, sys, cells, norm, opt, &res, min(1, expected/limit)); done || err != nil {
		return res, err
	}
	if limit < expected {
		if done, err := s.direct(ctx, B, sys, cells, norm, opt, &res); done || err != nil {
			return res, err
		}
		limit = math.Inf(1)
	}
	within := opt
	within.MaxIter = int(min(float64(opt.MaxIter), limit))
	err := s.iterate(ctx, sys, cells, norm, within, &res)
	if errors.Is(err, ErrNotConverged) && within.MaxIter < opt.MaxIter {
		if done, failed := s.direct(ctx, B, sys, cells, norm, opt, &res); done || failed != nil {
			return res, failed
		}
	}
	if s.spent += res.Iter; err != nil && !errors.Is(err, ErrNotConverged) {
		return res, err
	}
	s.spread(s.KA, cells)
	blas.Copy(B, s.Y)
	blas.AddScaled(B, -1, s.PF)
	blas.Scal(1/sys.Mu, B.Data)
	blas.AddScaled(s.KA, 1/sys.Mu, s.KR) // (P·B)·V = A + R/μ
	return res, err
}

// same forgets the factor, and the iterations made, where L or μ are not those of the call before.
func (s *Reweighted) same(sys System) {
	L := blas.NewGeneral(sys.L.Dim(), sys.L.Dim())
	sys.L.Dense(s.keep.cfg.Backend, L)
	if s.mu != sys.Mu || L.Rows != s.chol.L.Rows || !slices.Equal(L.Data, s.chol.L.Data) {
		s.mu, s.chol.L, s.chol.mu, s.spent = sys.Mu, L, math.NaN(), 0
	}
}

// Decompose is the decomposition of K, which iterations then take leading pairs of. It must not be changed.
func (s *Reweighted) Decompose(ctx context.Context, K linop.Operator) (*Decomposition, error) {
	k := &s.keep
	if k.dec == nil || k.stale || k.dec.T.Rows != K.Dim() || !k.dec.whole() {
		dec, err := Decompose(ctx, K, k.cfg.Backend)
		if err != nil {
			return nil, err
		}
		k.dec, k.stale, s.fresh = dec, false, 0
	}
	return k.dec, nil
}

// Predict computes F = K·(P·B)·L of the last solution.
func (s *Reweighted) Predict(F blas.General) {
	if s.V.Data == nil {
		blas.Zero(F)
		return
	}
	blas.Mul(s.keep.cfg.Backend, F, false, true, s.KA, s.V)
}

// factorIterations is how many iterations take as long as Cholesky's factor of the observed cells, +Inf where it takes
// more memory than there is, or than eigenvectors of K.
func (s *Reweighted) factorIterations(sys System, cells *linop.Cells) float64 {
	l, n := cells.Dims()
	N, fl, fn := float64(cells.Count()), float64(l), float64(n)
	if cells.Count() > mostPairs(l) || memory.Check("", 8*(4./3*N*N+fl*fl+fn*(fn+N)), "") != nil {
		return math.Inf(1)
	}
	q := 0
	if k := &s.keep; k.dec != nil {
		q = len(k.leading(s.near(sys)).Sigma)
	}
	c := costsOf(s.keep.cfg.Backend)
	return c.cholesky(cells.Count(), 1, 1) / c.sketched.total(1, float64(len(s.lambda)), fl, float64(q))
}

// bordered solves by Cholesky's factor of cells before where few differ, at a cost of up to
// that share of a new one, and reports false where it does not. norm is that of Y.
func (s *Reweighted) bordered(
	ctx context.Context, B blas.General, sys System, cells *linop.Cells, norm float64, opt Options, res *Result,
	share float64,
) (done bool, err error) {
	if s.chol.mu != sys.Mu {
		return false, nil
	}
	s.chol.be = blas.Until(ctx, s.keep.cfg.Backend) // that before may have ended with its context
	if s.few.set(&s.chol, cells, share) && s.refine(B, sys, cells, norm, opt, res, s.few.Apply) {
		return true, nil
	}
	return false, ctx.Err()
}

// direct solves by Cholesky's factor, and reports false where rounding leaves none that solves
// the system. norm is that of Y.
func (s *Reweighted) direct(
	ctx context.Context, B blas.General, sys System, cells *linop.Cells, norm float64, opt Options, res *Result,
) (done bool, err error) {
	be := blas.Until(ctx, s.keep.cfg.Backend)
	s.few.spent, s.spent = 0, 0
	if err := s.chol.set(ctx, be, sys, cells); err != nil {
		if ctx.Err() == nil && errors.Is(err, ErrNotSPD) {
			return false, nil
		}
		return false, cmp.Or(ctx.Err(), err)
	}
	return s.refine(B, sys, cells, norm, opt, res, s.chol.Apply), nil
}

// refine solves by the inverse of a matrix near that of the system, from 0, and reports whether that has reached
// the tolerance.
func (s *Reweighted) refine(
	B blas.General, sys System, cells *linop.Cells, norm float64, opt Options, res *Result,
	inverse func(dst, x blas.General),
) bool {
	l, r := B.Rows, len(s.lambda)
	s.A, s.KA, s.KR = blas.Reshape(s.A, l, r), blas.Reshape(s.KA, l, r), blas.Reshape(s.KR, l, r)
	if cells.IsBalanced() {
		var ok bool
		if inverse, ok = balanced(s.keep.cfg.Backend, inverse, cells); !ok {
			return false
		}
	}
	blas.Zero(B)
	blas.Zero(s.KR)
	s.rest, s.change = blas.Reshape(s.rest, l, B.Cols), blas.Reshape(s.change, l, B.Cols)
	rest, change := s.rest, s.change
	blas.Copy(rest, s.Y)
	for before := math.Inf(1); ; before = res.Residual {
		inverse(blas.Vector(change.Data), blas.Vector(rest.Data))
		blas.AddScaled(B, 1, change)
		cells.Project(s.PF, B)
		blas.Mul(s.keep.cfg.Backend, s.A, false, false, s.PF, s.V)
		sys.K.Apply(s.KA, s.A)
		s.spread(s.KA, cells)
		blas.Copy(rest, s.Y)
		blas.AddScaled(rest, -1, s.PF)
		blas.AddScaled(rest, -sys.Mu, B)
		res.Iter, res.Columns, res.Residual = res.Iter+1, res.Columns+r, blas.Frob(rest)/norm
		if res.Residual <= opt.Tol {
			return true
		}
		if !(res.Residual < before/2) {
			return false
		}
	}
}

// iterate solves the system for A. norm is that of Y.
func (s *Reweighted) iterate(
	ctx context.Context, sys System, cells *linop.Cells, norm float64, opt Options, res *Result,
) error {
	l, r := s.PY.Rows, len(s.lambda)
	if err := s.prepare(ctx, sys, cells); err != nil {
		return err
	}
	for _, a := range []*blas.General{&s.A, &s.KA, &s.R, &s.KR, &s.before, &s.Z, &s.KZ, &s.P, &s.KP} {
		*a = blas.Reshape(*a, l, r)
	}
	blas.Zero(s.A)
	blas.Zero(s.KA)
	blas.Mul(s.keep.cfg.Backend, s.R, false, false, s.PY, s.V)
	var first, previous float64
	lowest, aim := math.Inf(1), opt.Tol // the part of the first energy at which the residual is computed
	flat := false                       // the curvature of a direction is within rounding of 0
	for iter, idle := 1, 0; ; iter++ {
		s.leading.guess(s.keep.cfg.Backend, s.Z, s.R, &s.coordinates, s.lambda, sys.Mu)
		sys.K.Apply(s.KZ, s.Z)
		res.Iter++
		res.Columns += r
		energy := blas.Inner(s.R, s.KZ)
		if !finite(energy) {
			return fmt.Errorf("%w: a product with K", ErrNotFinite)
		}
		if iter == 1 {
			if first = energy; !s.keep.stale && s.negative(energy, s.R, s.Z, s.KZ) {
				return fmt.Errorf("%w: ⟨R, K·R⟩ = %g", ErrNotSPD, energy)
			}
		}
		if idle++; energy < lowest {
			lowest, idle = energy, 0
		}
		spent := iter > opt.MaxIter || idle > missingPatience || !(energy > 0) || flat
		if spent || energy <= square(aim)*first {
			sys.K.Apply(s.KR, s.R)
			s.spread(s.KR, cells)
			res.Residual = blas.Frob(s.PF) / (sys.Mu * norm)
			res.Columns += r
			if s.last = iter; s.fresh == 0 {
				s.fresh = iter
			}
			switch {
			case res.Residual <= opt.Tol:
				return nil
			case spent && s.keep.stale: // eigenvectors of another K
				s.keep.dec = nil
				return s.iterate(ctx, sys, cells, norm, opt, res)
			case spent:
				return notConverged(res, opt.Tol)
			}
			aim = 0.5 * opt.Tol / res.Residual * math.Sqrt(energy/first)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		beta := 0.0
		if iter > 1 {
			beta = (energy - blas.Inner(s.before, s.KZ)) / previous
		}
		blas.Scal(beta, s.P.Data)
		blas.Scal(beta, s.KP.Data)
		blas.AddScaled(s.P, 1, s.Z)
		blas.AddScaled(s.KP, 1, s.KZ)
		previous = energy
		blas.Copy(s.before, s.R)
		s.weigh(s.Z, s.KP, cells)
		blas.AddScaled(s.Z, sys.Mu, s.P)
		curvature := blas.Inner(s.KP, s.Z)
		if !(curvature > 0) {
			if s.negative(curvature, s.Z, s.P, s.KP) {
				return notPositive(curvature, "a direction of curvature %g", curvature)
			}
			flat = true
			continue
		}
		step := blas.Inner(s.R, s.KP) / curvature
		blas.AddScaled(s.A, step, s.P)
		blas.AddScaled(s.KA, step, s.KP)
		blas.AddScaled(s.R, -step, s.Z)
	}
}

// negative reports whether v = ⟨x, K·y⟩, which no negative eigenvalue makes negative, is so by more than rounding: of
// the product Ky, and of entries of K that may be given in single precision.
func (s *Reweighted) negative(v float64, x, y, Ky blas.General) bool {
	size := blas.Frob(Ky)
	if len(s.leading.s) > 0 {
		size = max(size, floats.Max(s.leading.s)*blas.Frob(y))
	}
	return math.IsNaN(v) || v < -0x1p-22*size*blas.Frob(x)
}

// balanced is the inverse of Q·M·Q on the columns that Q of the cells keeps, by that of M, and reports whether rounding
// leaves one: with the columns E of √w for each output, whose sums of weights are not 0,
//
//	M⁻¹ − M⁻¹·E·(Eᵀ·M⁻¹·E)⁻¹·Eᵀ·M⁻¹.
func balanced(
	be blas.Backend, inverse func(dst, x blas.General), cells *linop.Cells,
) (of func(dst, x blas.General), ok bool) {
	l, n := cells.Dims()
	var outputs []int
	for j := range n {
		for i := range l {
			if cells.Has(i, j) {
				outputs = append(outputs, j)
				break
			}
		}
	}
	sums := func(x blas.General) blas.General { // Eᵀ·x
		s := blas.NewGeneral(len(outputs), 1)
		for k, j := range outputs {
			for i := range l {
				s.Data[k] += cells.Row(i)[j] * x.Data[i*n+j]
			}
		}
		return s
	}
	q := len(outputs)
	schur, columns, e := blas.NewGeneral(q, q), make([]blas.General, q), blas.NewGeneral(l*n, 1)
	for k, j := range outputs {
		blas.Zero(e)
		for i := range l {
			e.Data[i*n+j] = cells.Row(i)[j]
		}
		columns[k] = blas.NewGeneral(l*n, 1)
		inverse(columns[k], e)
		for a, v := range sums(columns[k]).Data {
			schur.Data[a*schur.Stride+k] = v
		}
	}
	blas.Symmetrize(schur)
	if !be.Potrf(schur) {
		return nil, false
	}
	return func(dst, x blas.General) {
		inverse(dst, x)
		s := sums(dst)
		blas.Potrs(be, schur, s)
		for k, z := range columns {
			blas.AddScaled(dst, -s.Data[k], z)
		}
	}, true
}

// spread computes PF = Q·P∘(G·Vᵀ).
func (s *Reweighted) spread(G blas.General, cells *linop.Cells) {
	blas.Mul(s.keep.cfg.Backend, s.PF, false, true, G, s.V)
	cells.Project(s.PF, s.PF)
	cells.Balance(s.PF)
}

// weigh computes dst = (w∘(G·Vᵀ))·V.
func (s *Reweighted) weigh(dst, G blas.General, cells *linop.Cells) {
	s.spread(G, cells)
	cells.Project(s.PF, s.PF)
	blas.Mul(s.keep.cfg.Backend, dst, false, false, s.PF, s.V)
}

// turn makes V and Λ.
func (s *Reweighted) turn(L *linop.Spectral, cells *linop.Cells) error {
	be := s.keep.cfg.Backend
	l, n := cells.Dims()
	r := L.Rank()
	s.V, s.lambda = blas.Reshape(s.V, n, r), make([]float64, r)
	mean := make([]float64, n)
	cells.Each(func(_, j int, root float64) { mean[j] += root * root / float64(l) })
	V, weighted := L.Factor(), blas.NewGeneral(n, r)
	blas.ScaleRows(weighted, mean, V)
	Q := blas.Product(be, true, false, V, weighted)
	blas.Symmetrize(Q)
	if err := be.Syevd(Q, s.lambda); err != nil {
		return err
	}
	for b, v := range s.lambda {
		s.lambda[b] = max(v, 0) // negative by rounding
	}
	blas.Mul(be, s.V, false, false, V, Q)
	return nil
}

// near is the system with Λ in the place of L and the weights.
func (s *Reweighted) near(sys System) System {
	return System{K: sys.K, L: linop.Leading(blas.NewGeneral(0, len(s.lambda)), s.lambda, 0), Mu: sys.Mu}
}

// prepare makes eigenvectors of K, as many as the condition of the system asks for.
func (s *Reweighted) prepare(ctx context.Context, sys System, cells *linop.Cells) error {
	k := &s.keep
	l, n := cells.Dims()
	near := s.near(sys)
	k.each = 2 * float64(l) * float64(len(s.lambda)) * float64(l+2*n)
	if k.dec == nil || k.dec.T.Rows != l || k.stale && s.last > 2*s.fresh || !k.dec.whole() && k.coarse(near) {
		k.exact, s.fresh = l <= k.below, 0
		if err := k.renew(ctx, near); err != nil {
			return err
		}
	}
	d := k.leading(near)
	d.Sigma = slices.Clone(d.Sigma)
	s.leading = lowRank{U: d.T, s: d.Clip().Sigma}
	return nil
}

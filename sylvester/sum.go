package sylvester

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Sum solves the system of regression with a sum of separable kernels,
//
//	P·(Σ_j K_j·(P·C)·L_j) + μ·C = Y on Ω,   C = 0 elsewhere,   P = diag(√w),
//
// a linear model of coregionalisation, whose targets may be missing (mathematics.md §12). It takes flexible conjugate
// gradients, preconditioned by the inverse of the separable system
//
//	K̄⊗L̄ + μI,   L̄ = Σ_j L_j,   K̄ = Σ_j w_j·K_j,   w_j = tr L_j/Σ_i tr L_i,
//
// computed by leading eigenvectors of K̄ and, with weights, by a factor of leading pairs of eigenvectors restricted to
// the cells. The preconditioner is exact where the L_j are multiples of one matrix. An iteration multiplies every K_j
// by rank(L_j) columns, and adds two products with leading eigenvectors of K̄. The number of iterations grows as the
// L_j differ; docs/decisions/2026-11-27-constants.md counts them.
//
// A Sum keeps scratch and the decomposition of K̄. The decomposition is renewed when weights or kernels have changed so
// much that a new one is forecast to be faster. A Sum serves one goroutine. Memory: that of the decomposition.
type Sum struct {
	cells *linop.Cells // nil for all, of weight 1
	by    cellSolver
	op    linop.KroneckerSum
	mask  linop.Mask
	w     []float64 // the weights of the K̄ decomposed
	kbar  meanKernel
	lbar  linop.Spectral
}

// NewSum returns a solver for cells of the given weights, all of weight 1 when cells is nil.
func NewSum(cells *linop.Cells, cfg Config) *Sum {
	cfg.Backend = blas.Or(cfg.Backend)
	s := new(Sum)
	s.op.Backend, s.mask.A = cfg.Backend, &s.op
	s.by.set("sum", cfg)
	s.take(cells)
	return s
}

// Reweigh gives the cells other weights, which are expected to change again. What the solver keeps of the kernels stays
// valid.
func (s *Sum) Reweigh(cells *linop.Cells) {
	s.by.cfg.Reweighted = true
	s.take(cells)
}

func (s *Sum) take(cells *linop.Cells) {
	if s.cells = cells; cells != nil && cells.Complete() && !cells.IsBalanced() {
		s.cells = nil
	}
}

// Average gives the solver an operator K = Σ_j η_j·A_j whose terms are those of every Solve up to a factor, K_j =
// scale·A_j, in the same order. The solver then forms K̄ as K at other weights, and takes no memory for it.
func (s *Sum) Average(K linop.Sum, scale float64) { s.kbar.sum, s.kbar.scale = K, scale }

// Invalidate tells the solver that a kernel has changed.
func (s *Sum) Invalidate() { s.by.invalidate() }

// Solve reads C as the starting point and overwrites it by the solution for the given terms and μ > 0. Y is read on Ω
// only. A nil error means that Result.Residual, ‖P·(ΣK_j·(P·C)·L_j) + μC − Y‖_F/‖Y‖_F on Ω computed by its definition,
// is at most Tol. Result.Columns counts the columns multiplied by any K_j; Result.KC is empty, Options.Single and
// Options.Fitted have no effect. Errors are those of a [Solver]. MaxIter bounds the products with the sum; ctx is
// looked at before every one, and a cancelled solve ends within two more.
func (s *Sum) Solve(
	ctx context.Context, C blas.General, terms []linop.Term, mu float64, Y blas.General, opt Options,
) (Result, error) {
	res := Result{Solver: "sum", Residual: math.NaN()}
	s.check(C, terms, Y)
	s.op.Terms, s.op.Mu, s.mask.Mu, s.mask.Cells = append(s.op.Terms[:0], terms...), mu, mu, s.cells
	t := &cellSystem{cells: s.cells, A: &s.op}
	if s.cells != nil {
		s.op.Mu, t.A = 0, s.cells.Between(&s.mask)
	}
	err := s.weigh(terms, mu, s.by.load(s.cells, C, Y), t)
	if err == nil {
		err = opt.check()
	}
	if err != nil {
		return res, err
	}
	err = s.by.solve(ctx, t, opt.limited(Y.Rows), &res)
	blas.CopyScaled(C, s.by.unit, s.by.x)
	res.count(ctx, Y.Rows)
	return res, err
}

func (s *Sum) check(C blas.General, terms []linop.Term, Y blas.General) {
	if len(terms) == 0 {
		panic("sylvester: a sum of no terms")
	}
	ok := C.Rows == Y.Rows && C.Cols == Y.Cols
	if s.cells != nil {
		l, n := s.cells.Dims()
		ok = ok && l == Y.Rows && n == Y.Cols
	}
	for _, t := range terms {
		ok = ok && t.K.Dim() == Y.Rows && t.L.Dim() == Y.Cols
	}
	if !ok {
		panic("sylvester: shape mismatch")
	}
}

// weigh checks the system, of a right side and a start of this norm, and makes L̄ and the weights of K̄, whose
// decomposition is stale when they have changed, for t.
func (s *Sum) weigh(terms []linop.Term, mu, norm float64, t *cellSystem) error {
	var (
		total float64
		w     []float64
	)
	for _, term := range terms {
		if err := checkSystem(term.L, mu, norm); err != nil {
			return err
		}
		w = append(w, term.L.Trace())
		total += term.L.Trace()
		t.columns += term.L.Rank()
	}
	for j := range w {
		w[j] = relative(w[j], total)
	}
	if !slices.Equal(w, s.w) {
		s.Invalidate()
		s.w = w
	}
	s.kbar.terms, s.kbar.w = s.op.Terms, s.w
	t.near = System{K: &s.kbar, L: &s.lbar, Mu: mu}
	return s.average(terms, t.columns)
}

// average makes L̄ in factors: the eigenvectors of Σ_j L_j, by way of that n×n matrix
// or, where the ranks add up to r < n, of [V_1·√S_1 … V_m·√S_m].
func (s *Sum) average(terms []linop.Term, r int) error {
	be, n := s.op.Backend, terms[0].L.Dim()
	a := blas.NewGeneral(n, r)
	at := 0
	for _, t := range terms {
		part := blas.View(a, 0, at, n, t.L.Rank())
		blas.Copy(part, t.L.Factor())
		at += t.L.Rank()
	}
	if r == 0 {
		s.lbar = linop.Spectral{V: blas.NewGeneral(n, 0)}
		return nil
	}
	if r >= n {
		all := blas.Product(be, false, true, a, a)
		L, err := linop.NewSpectral(be, all, 0x1p-50)
		if err == nil {
			s.lbar = *L
		}
		return err
	}
	return factored(be, &s.lbar, a)
}

// complete solves a sum without weights, preconditioned by the inverse of the separable system,
// R/μ + (X − R·V/μ)·Vᵀ for L = V·diag(ρ)·Vᵀ and the solutions X for the columns of R·V.
func (s *cellSolver) complete(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	var RV, X, work blas.General
	l, L, mu, be := s.x.Rows, t.near.L, t.near.Mu, s.cfg.Backend
	RV, X = blas.NewGeneral(l, L.Rank()), blas.NewGeneral(l, L.Rank())
	var leading lowRank
	inverse := onMatrices(l, s.x.Cols, func(dst, R blas.General) {
		blas.Mul(be, RV, false, false, R, L.V)
		leading.guess(be, X, RV, &work, L.S, mu)
		blas.AddScaled(X, -1/mu, RV)
		blas.CopyScaled(dst, 1/mu, R)
		blas.Gemm(be, false, true, 1, X, L.V, 1, dst)
	})
	for {
		if err := s.keep.prepare(ctx, t.near); err != nil {
			return err
		}
		leading = s.keep.leading(t.near)
		stale := s.keep.stale
		err := s.run(ctx, t, inverse, opt.after(res), res)
		if !errors.Is(err, ErrNotConverged) || !stale || res.Iter >= opt.MaxIter {
			return err
		}
		s.keep.dec = nil
	}
}

// sum solves a sum by a factor of pairs of the separable system.
func (s *cellSolver) sum(ctx context.Context, t *cellSystem, opt Options, res *Result) error {
	if done, err := s.kept(ctx, t, opt, res); done || err != nil {
		return err
	}
	if s.keep.stale {
		s.keep.dec = nil
	}
	if err := s.keep.prepare(ctx, t.near); err != nil {
		return err
	}
	return s.byPairs(ctx, t, opt, res)
}

// factored makes L = a·aᵀ for the n×r a, which is overwritten, in min(n, r) eigenvectors.
func factored(be blas.Backend, L *linop.Spectral, a blas.General) error {
	k := min(a.Rows, a.Cols)
	*L = linop.Spectral{V: blas.NewGeneral(a.Rows, k), S: make([]float64, k)}
	if err := be.SVD(a, L.S, L.V, blas.NewGeneral(k, a.Cols)); err != nil {
		return err
	}
	for b := range L.S {
		L.S[b] *= L.S[b]
	}
	return nil
}

// meanKernel is K̄ = Σ_j w_j·K_j, of which a decomposition is made.
type meanKernel struct {
	terms []linop.Term
	w     []float64
	sum   linop.Sum // see Sum.Average; nil for none
	scale float64
	y     blas.General
}

func (k *meanKernel) Dim() int { return k.terms[0].K.Dim() }

func (k *meanKernel) Apply(dst, x blas.General) {
	if k.sum != nil {
		k.weighted().Apply(dst, x)
		return
	}
	blas.Zero(dst)
	k.y = blas.Reshape(k.y, x.Rows, x.Cols)
	for j, w := range k.w {
		if w > 0 {
			k.terms[j].K.Apply(k.y, x)
			blas.AddScaled(dst, w, k.y)
		}
	}
}

// weighted is sum with the weights of K̄.
func (k *meanKernel) weighted() linop.Operator {
	w := slices.Clone(k.w)
	blas.Scal(k.scale, w)
	k.sum.SetWeights(w)
	return k.sum
}

// Dense writes K̄ to dst.
func (k *meanKernel) Dense(dst blas.General) {
	if k.sum != nil {
		_ = linop.Dense(context.Background(), dst, k.weighted()) // only a context can fail it
		return
	}
	one := blas.NewGeneral(dst.Rows, dst.Cols)
	blas.Zero(dst)
	for j, w := range k.w {
		if w > 0 {
			_ = linop.Dense(context.Background(), one, k.terms[j].K) // only a context can fail it
			blas.AddScaled(dst, w, one)
		}
	}
}

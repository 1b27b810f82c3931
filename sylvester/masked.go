// This file solves systems in which cells of Y are missing.

package sylvester

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// masked solves systems with missing cells; see [NewMasked].
type masked struct {
	name   string
	cfg    Config
	part   *subgrid     // the rows and columns of the cells; nil for the whole grid of weights that are at most 1
	whole  *linop.Cells // as given
	cells  *linop.Cells // within the part, of weights at most 1
	full   Solver       // for a complete grid
	rows   int          // of the whole grid
	cols   int
	by     preconditioned
	chol   ObservedFactor
	hard   bool               // iterations have spent what Cholesky's factor costs
	op     linop.KroneckerSum // K⊗L
	mask   linop.Mask         // P·op·P + μI
	C, Y   blas.General       // on the part
	kc, pc blas.General
}

// Masked is a [Solver] for cells of given weights.
type Masked interface {
	Solver
	// Decompose is the decomposition of sys.K. It must not be changed. Where a factor of leading pairs preconditions,
	// the solver keeps it in the place of its own until Invalidate, and does not compute it twice; then it is that of
	// the rows that have a cell, 0 in the others, and only the leading part of it where memory allows no more.
	Decompose(ctx context.Context, sys System) (*Decomposition, error)
}

// maskedDirect is the method of [NewMasked] that [New] has not: Cholesky's factor of the system of the observed cells.
const maskedDirect = "direct"

// maskedOwn lists the methods that systems with holes have.
var maskedOwn = []string{"auto", "eigen", "nystrom", "cg", maskedDirect}

// MaskedNames lists the methods of [NewMasked] in alphabetical order.
func MaskedNames() []string {
	names := append(Names(), maskedDirect)
	slices.Sort(names)
	return names
}

// NewMasked returns a solver of the system of regression with a weight w ≥ 0 for every target, 0 for a missing one,
//
//	P·(K·(P·C)·L) + μ·C = Y on Ω,   C = 0 elsewhere,   P = diag(√w),
//
// where Ω is the cells of positive weight (mathematics.md §11, §15). For weights 0 and 1, P is the projection on
// Ω. With Y = √w∘T, P·C minimises Σ w·(T − K·B·L)² + μ·tr(BᵀKBL) over B. It is
// the [Solver] of this equation: Y and the start C are read in Ω
// only, where Y may hold NaN elsewhere; Result.Residual is
// ‖P·(K·(P·C)·L) + μC − Y‖_F/‖Y‖_F on Ω, Result.KC is K·(P·C), and a nil error means that the residual is at most
// Tol, for every method. Rows and columns without an observed cell are left out of the
// work, and C is zero there. Where the rest has no hole and weights that are one number for each column, the solver
// of that name of [New] does it all, with the same result to the last bit.
//
// Otherwise conjugate gradients run on the observed cells, and name chooses what
// preconditions them:
//
//   - eigen: the inverse on the full grid by eigenvectors of K, corrected by conjugate
//     gradients on the cells that are missing or of less weight than others of their column; one iteration of
//     the former and, for k such cells, at most k of the latter, each two products of T by r columns, 4l²r flops.
//     The eigenvectors are kept for every L and μ, and used for a nearby K after
//     Invalidate as long as that is forecast to be faster than new ones;
//   - nystrom: where w is below 0.95 in the mean, a factor for the leading pairs of eigenvectors of K and L, cut down
//     to the cells, beside a block for each row, of what K has in common with the identity. For D pairs it takes
//     l·D² + D³/3 flops and D² floats, and makes the condition 1 + cut at most whatever the cells are. cut makes the
//     forecast work the least, for at most as much memory as a decomposition of K or 72 MB. One factor serves until
//     another is forecast to pay. Where more cells are observed, it is eigen with the leading q eigenvectors only, at
//     4lqr flops, until all of them are forecast to be faster;
//   - direct: Cholesky's factor of the |Ω|×|Ω| matrix, |Ω|³/3 flops and |Ω|² floats,
//     for few observed cells;
//   - cg: nothing, for comparison;
//   - auto: direct where few cells are observed, else nystrom, with all eigenvectors up to the order 400. It takes
//     the place of the other names of [New].
//
// Where few cells are missing, a factor for the leading pairs takes over from full-grid solves that have cost as much
// without an end. Where at most 3000 cells are observed and MaxIter is 0, direct takes over from iterations
// that have cost as much without an end, but from cg.
//
// MaxIter, 10·max(l, n) by default, bounds the products with K and, apart from those, the full-grid solves
// inside, which Result.GridSolves counts. ctx is looked at before every one of either;
// a cancelled solve ends within two more products with K, and leaves Result.KC empty.
func NewMasked(name string, cells *linop.Cells, cfg Config) (Masked, error) {
	if !slices.Contains(MaskedNames(), name) {
		return nil, fmt.Errorf("sylvester: unknown solver %q for missing cells (have %v)", name, MaskedNames())
	}
	cfg.Backend = blas.Or(cfg.Backend)
	s := &masked{name: name, cfg: cfg, op: linop.KroneckerSum{Backend: cfg.Backend}}
	s.rows, s.cols = cells.Dims()
	s.part, s.cells = newSubgrid(cells)
	s.whole, s.mask.A, s.mask.Cells = cells, &s.op, s.cells
	if !slices.Contains(maskedOwn, name) {
		s.name = "auto"
	}
	s.by.keep = keeper{cfg: cfg, exact: name == "eigen", only: name == "eigen"}
	if s.name == "auto" {
		s.by.keep.below = exactBelow
	}
	if name == maskedDirect {
		name = "auto"
	}
	var err error
	s.full, err = New(name, cfg)
	return s, err
}

func (s *masked) Name() string { return s.name }

func (s *masked) Decompose(ctx context.Context, sys System) (*Decomposition, error) {
	k := &s.by.keep
	if !k.factors(s.cells) {
		return Decompose(ctx, sys.K, s.cfg.Backend)
	}
	if s.part != nil {
		var err error
		if sys, err = s.part.system(s.cfg.Backend, sys); err != nil {
			return nil, err
		}
	}
	if k.dec == nil || k.stale || !k.dec.whole() {
		k.exact = true
		if err := k.renew(ctx, sys); err != nil {
			return nil, err
		}
	}
	if s.part == nil || len(s.part.rows) == s.rows {
		return k.dec, nil
	}
	T := blas.NewGeneral(s.rows, k.dec.T.Cols)
	for i, r := range s.part.rows {
		copy(blas.Row(T, r), blas.Row(k.dec.T, i))
	}
	return &Decomposition{T, k.dec.Sigma}, nil
}

func (s *masked) Invalidate() {
	s.full.Invalidate()
	s.by.keep.stale, s.chol.K = true, blas.General{}
}

func (s *masked) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	if Y.Rows != s.rows || Y.Cols != s.cols || sys.K.Dim() != s.rows || sys.L.Dim() != s.cols || C.Rows != s.rows ||
		C.Cols != s.cols {
		panic("sylvester: shape mismatch")
	}
	if s.part == nil {
		return s.solve(ctx, C, sys, Y, opt)
	}
	if s.cells.Count() == 0 {
		blas.Zero(C)
		s.kc = blas.NewGeneral(s.rows, s.cols)
		return Result{Solver: s.name, KC: s.kc}, checkSystem(sys.L, sys.Mu, 0)
	}
	sub, err := s.part.system(s.cfg.Backend, sys)
	if err != nil {
		return Result{Solver: s.name, Residual: math.NaN()}, err
	}
	s.C, s.Y = s.part.take(s.C, C), s.part.take(s.Y, Y)
	res, err := s.solve(ctx, s.C, sub, s.Y, opt)
	s.part.put(C, s.C)
	if res.KC = (blas.General{}); ctx.Err() == nil {
		s.multiply(sys, C, &res)
	}
	return res, err
}

// solve is Solve on a grid whose rows and columns all have an observed cell.
func (s *masked) solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	if s.cells.Complete() {
		return s.full.Solve(ctx, C, sys, Y, opt)
	}
	res := Result{Solver: s.name, Residual: math.NaN()}
	if err := opt.check(); err != nil {
		return res, err
	}
	if m, ok := sys.K.(linop.Mixed); ok && opt.Single {
		sys.K, res.Single = m.Single(), true
	}
	s.by.load(s.cells, C, Y)
	if err := checkSystem(sys.L, sys.Mu, blas.Frob(s.by.x)+blas.Frob(s.by.b)); err != nil {
		return res, err
	}
	s.op.Terms, s.mask.Mu = append(s.op.Terms[:0], linop.Term{K: sys.K, L: sys.L}), sys.Mu
	err := s.iterate(ctx, sys, opt, &res)
	blas.Copy(C, s.by.x)
	if s.part == nil && ctx.Err() == nil {
		s.multiply(sys, C, &res)
	}
	return res, err
}

// multiply fills in Result.KC.
func (s *masked) multiply(sys System, C blas.General, res *Result) {
	s.kc, s.pc = blas.Reshape(s.kc, C.Rows, C.Cols), blas.Reshape(s.pc, C.Rows, C.Cols)
	s.whole.Project(s.pc, C)
	sys.K.Apply(s.kc, s.pc)
	res.KC = s.kc
	res.Columns += C.Cols
	res.Iter++
}

// iterate solves the system on the observed cells from by.x and by.b.
func (s *masked) iterate(ctx context.Context, sys System, opt Options, res *Result) error {
	l, r := sys.K.Dim(), sys.L.Rank()
	t := target{
		A: &s.mask, cells: s.cells, near: sys, same: true,
		product: 2 * float64(l) * float64(l) * float64(r), columns: r,
	}
	spare := opt.MaxIter == 0 && s.cells.Count() <= insteadMost && s.name != "cg"
	opt = opt.limited(max(l, sys.L.Dim()))
	if s.name == maskedDirect || spare && s.hard || s.name == "auto" && s.few(l, r) {
		return s.direct(ctx, t, opt, res)
	}
	if s.name == "cg" {
		return s.by.run(ctx, t.A, nil, t.columns, opt, res, nil)
	}
	if !spare {
		return s.by.solve(ctx, t, opt, res)
	}
	bounded := opt
	bounded.MaxIter = min(opt.MaxIter, max(usualSolves, int(s.factorWork()/gridWork(l, l, r))))
	err := s.by.solve(ctx, t, bounded, res)
	if s.hard = errors.Is(err, ErrNotConverged); s.hard {
		return s.direct(ctx, t, opt, res)
	}
	return err
}

// insteadMost is the number of observed cells up to which a factor may take the place of iterations. It is a bound of
// the memory, 72 MB, and not a measured value.
const insteadMost = 3000

// direct solves by Cholesky's factor, with conjugate gradients for its rounding.
func (s *masked) direct(ctx context.Context, t target, opt Options, res *Result) error {
	if err := s.chol.set(ctx, s.cfg.Backend, t.near, s.cells); err != nil {
		return err
	}
	return s.by.run(ctx, t.A, &s.chol, t.columns, opt, res, nil)
}

// few reports whether Cholesky's factor of the observed cells is expected to be
// cheaper than full-grid solves.
func (s *masked) few(l, r int) bool {
	grid := usualSolves * gridWork(l, l, r)
	if s.by.keep.dec == nil || s.by.keep.stale {
		grid += s.by.keep.renewal(l)
	}
	return s.factorWork() < grid && s.cells.Count() <= 2*l
}

// factorWork is the cost of Cholesky's factor.
func (s *masked) factorWork() float64 { return math.Pow(float64(s.cells.Count()), 3) / 3 }

package sylvester

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Decomposer is a solver that keeps eigenvectors of K for systems of cells. The solvers of [New] are Decomposers.
type Decomposer interface {
	// Decompose returns the decomposition of sys.K, which the caller must not change. The solver computes it once, and
	// uses it until Invalidate. Rows without an observed cell may be left out of the decomposition: their elements of T
	// are then 0.
	Decompose(ctx context.Context, sys System) (*Decomposition, error)
}

// weighted is a [cellSolver] on the rows that have an observed cell.
type weighted struct {
	given *linop.Cells
	rows  []int        // nil for all
	cells *linop.Cells // of these
	K     subOperator
	by    cellSolver
	op    linop.KroneckerSum // K⊗L
	mask  linop.Mask         // P·op·P + μI
	C     blas.General       // of rows
	kc    blas.General
}

func newWeighted(name string, cfg Config) *weighted {
	w := new(weighted)
	w.by.set(name, cfg)
	w.op.Backend, w.mask.A = cfg.Backend, &w.op
	return w
}

// cells is what solves for the cells of sys.
func (s *solver) cells(sys System) *weighted {
	if s.byCells == nil {
		s.byCells = newWeighted(s.Name(), s.cfg)
	}
	w := s.byCells
	if w.given != sys.Cells {
		w.given, w.rows, w.cells = sys.Cells, nil, sys.Cells
		if l, _ := sys.Cells.Dims(); !s.cfg.Reweighted && !sys.Cells.IsBalanced() {
			if w.rows, w.cells = observedRows(sys.Cells); len(w.rows) == l {
				w.rows = nil
			}
		}
	}
	return w
}

// within is sys on the rows.
func (w *weighted) within(sys System) System {
	if w.rows != nil {
		w.K.K, w.K.rows = sys.K, w.rows
		sys.K = &w.K
	}
	sys.Cells = nil
	return sys
}

func (s *solver) Decompose(ctx context.Context, sys System) (*Decomposition, error) {
	if sys.Cells == nil {
		return Decompose(ctx, sys.K, s.cfg.Backend)
	}
	w := s.cells(sys)
	k, l := &w.by.keep, sys.K.Dim()
	sys = w.within(sys)
	if k.dec == nil || k.stale || k.dec.T.Rows != sys.K.Dim() || !k.dec.whole() {
		dec, err := Decompose(ctx, sys.K, s.cfg.Backend)
		if err != nil {
			return nil, err
		}
		k.take(dec)
	}
	if w.rows == nil {
		return k.dec, nil
	}
	T := blas.NewGeneral(l, k.dec.T.Cols)
	putRows(T, k.dec.T, w.rows)
	return &Decomposition{T, k.dec.Sigma}, nil
}

// solveCells is Solve for a system with cells.
func (s *solver) solveCells(
	ctx context.Context, C blas.General, sys System, Y blas.General, opt Options,
) (Result, error) {
	if l, n := sys.Cells.Dims(); Y.Rows != l || Y.Cols != n || sys.K.Dim() != l || sys.L.Dim() != n || C.Rows != l ||
		C.Cols != n {
		panic("sylvester: shape mismatch")
	}
	w := s.cells(sys)
	if w.rows == nil {
		return w.solve(ctx, s, C, w.within(sys), Y, opt)
	}
	inside := opt
	inside.Fitted = blas.General{}
	w.C = blas.TakeRows(C, w.rows)
	res, err := w.solve(ctx, s, w.C, w.within(sys), blas.TakeRows(Y, w.rows), inside)
	putRows(C, w.C, w.rows)
	if res.KC = (blas.General{}); ctx.Err() == nil {
		w.multiply(sys, C, opt, &res)
	}
	return res, err
}

// solve is solveCells on a grid whose rows all have an observed cell.
func (w *weighted) solve(
	ctx context.Context, s *solver, C blas.General, sys System, Y blas.General, opt Options,
) (Result, error) {
	if w.cells.Complete() && !w.cells.IsBalanced() {
		return s.solveAll(ctx, C, sys, Y, opt)
	}
	res := Result{Solver: s.Name(), Residual: math.NaN()}
	if err := opt.check(); err != nil {
		return res, err
	}
	if m, ok := sys.K.(linop.Mixed); ok && opt.Single {
		sys.K, res.Single = m.Single(), true
	}
	norm := w.by.load(w.cells, C, Y)
	if err := checkSystem(sys.L, sys.Mu, norm); err != nil {
		return res, err
	}
	w.op.Terms, w.mask.Mu, w.mask.Cells = append(w.op.Terms[:0], linop.Term{K: sys.K, L: sys.L}), sys.Mu, w.cells
	t := &cellSystem{
		cells: w.cells, A: w.cells.Between(&w.mask), near: sys, same: true, columns: sys.L.Rank(),
	}
	err := w.by.solve(ctx, t, opt.limited(max(Y.Rows, Y.Cols)), &res)
	blas.CopyScaled(C, w.by.unit, w.by.x)
	switch {
	case ctx.Err() != nil || w.rows != nil:
	case opt.Fitted.Data != nil:
		w.by.predict(opt.Fitted, &res)
	default:
		w.multiply(sys, C, opt, &res)
	}
	return res, err
}

// multiply fills in Result.KC, and Options.Fitted where that is asked for.
func (w *weighted) multiply(sys System, C blas.General, opt Options, res *Result) {
	PC := blas.Like(C)
	w.kc = blas.Reshape(w.kc, C.Rows, C.Cols)
	w.given.Project(PC, C)
	sys.K.Apply(w.kc, PC)
	res.KC = w.kc
	res.Columns += C.Cols
	res.Iter++
	if opt.Fitted.Data != nil {
		sys.L.MulRight(w.by.cfg.Backend, opt.Fitted, w.kc)
	}
}

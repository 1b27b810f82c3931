// Package sylvester solves K·C·L + μ·C = Y for C, with K and L symmetric positive semidefinite and μ > 0. This is the
// linear system of vector-valued ridge regression with a separable kernel. K is l×l and given as an operator. L =
// V·diag(ρ)·Vᵀ is n×n and given by its eigenpairs, so that no n×n array exists when its rank r is small.
//
// In the coordinates of V the columns decouple into (ρ_j·K + μI)·c̃_j = ỹ_j. [New] makes a [Solver] by its name:
//
//   - nystrom: conjugate gradients on all columns side by side, with step lengths of their own; columns that have
//     converged leave the block. One randomized Nyström preconditioner serves all shifts μ/ρ_j, and is kept while K
//     changes little. From the order 1000 on, K is taken in single precision where that is exact enough.
//   - rotated: nystrom without a preconditioner.
//   - cg: conjugate gradients on the joint system of l·n unknowns.
//   - tridiagonal, eigen, cholesky: direct methods. K is decomposed once in O(l³) flops, and a solve takes O(l²·r);
//     cholesky factors a matrix for every distinct ρ_j.
//   - bartels-stewart: another name of eigen, because the Schur form of a symmetric matrix is its eigendecomposition.
//   - auto: nystrom, at first without a preconditioner, until iterations have cost as much as the cheapest direct
//     method would, and then that method. The total cost is at most twice that of the direct method, for any K. For a
//     large K in single precision the direct method is one Cholesky factor in single precision, which preconditions
//     conjugate gradients; [Result].Solver then says cholesky.
//
// Before a solver reports success it multiplies by K once more and computes ‖Y − K·C·L − μC‖_F from its definition. If
// that misses the tolerance, another round corrects C by solving for the residual.
//
// # Missing and weighted cells
//
// Where cells of Y are missing or have weights, the equation is P·(K·(P·C)·L) + μ·C = Y on these cells; see [System].
// Rows without an observed cell are left out, unless [Config].Reweighted is set. If all cells of the other rows have
// weight 1, they form a system as above. Otherwise conjugate gradients begin with a preconditioner that gives every
// cell the mean weight, and inverts by leading eigenvectors of K. When they have cost as much as a factorization, a
// factor takes over as the preconditioner (mathematics.md §11). It is Cholesky's factor of the matrix of the observed
// cells, or a factor made of leading pairs of eigenvectors of K and L, restricted to these cells. The names choose
// between them:
//
//   - eigen: all eigenvectors of K, kept for a nearby K until the number of iterations has doubled. auto takes leading
//     eigenvectors from the order 400 on, where few are forecast to suffice, and nystrom always.
//   - cholesky: Cholesky's factor, for at most 3000 observed cells, or twice the number of rows.
//   - cg: no preconditioner, for comparison.
//
// # Other systems
//
// [Sum] solves P·(Σ_j K_j·(P·C)·L_j) + μ·C = Y, preconditioned by a separable system. [LeaveOut] predicts every row by
// the solution without that row, from a [Decomposition] of K. [Bordered] adds and removes rows of a decomposed system.
// [Tridiagonal] is K reduced once, for solves with many shifts. [BartelsStewart] solves the equation with general
// square matrices.
//
// docs/performance.md compares the solvers in seconds. docs/decisions/2026-11-29-pay-as-you-go.md derives the bound of
// auto, and 2026-11-29-one-engine.md how systems of cells are solved.
package sylvester

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// System is the map C ↦ P·(K·(P·C)·L) + Mu·C on N×n matrices that are 0 outside Ω, with P = diag(√w) for the weights
// w of the cells, 0 of a missing one, and the cells Ω of positive weight (mathematics.md §11, §15). For weights 0 and
// 1, P is the projection on Ω. With the right side Y = √w∘T, P·C minimises Σ w·(T − K·B·L)² + Mu·tr(BᵀKBL) over B.
// For cells that are balanced ([linop.Cells.Balanced]) it is the map between projections Q, Q·P·(K·(P·C)·L) + Mu·C,
// and Y is Q·Y.
type System struct {
	K     linop.Operator  // N×N, symmetric positive semidefinite
	L     *linop.Spectral // n×n output kernel
	Mu    float64         // > 0
	Cells *linop.Cells    // N×n; nil for weight 1 everywhere
}

// Options of a solve. The zero value is useful.
type Options struct {
	// Tol bounds the relative residual: ‖K·C·L + μC − Y‖_F ≤ Tol·‖Y‖_F. 0 means 1e-8 for iterative methods, and for
	// direct ones a residual of rounding, 100·ε·(‖K‖·‖L‖ + μ)·‖C‖_F with ε = 2⁻⁵².
	Tol     float64
	MaxIter int // multiplications by K; 0 means 10·N, or 10·n for n > N with cells
	// Single lets rotated, nystrom and auto compute with K in single precision, the reported residual included, where K
	// is a linop.Mixed. It suffices for tolerances down to about 1e-8·‖K‖·‖L‖/Mu. K is then not formed in double
	// precision.
	Single bool
	Trace  func(Step) error `json:"-"`
	// Fitted, unless it is the zero value, is N×n memory that gets K·(P·C)·L of the solution. Result.KC of a system
	// with cells is then empty, which may save a product with K.
	Fitted blas.General `json:"-"`
}

// check refuses a tolerance that no residual compares with.
func (o Options) check() error {
	if math.IsNaN(o.Tol) {
		return fmt.Errorf("%w: Tol = %g", ErrNotFinite, o.Tol)
	}
	return nil
}

// filled returns the options with the default tolerance in place.
func (o Options) filled() Options {
	o.Tol = cmp.Or(o.Tol, 1e-8)
	return o
}

// Step is what Trace sees before the first and after every iteration; an exact
// solver reports once, at its end.
type Step struct {
	Iter     int
	Residual float64 // relative to ‖Y‖_F, as the method estimates it
	Columns  int     // columns multiplied by K so far
}

// Result describes a solve; Residual is recomputed from its definition at the returned C.
type Result struct {
	Solver   string  // which method ran
	Residual float64 // ‖P·(K·(P·C)·L) + μC − Y‖_F/‖Y‖_F on Ω
	Iter     int
	Columns  int // columns multiplied by K in all, the final check included

	Single bool // K was taken in single precision, see Options.Single

	// KC is K·(P·C) at the returned C (N×n). It lies in the solver's memory and is valid until its next call. A
	// cancelled solve of a system with cells leaves it empty.
	KC blas.General `json:"-"`
}

var (
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further
	// progress, before Tol was met; Result.Residual is what was reached. It wraps linop.ErrNotConverged.
	ErrNotConverged = fmt.Errorf("sylvester: %w", linop.ErrNotConverged)
	// ErrNotSPD says that K, L and μ do not make a positive definite system.
	ErrNotSPD = errors.New("sylvester: the system is not positive definite")
	// ErrNotFinite says that K, L, Y or the starting point holds NaN or an infinity, that
	// Options.Tol is NaN, or that the solution or K times it overflows, or all of the solution underflows.
	ErrNotFinite = errors.New("sylvester: a number is not finite")
)

// Solver is one method. It keeps scratch, preconditioners and factorizations
// between calls and serves one goroutine.
type Solver interface {
	// Name is the value of the commands' --sylvester flag.
	Name() string
	// Solve reads C as the starting point and overwrites it by the solution. C and Y are read in Ω only; Y may hold NaN
	// elsewhere. A nil error means that opt.Tol is met. Once ctx is done at most one more product with K follows, three
	// for a system with cells. A decomposition of K by a direct method is not interrupted: it takes about a second at
	// the order 3000, and grows with the cube of the order. A system without rows or without columns needs no solution
	// and returns nil.
	Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error)
	// Invalidate tells the solver that K has changed. It may keep what is still
	// useful, such as a preconditioner of a nearby K.
	Invalidate()
}

// Config is what a solver is built with. The zero value is useful.
type Config struct {
	Backend blas.Backend `json:"-"` // nil means blas.Active()
	Seed    uint64       // of the randomized preconditioner
	// Reweighted says that weights of cells change from call to call, so that factors which serve the same cells
	// alone do not pay.
	Reweighted bool
	// Like is a solver of [New] for the same K, whose decomposition of that serves the new one too; nil for none.
	Like Solver `json:"-"`
}

// engines holds the constructor of every solver under its name.
var engines = map[string]func(Config) engine{
	"auto":            newAuto,
	"bartels-stewart": func(Config) engine { return &direct{name: "bartels-stewart", factors: &eigen{}} },
	"cg":              func(cfg Config) engine { return &joint{op: linop.KroneckerSum{Backend: cfg.Backend}} },
	"cholesky":        func(Config) engine { return &direct{name: "cholesky", factors: &cholesky{}} },
	"eigen":           func(Config) engine { return &direct{name: "eigen", factors: &eigen{}} },
	"nystrom":         func(cfg Config) engine { return newNystrom(cfg, firstRank) },
	"rotated":         func(Config) engine { return &rotated{} },
	"tridiagonal":     func(Config) engine { return &direct{name: "tridiagonal", factors: &tridiagonal{}} },
}

// Names lists the solvers of this package in alphabetical order.
func Names() []string {
	return slices.Sorted(maps.Keys(engines))
}

// New returns the solver of that name; see the package comment for what each one does.
func New(name string, cfg Config) (Solver, error) {
	build, ok := engines[name]
	if !ok {
		return nil, fmt.Errorf("sylvester: unknown solver %q (have %s)", name, strings.Join(Names(), ", "))
	}
	cfg.Backend = blas.Or(cfg.Backend)
	s := &solver{frame: frame{own: cfg.Backend}, engine: build(cfg)}
	like, ok := cfg.Like.(*solver)
	s.cfg, s.cfg.Like = cfg, nil
	if ok && like.byCells != nil {
		s.byCells = newWeighted(name, s.cfg)
		s.byCells.by.share(&like.byCells.by)
	}
	return s, nil
}

// engine is what stands behind one of the names of [New]: a [method], or [auto], which chooses one for each call.
type engine interface {
	Name() string
	Invalidate()
}

// method is an engine that improves C by rounds; see [frame.run]. It owns what it
// keeps of K between solves; the system, the tolerance and the solution are the frame's.
type method interface {
	engine
	// prepare makes what the method needs of K, unless that is kept.
	prepare(ctx context.Context, f *frame) error
	// round brings C nearer to the solution: from the caller's start at round 0,
	// later from the residual of C, which lies in f.rt in the coordinates of C̃. What
	// it reaches stands in C beside an error too. ErrNotConverged says that another
	// round would not help.
	round(ctx context.Context, f *frame, round int) error
}

// roundingLevel is the largest backward-error ratio that a direct method promises where it is asked for no tolerance.
const roundingLevel = 100

// stalled is the least factor that a round after the first must gain on the true residual.
const stalled = 0.5

// run lets a method improve C until its true residual is as promised, which is the default tolerance where none is
// asked for and the method is not direct. After the first round each must halve the residual, so there are not many.
// A method may end the run by errSlow, which leaves C as it was.
func (f *frame) run(ctx context.Context, m method) error {
	f.res.Solver, f.res.Residual = m.Name(), math.NaN()
	d, isDirect := m.(*direct)
	if !isDirect {
		f.opt = f.opt.filled()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.prepare(ctx, f); err != nil {
		return err
	}
	if isDirect {
		if err := bounded(d.norm()*f.top() + f.mu); err != nil {
			return err
		}
	}
	for round := 0; ; round++ {
		previous := f.res.Residual
		f.measured = false
		err := m.round(ctx, f, round)
		if errors.Is(err, errSlow) {
			return err
		}
		if !f.measured {
			f.measure()
		}
		if err != nil && !errors.Is(err, ErrNotConverged) {
			return err
		}
		now := f.res.Residual
		if !finite(now) {
			return fmt.Errorf("%w: the solution has residual %g", ErrNotFinite, now)
		}
		done := now <= f.opt.Tol
		if isDirect {
			if done = done || f.opt.Tol == 0 && f.backward(d.norm()) <= roundingLevel; done {
				return f.step(now * f.normY) // the only one
			}
		}
		if done {
			return nil
		}
		if err != nil || round > 0 && !(now <= stalled*previous) || f.res.Iter >= f.opt.MaxIter {
			return notConverged(&f.res, f.opt.Tol)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		f.strips(true)
	}
}

func notConverged(res *Result, tol float64) error {
	return fmt.Errorf("%w: relative residual %.3g after %d multiplications, tolerance %.3g", ErrNotConverged,
		res.Residual, res.Iter, tol)
}

// solver is the [Solver] of an engine.
type solver struct {
	frame
	cfg     Config
	engine  engine
	byCells *weighted // for systems with cells; nil before the first
	billed  Result    // what Sketch has multiplied for the next solve
}

func (s *solver) Name() string { return s.engine.Name() }

func (s *solver) Invalidate() {
	s.forget()
	s.engine.Invalidate()
	if s.byCells != nil {
		s.byCells.by.invalidate()
	}
}

func (s *solver) Solve(ctx context.Context, C blas.General, sys System, Y blas.General, opt Options) (Result, error) {
	var (
		res Result
		err error
	)
	if sys.Cells != nil {
		res, err = s.solveCells(ctx, C, sys, Y, opt)
	} else {
		res, err = s.solveAll(ctx, C, sys, Y, opt)
	}
	res.count(ctx, Y.Rows)
	return res, err
}

// solveAll is Solve for all cells of weight 1.
func (s *solver) solveAll(
	ctx context.Context, C blas.General, sys System, Y blas.General, opt Options,
) (Result, error) {
	err := s.begin(C, sys, Y, opt)
	switch {
	case err != nil:
	case C.Rows == 0 || C.Cols == 0:
		s.res = Result{Solver: s.Name(), KC: s.kc}
		err = s.step(0)
	default:
		s.res.Iter, s.res.Columns = s.billed.Iter, s.billed.Columns
		if chooser, ok := s.engine.(*auto); ok {
			err = chooser.solve(ctx, &s.frame)
		} else {
			err = s.run(ctx, s.engine.(method))
		}
	}
	s.billed = Result{}
	if opt.Fitted.Data != nil && s.res.KC.Data != nil {
		sys.L.MulRight(s.own, opt.Fitted, s.res.KC)
	}
	return s.res, err
}

// count tells the context of a solve of order l.
func (r *Result) count(ctx context.Context, l int) {
	phase.Count(ctx, phase.Work{Iterations: int64(r.Iter), Products: int64(r.Columns) * int64(l) * int64(l)})
}

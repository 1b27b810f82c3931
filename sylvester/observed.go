// This file factorizes the matrix of the observed cells, and inverts on the full grid by any solver.

package sylvester

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// ObservedFactor is the inverse of the matrix of the observed cells,
// K_ii′·L_jj′ + μ·[i = i′, j = j′], by Cholesky's factor: |Ω|³/3 flops, and 2|Ω|² for each
// product. Memory: |Ω|² + l² + n² floats, of which the first part stays.
type ObservedFactor struct {
	be     blas.Backend
	factor blas.General
	at     []int // position in vec of every observed cell
	dim    int
	v      blas.General
}

// NewObservedFactor computes the factor. The error is that of a [Solver] for a matrix that is not
// positive definite or finite, of a limit of memory, or of ctx.
func NewObservedFactor(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) (*ObservedFactor, error) {
	o := new(ObservedFactor)
	return o, o.set(ctx, be, sys, cells)
}

// set computes the factor.
func (o *ObservedFactor) set(ctx context.Context, be blas.Backend, sys System, cells *linop.Cells) error {
	l, n := cells.Dims()
	N := cells.Count()
	floats := float64(N)*float64(N) + float64(l)*float64(l) + float64(n)*float64(n)
	if err := memory.Check("sylvester: a factor for the observed cells", 8*floats, "use the method auto"); err != nil {
		return err
	}
	K, L := blas.NewGeneral(l, l), blas.NewGeneral(n, n)
	if err := linop.Dense(ctx, K, sys.K); err != nil {
		return err
	}
	sys.L.Dense(be, L)
	if s := sum(K); !finite(s) {
		return fmt.Errorf("%w: the elements of K sum to %g", ErrNotFinite, s)
	}
	o.be, o.dim, o.at = be, l*n, o.at[:0]
	for i := range l {
		for j, in := range cells.Row(i) {
			if in {
				o.at = append(o.at, i*n+j)
			}
		}
	}
	o.factor, o.v = blas.Reshape(o.factor, N, N), blas.Reshape(o.v, N, 1)
	for a, p := range o.at {
		k, r := blas.Row(K, p/n), blas.Row(L, p%n)
		row := blas.Row(o.factor, a)[:a+1]
		for b, q := range o.at[:a+1] {
			row[b] = k[q/n] * r[q%n]
		}
		row[a] += sys.Mu
	}
	if !be.Potrf(o.factor) {
		return fmt.Errorf("%w: the %d×%d matrix of the observed cells", ErrNotSPD, N, N)
	}
	return nil
}

// Dim is l·n.
func (o *ObservedFactor) Dim() int { return o.dim }

// Apply computes dst = A_ΩΩ⁻¹·x on the observed cells and 0 elsewhere, for one column.
func (o *ObservedFactor) Apply(dst, x blas.General) {
	for a, p := range o.at {
		o.v.Data[a] = x.Data[p]
	}
	N := len(o.at)
	o.be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, N, 1, 1, o.factor.Data, N, o.v.Data, 1)
	o.be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, N, 1, 1, o.factor.Data, N, o.v.Data, 1)
	clear(dst.Data)
	for a, p := range o.at {
		dst.Data[p] = o.v.Data[a]
	}
}

// solverGrid is Ā⁻¹ by any [Solver] of the full grid.
type solverGrid struct {
	solver  Solver
	exact   bool // it is a direct method
	sys     System
	cells   *linop.Cells
	op      linop.Kronecker // K⊗L
	f       blas.General
	columns int // columns multiplied by K
}

// Iterative solvers on the grid reduce a residual to gridTol of it, where the missing
// cells are corrected to gridRel.
const (
	gridTol = 1e-4
	gridRel = 1e-2
)

// aim sets the system, and returns how far to reduce the residual of the missing cells.
func (g *solverGrid) aim(be blas.Backend, sys System, cells *linop.Cells) (rel float64) {
	g.sys, g.cells, g.columns = sys, cells, 0
	g.op.K, g.op.L, g.op.Backend = sys.K, sys.L, be
	g.exact = !slices.Contains([]string{"rotated", "krylov"}, g.solver.Name())
	if g.exact {
		return 0
	}
	return gridRel
}

func (g *solverGrid) begin(ctx context.Context, dst, b blas.General) error {
	blas.Zero(dst)
	res, err := g.solver.Solve(ctx, dst, g.sys, b, Options{Tol: gridTol})
	g.columns += res.Columns
	blas.Scal(g.sys.Mu, dst.Data)
	if errors.Is(err, ErrNotConverged) {
		return nil // what it reached still preconditions
	}
	return err
}

func (g *solverGrid) residual(r blas.General) (size, energy float64) {
	g.f = blas.Reshape(g.f, r.Rows, r.Cols)
	g.op.ApplyMatrix(g.f, r)
	g.columns += g.sys.L.Rank()
	energy = blas.Inner(r, g.f) / g.sys.Mu
	g.cells.Project(g.f, g.f)
	return blas.Frob(g.f) / g.sys.Mu, energy
}

func (g *solverGrid) advance(ctx context.Context, u, p blas.General, _ float64) error {
	return g.begin(ctx, u, p)
}

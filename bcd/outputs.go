package bcd

import (
	"context"
	"runtime"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// basis relates the outputs of the task, which are all outputs times P, to all outputs.
type basis struct {
	P     blas.General // orthonormal columns; no Data where nothing is reduced
	whole Space        // of all outputs, where P spans a part of what Y does, else nil
}

// reduceOutputs replaces the n outputs by the k = rank(Y) coordinates of the
// thin factorization Y = Ỹ·Pᵀ when k < n: the optimal L lives in the span of P
// (mathematics.md §5.6), and nothing of n×n exists. With a given L fixed, or held, the outputs
// stay, and so they do where cells are missing or weighted.
//
// Where k is wide or more, P is the beginning of a basis that grows, but for a sum, whose steps bound memory.
func reduceOutputs(ctx context.Context, p *Problem, opt Options) (q *Problem, b basis, err error) {
	c, space := *p, p.Space
	q = &c
	stay := p.Model.fixL() && p.L != nil || opt.hold && p.Space.Outputs() < p.wide
	if space.shared().cells == nil && !stay {
		be, Y := blas.Or(opt.Backend), space.shared().B
		if min(Y.Rows, Y.Cols) >= p.wide && opt.Solver != "okl" && p.Model != Sum {
			var V blas.General
			if p.L != nil {
				V = p.L.V
			}
			b.P, err = firstBasis(ctx, be, Y, V, p.wide, opt.Seed)
			b.whole = p.Space
		} else {
			b.P, err = linop.RowBasis(be, Y)
		}
		if err != nil {
			return nil, b, err
		}
		if b.P.Cols < b.P.Rows {
			q.Space = project(space, be, b.P)
			if q.L != nil {
				if q.L, err = compress(be, q.L, b.P); err != nil {
					return nil, b, err
				}
			}
		} else {
			b.P = blas.General{}
		}
	}
	if q.L == nil {
		n := q.Space.Outputs()
		if q.Model.fixL() {
			n = p.Space.Outputs()
		}
		q.L = linop.ScaledIdentity(q.Space.Outputs(), q.Tau/float64(n))
	}
	return q, b, ctx.Err()
}

// project is the space with Y·P in place of Y.
func project(s Space, be blas.Backend, P blas.General) Space {
	return s.with(s.shared().project(be, P))
}

// inside is X − B·P/μ for the right side B·P, so that the whole of the coefficients is
// inside·Pᵀ + B/μ.
func inside(t *task, pt *point, X blas.General) blas.General {
	E := blas.Clone(X)
	blas.AddScaled(E, -1/t.mu, t.system.rhs(pt.eta))
	return E
}

// restoreX is a copy of X of pt for all outputs, X·Pᵀ + B(I − PPᵀ)/μ.
func (b *basis) restoreX(t *task, pt *point) blas.General {
	if b.P.Data == nil {
		return blas.Clone(pt.X)
	}
	X, part := blas.NewGeneral(pt.X.Rows, b.P.Rows), pt.X
	if b.whole != nil {
		part = inside(t, pt, pt.X)
		blas.AddScaled(X, 1/t.mu, b.whole.system().rhs(pt.eta))
	}
	blas.Gemm(t.be, false, true, 1, part, b.P, 1, X)
	return X
}

// restoreL is a copy of L for all outputs.
func (b *basis) restoreL(be blas.Backend, L *linop.Spectral) *linop.Spectral {
	if b.P.Data == nil {
		return L.Clone()
	}
	return &linop.Spectral{V: blas.Product(be, false, false, b.P, L.V), S: slices.Clone(L.S)}
}

// largeBasis is the size of P in bytes from which a fit runs the garbage collector itself. The
// collector runs when garbage is as large as what is in use, and the targets and P are most of that.
const largeBasis = 64 << 20

// collect frees what the fit no longer uses, when P is large.
func (b *basis) collect() {
	if 8*len(b.P.Data) >= largeBasis {
		runtime.GC()
	}
}

// compress is PᵀLP.
func compress(be blas.Backend, L *linop.Spectral, P blas.General) (*linop.Spectral, error) {
	half := blas.Product(be, true, false, P, L.V)
	blas.ScaleColumns(half, blas.Roots(L.S))
	return linop.NewSpectral(be, blas.Product(be, false, true, half, half), 0)
}

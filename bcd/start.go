package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// sketchStart moves the output kernel of the starting point near the best for
// its weights before anything is solved, where the inner solver begins with a
// sketch A_η ≈ U·diag(s)·Uᵀ that it needs anyway: closed forms for the matrix
//
//	U·diag(s)·Uᵀ + t·(I − UUᵀ),   t the mean of the eigenvalues that the sketch leaves,
//
// whose C steps are diagonal, cost next to nothing. The certificates know nothing of it.
func (r *run) sketchStart(ctx context.Context, pt *point, tol float64) error {
	solver, ok := r.solver.(sylvester.Sketcher)
	if !ok || r.fixL || r.traces == nil || pt.L.Rank() < r.n {
		return nil
	}
	single := r.formFor(ctx, pt, tol)
	var err error
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		U, s := solver.Sketch(ctx, r.system(pt), r.space.rhs(), sylvester.Options{Tol: tol, Single: single})
		if len(s) > 0 {
			pt.L, err = r.newSketched(U, s, blas.Dot(pt.eta, r.traces)).minimize(pt.L)
		}
	})
	return err
}

// sketched is the problem in L with A_η replaced.
type sketched struct {
	*run
	s     []float64
	tail  float64
	H     blas.General // UᵀY (q×n)
	outer blas.General // (Y − UH)ᵀ(Y − UH) (n×n)
}

func (r *run) newSketched(U blas.General, s []float64, total float64) *sketched {
	Y := r.space.rhs()
	p := &sketched{run: r, s: s, H: blas.NewGeneral(len(s), r.n), outer: blas.NewGeneral(r.n, r.n)}
	blas.Mul(r.be, p.H, true, false, U, Y)
	blas.GramOf(r.be, p.outer, Y)
	blas.Gemm(r.be, true, false, -1, p.H, p.H, 1, p.outer)
	if left := U.Rows - len(s); left > 0 {
		p.tail = math.Max(total-sumOf(s), 0) / float64(left)
	}
	return p
}

// Closed forms end when they lower the objective by less than sketchDrop, which
// is about how near the sketch is, or after sketchSteps.
const (
	sketchDrop  = 1e-3
	sketchSteps = 10
)

func (p *sketched) minimize(L *linop.Spectral) (*linop.Spectral, error) {
	last := math.Inf(1)
	for range sketchSteps {
		M, value := p.evaluate(L)
		if !(last-value > sketchDrop*value) {
			break
		}
		last = value
		p.collect()
		next, err := p.rootOf(L.V, M)
		if err != nil {
			return nil, err
		}
		L = next
	}
	return L, nil
}

// evaluate returns VᵀL·G·L·V in the eigenvectors V of L, with G = CᵀA_ηC at the
// C of L, and h/λ = ⟨Y,C⟩.
func (p *sketched) evaluate(L *linop.Spectral) (M blas.General, value float64) {
	k := L.Rank()
	X, T := blas.NewGeneral(len(p.s), k), blas.NewGeneral(p.n, k)
	M = blas.NewGeneral(k, k)
	blas.Mul(p.be, T, false, false, p.outer, L.V)
	blas.Mul(p.be, M, true, false, L.V, T)
	symmetrize(M)
	outside := make([]float64, k)
	for j, rho := range L.S {
		d := rho*p.tail + p.mu
		value += M.Data[j*M.Stride+j] / d
		outside[j] = rho * math.Sqrt(p.tail) / d
	}
	scaleRows(M, outside, M)
	scaleColumns(M, outside)
	L.Rotate(p.be, X, p.H)
	for i, s := range p.s {
		row, root := blas.Row(X, i), math.Sqrt(s)
		for j, rho := range L.S {
			d := rho*s + p.mu
			value += row[j] * row[j] / d
			row[j] *= rho * root / d
		}
	}
	blas.Gemm(p.be, true, false, 1, X, X, 1, M)
	return M, value
}

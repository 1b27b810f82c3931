package bcd

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// sketchStart moves the output kernel of the starting point near the best for
// its weights before anything is solved, where the inner solver begins with a
// sketch A_η ≈ U·diag(s)·Uᵀ that it needs anyway: closed forms for the matrix
//
//	U·diag(s)·Uᵀ + t·(I − UUᵀ),   t the mean of the eigenvalues that the sketch leaves,
//
// whose C steps are diagonal, cost next to nothing. Certificates do not depend on it.
func (p *productModel) sketchStart(ctx context.Context, pt *point, tol float64) error {
	if p.t.fixL || pt.L.Rank() < p.t.n {
		return nil
	}
	U, s := p.sketch(ctx, pt, tol)
	if len(s) == 0 {
		return nil
	}
	var err error
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		pt.L, err = newSketched(p.t, pt, U, s).minimize(ctx, pt.L, p.basis.collect)
	})
	return err
}

// sketched is the problem in L with A_η replaced.
type sketched struct {
	t     *task
	s     []float64
	tail  float64
	H     blas.General // UᵀY (q×n)
	outer blas.General // (Y − UH)ᵀ(Y − UH) (n×n)
}

func newSketched(t *task, pt *point, U blas.General, s []float64) *sketched {
	Y := t.system.rhs(pt.eta)
	p := &sketched{t: t, s: s, H: blas.NewGeneral(len(s), t.n), outer: blas.NewGeneral(t.n, t.n)}
	blas.Mul(t.be, p.H, true, false, U, Y)
	blas.GramOf(t.be, p.outer, Y)
	blas.Gemm(t.be, true, false, -1, p.H, p.H, 1, p.outer)
	if left := U.Rows - len(s); left > 0 {
		p.tail = math.Max(t.system.trace(pt.eta)-floats.Sum(s), 0) / float64(left)
	}
	return p
}

func (p *sketched) minimize(ctx context.Context, L *linop.Spectral, collect func()) (_ *linop.Spectral, err error) {
	last := math.Inf(1)
	for range sketchSteps {
		if err := ctx.Err(); err != nil {
			return L, err
		}
		M, value := p.evaluate(L)
		if !(last-value > sketchDrop*value) {
			break
		}
		last = value
		collect()
		if L, err = p.t.rootOf(L.V, M); err != nil {
			return nil, err
		}
	}
	return L, nil
}

// evaluate returns VᵀL·G·L·V in the eigenvectors V of L, with G = CᵀA_ηC at the
// C of L, and h/λ = ⟨Y,C⟩.
func (p *sketched) evaluate(L *linop.Spectral) (M blas.General, value float64) {
	k := L.Rank()
	X := blas.NewGeneral(len(p.s), k)
	M = within(p.t.be, L.V, p.outer)
	outside := make([]float64, k)
	for j, rho := range L.S {
		d := rho*p.tail + p.t.mu
		value += M.Data[j*M.Stride+j] / d
		outside[j] = rho * math.Sqrt(p.tail) / d
	}
	blas.ScaleRows(M, outside, M)
	blas.ScaleColumns(M, outside)
	L.Rotate(p.t.be, X, p.H)
	for i, s := range p.s {
		row, root := blas.Row(X, i), math.Sqrt(s)
		for j, rho := range L.S {
			d := rho*s + p.t.mu
			value += row[j] * row[j] / d
			row[j] *= rho * root / d
		}
	}
	blas.Gemm(p.t.be, true, false, 1, X, X, 1, M)
	return M, value
}

// startOnPart moves the weights and the output kernel that p starts at to the best ones for a part of the rows, where
// that is expected to save more than it costs, and reports whether it has. Certificates do not depend on it, and its
// errors are those that p will meet.
func (p *Problem) startOnPart(ctx context.Context, opt Options) bool {
	s, ok := p.Space.(*samples)
	if !ok || p.Model.fixL() || opt.Solver != "reduced" {
		return false
	}
	part := s.part(opt.Seed)
	if part == nil {
		return false
	}
	q := *p
	q.Space, q.L = part, nil
	res, _ := Solve(ctx, &q, Options{
		Tol: startGap, MaxOuter: opt.MaxOuter, Sylvester: opt.Sylvester, Backend: opt.Backend, Seed: opt.Seed,
	})
	if res == nil {
		return false
	}
	p.Eta, p.L = res.Eta, res.L
	return true
}

// part is the problem of some of the rows where cells are missing or weighted and there are many; nil elsewhere.
func (s *samples) part(seed uint64) *samples {
	cells := s.cells
	if cells == nil || s.loss != nil || s.B.Rows < startFrom {
		return nil
	}
	K, ok := s.K.(*linop.GramSum)
	if !ok {
		return nil
	}
	rows := rand.New(rand.NewPCG(seed, 0)).Perm(s.B.Rows)[:s.B.Rows/startPart]
	slices.Sort(rows)
	q := &samples{K: K.Part(rows), data: data{B: blas.TakeRows(s.B, rows), unit: s.unit}}
	for _, r := range rows {
		if slices.Max(cells.Row(r)) > 0 {
			q.l++
		}
	}
	q.cells = linop.WeightedCells(q.B.Rows, q.B.Cols, func(i, j int) float64 {
		return square(cells.Row(rows[i])[j])
	})
	q.yy = square(blas.Frob(q.B))
	q.tell()
	return q
}

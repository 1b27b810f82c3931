package bcd

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd/internal/interior"
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
	phase.Do(ctx, phase.LStep, func(ctx context.Context) { err = p.closedSketch(ctx, pt, U, s) })
	return err
}

// closedSketch moves L of pt by closed forms for the sketch. What U leaves of the targets, which all eigenvalues t
// multiply, is as n rows of the same Gram matrix.
func (p *productModel) closedSketch(ctx context.Context, pt *point, U blas.General, s []float64) error {
	t, Y, q := p.t, p.t.system.rhs(pt.eta), len(s)
	inner, left := blas.Product(t.be, true, false, U, Y), blas.NewGeneral(t.n, t.n)
	blas.GramOf(t.be, left, Y)
	blas.Gemm(t.be, true, false, -1, inner, inner, 1, left)
	rest, err := linop.NewSpectral(t.be, left, 0)
	if err != nil {
		return err
	}
	tail := 0.0
	if k := U.Rows - q; k > 0 {
		tail = math.Max(t.system.trace(pt.eta)-floats.Sum(s), 0) / float64(k)
	}
	outer := blas.Transposed(rest.Factor())
	model := interior.Problem{Backend: t.be, Mu: t.mu, H: blas.NewGeneral(q+outer.Rows, t.n)}
	model.S = slices.Concat(s, slices.Repeat([]float64{tail}, outer.Rows))
	blas.Copy(blas.View(model.H, 0, 0, q, t.n), inner)
	blas.Copy(blas.View(model.H, q, 0, outer.Rows, t.n), outer)
	last := math.Inf(1)
	for range sketchSteps {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, G := model.At(pt.L)
		if !(last-value > sketchDrop*value) {
			break
		}
		last = value
		p.basis.collect()
		if pt.L, err = t.rootOf(pt.L, G); err != nil {
			return err
		}
	}
	return nil
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

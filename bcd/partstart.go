// This file starts fits with missing or weighted cells where one of a part of the rows ends.

package bcd

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// startOnPart moves the weights and the output kernel that p starts at to the best ones for a part of the rows, where
// that is expected to save more than it costs, and reports whether it has. Certificates do not depend on it, and its
// errors are those that p will meet.
func (p *Problem) startOnPart(ctx context.Context, opt Options) bool {
	q := *p
	if q.Space = p.Space.inSamples().part(opt.Seed); q.Space == nil || p.Model.fixL() || opt.Solver != "reduced" {
		return false
	}
	q.L = nil
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
func (s *samples) part(seed uint64) Space {
	cells := s.observed()
	if cells == nil || s.convex() || s.Y.Rows < startFrom {
		return nil
	}
	K, ok := s.K.(*linop.GramSum)
	if !ok {
		return nil
	}
	l, n := s.Y.Rows/startPart, s.Y.Cols
	rows := rand.New(rand.NewPCG(seed, 0)).Perm(s.Y.Rows)[:l]
	slices.Sort(rows)
	q := &samples{K: K.Part(rows), Y: blas.NewGeneral(l, n), unit: s.unit}
	for i, r := range rows {
		copy(blas.Row(q.Y, i), blas.Row(s.Y, r))
		if slices.Max(cells.Row(r)) > 0 {
			q.rows++
		}
	}
	q.cells = linop.WeightedCells(l, n, func(i, j int) float64 { return square(cells.Row(rows[i])[j]) })
	q.yy = square(blas.Frob(q.Y))
	return q
}

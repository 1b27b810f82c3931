// This file bounds the objective of a product model over all weights and all L.

package learn

import (
	"context"
	"errors"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
)

// checkGlobal refuses a bound over all weights and L where the sum of separable kernels that gives it is
// not available.
func (m *Method) checkGlobal(p *bcd.Problem) error {
	if !m.Global || p.Model == bcd.Sum {
		return nil
	}
	if err := p.CheckSum(); err != nil {
		return fault.Mark(err)
	}
	return nil
}

// global solves the sum of separable kernels that bounds the product model p from below,
// from its solution, to the tolerance of the fit. A solve that ends early bounds it too.
func (m *Method) global(ctx context.Context, p *bcd.Problem, so bcd.Options, res *bcd.Result) (*bcd.Result, error) {
	if !m.Global || p.Model == bcd.Sum || ctx.Err() != nil {
		return nil, nil
	}
	m.Say("bounding the objective over all weights and output kernels: each kernel gets an L of its own")
	q := *p
	q.Model = bcd.Sum
	so.Solver, so.Trace = "", nil
	so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: blas.Clone(res.C)}
	sum, err := bcd.Solve(ctx, &q, so)
	if errors.Is(err, bcd.ErrNotConverged) {
		err = nil
	}
	if sum != nil {
		sum.C = blas.General{}
	}
	return sum, err
}

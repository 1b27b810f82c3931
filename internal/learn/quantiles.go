// This file learns several quantiles with kernels and an output kernel in common.

package learn

import (
	"cmp"
	"context"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/loss"
	"github.com/iokl/iokl/sylvester"
)

// LossOf is the loss that data are learned by.
func LossOf(d Data) loss.Loss {
	if d := d.Offers().InMemory; d != nil {
		return d.Loss()
	}
	return loss.Loss{}
}

// Plain reports whether data are learned by squares without weights.
func Plain(d Data) bool {
	m := d.Offers().InMemory
	return m == nil || m.Plain()
}

// Lead is the index of the loss by which weights and L are learned: of quantiles that nearest ½.
func Lead(losses []loss.Loss) (at int) {
	for i, l := range losses {
		if d := l.Parameter - 0.5; d*d < (losses[at].Parameter-0.5)*(losses[at].Parameter-0.5) {
			at = i
		}
	}
	return at
}

// quantiles learns the functions of the other losses at the weights and L of res, and makes res one of n·q outputs:
// those of a target are neighbours, and L becomes L⊗I. It returns the map of all outputs.
func (m *Method) quantiles(
	ctx context.Context, t Training, p *bcd.Problem, so bcd.Options, losses []loss.Loss, res *bcd.Result,
) (*columns.Outputs, error) {
	r := t.Kernelled()
	if r == nil || res.Ls != nil {
		return nil, fault.Input("several quantiles are for rows or Gram matrices in memory and one output kernel")
	}
	at := Lead(losses)
	all, outs := make([]blas.General, len(losses)), make([]*columns.Outputs, len(losses))
	all[at], outs[at] = res.C, r.Outputs()
	var open error // of fits that ended early
	so.Reweighted = sylvester.NewReweighted(sylvester.Config{Backend: so.Backend, Seed: so.Seed})
	one := func(k, from int) error {
		u, err := r.ByLoss(losses[k])
		if err != nil {
			return err
		}
		q := *p
		q.Space, q.Eta, q.L, q.Model, q.Norm = u.Space(), res.Eta, res.L, bcd.Neither, p.Norm
		so.Start, so.Trace = &bcd.State{Eta: res.Eta, L: res.L, X: all[from]}, nil
		one, err := bcd.Solve(ctx, &q, so)
		if one == nil || ctx.Err() != nil {
			return fault.From(cmp.Or(err, ctx.Err()))
		}
		all[k], outs[k] = one.C, u.Outputs()
		res.SylvesterSolves += one.SylvesterSolves
		res.KernelMultiplies += one.KernelMultiplies
		open = cmp.Or(open, err)
		return nil
	}
	for k := at - 1; k >= 0; k-- {
		if err := one(k, k+1); err != nil {
			return nil, err
		}
	}
	for k := at + 1; k < len(losses); k++ {
		if err := one(k, k-1); err != nil {
			return nil, err
		}
	}
	res.C, res.L = interleave(all), beside(res.L, len(losses))
	return columns.Join(outs), fault.From(open)
}

// interleave puts the columns of equal number of all matrices next to each other.
func interleave(all []blas.General) blas.General {
	q := len(all)
	C := blas.NewGeneral(all[0].Rows, all[0].Cols*q)
	for k, a := range all {
		for i := range a.Rows {
			row := blas.Row(C, i)
			for j, v := range blas.Row(a, i) {
				row[j*q+k] = v
			}
		}
	}
	return C
}

// beside is L⊗I of order q.
func beside(L *linop.Spectral, q int) *linop.Spectral {
	V := blas.NewGeneral(L.V.Rows*q, L.V.Cols*q)
	for i := range L.V.Rows {
		for j, v := range blas.Row(L.V, i) {
			for k := range q {
				V.Data[(i*q+k)*V.Stride+j*q+k] = v
			}
		}
	}
	var S []float64
	for _, s := range L.S {
		S = append(S, slices.Repeat([]float64{s}, q)...)
	}
	return &linop.Spectral{V: V, S: S}
}

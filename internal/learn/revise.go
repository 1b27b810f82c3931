// This file learns from changed rows at weights and output kernels that are known.

package learn

import (
	"context"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/model"
	"github.com/iokl/iokl/internal/memory"
)

// HoldTol is the relative residual of the linear system at weights and output kernels that stay. Predictions for the
// training rows are as near to those of the exact coefficients, relative to the targets.
const HoldTol = 1e-10

// Revise is the model of a training set at the weights and output kernels of m, with exact coefficients and the
// certificate of what the setting learns. With relearn, and a gap above the tolerance, learning goes on from there; a
// gap above the tolerance is an error then alone.
func Revise(
	ctx context.Context, t Training, m *model.Model, s Setting, method Method, relearn bool,
) (*Outcome, error) {
	p, so, err := method.problem(t, &s)
	if err != nil {
		return nil, err
	}
	hold := so
	hold.InnerTol, hold.Trace, hold.CStep = HoldTol, nil, method.CStep
	hold.Start = &bcd.State{
		Eta: m.Eta, L: m.L, Ls: m.OutputKernels(), X: blas.NewGeneral(p.Space.Unknowns(), p.Space.Outputs()),
	}
	release := memory.Reserve(t.Held())
	defer release()
	res, err := bcd.Hold(ctx, p, hold)
	if err != nil {
		return nil, fault.From(err)
	}
	if relearn && !res.Converged {
		so.Start = &bcd.State{Eta: res.Eta, L: res.L, Ls: res.Ls, X: res.C}
		if res, err = bcd.Solve(ctx, p, so); res == nil {
			return nil, fault.From(err)
		}
	}
	out := &Outcome{Model: t.Model(res), Result: res, Problem: p}
	out.Mu = p.Lambda * float64(p.Space.Samples())
	remember(t, out.Model)
	out.Observed = out.Cells()
	return out, err
}

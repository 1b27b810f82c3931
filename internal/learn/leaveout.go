// This file follows a path of λ with refits without each sample, in closed form.

package learn

import (
	"cmp"
	"context"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
)

// LeaveOut is refits without each sample.
type LeaveOut interface {
	// At predicts every sample by the refit without it, at the same η, L and μ. A decomposition of K_η serves
	// all calls with the same η.
	At(ctx context.Context, eta []float64, L *linop.Spectral, mu float64) (*Refits, error)
	// Constant predicts every sample without kernels, as the mean of the others where targets are standardised.
	Constant() *Refits
}

// Refits are predictions of the samples by fits without them.
type Refits struct {
	F, Y    blas.General // and the targets, in the units of the data
	Errors  Errors
	Freedom float64 // effective degrees of freedom of the fit to all samples
}

// LeaveOut calls each with the refits without each sample, for every λ. What is learned of η and L is learned
// from all samples at that λ, along the path; μ = λl stays that of all samples.
func (m *Method) LeaveOut(
	ctx context.Context, t Training, refits LeaveOut, s Setting, lambdas []float64, each func(i int, r *Refits),
) error {
	p, so, err := m.problem(t, &s)
	if err != nil {
		return err
	}
	fixed := p.Model == bcd.Neither
	eta, L := p.Eta, p.L
	if L == nil {
		L = linop.ScaledIdentity(p.Space.Outputs(), p.Tau/float64(p.Space.Outputs()))
	}
	if eta == nil {
		eta = make([]float64, p.Space.Kernels())
		p.Norm.Start(eta)
	}
	for i, lambda := range lambdas {
		if p.Lambda = lambda; !fixed {
			res, err := bcd.Solve(ctx, p, so)
			if res == nil || ctx.Err() != nil {
				return fault.From(cmp.Or(err, ctx.Err()))
			}
			so.Start = &bcd.State{Eta: res.Eta, L: res.L, X: res.C}
			eta, L = res.Eta, res.L
		}
		r, err := refits.At(ctx, eta, L, lambda*float64(p.Space.Samples()))
		if err != nil {
			return fault.From(err)
		}
		each(i, r)
	}
	return nil
}

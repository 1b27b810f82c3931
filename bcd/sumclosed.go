// This file is the closed forms that open the fit of a sum of separable kernels.

package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// closedForms takes steps of [sumModel.closedLs] from pt, the first from L_j that all have full
// rank, until one lowers the objective by less than sumDrop. They bring L_j that are multiples of
// one matrix near the optimum in a few C steps, at a distance where h is far from quadratic.
func (f *sumModel) closedForms(ctx context.Context, pt *point, goal float64) (*point, error) {
	for mix := sumMix; !f.ends(pt, goal); mix = 0 {
		L, err := f.closedLs(pt, mix)
		if err != nil {
			return pt, err
		}
		f.iter++
		next := f.next(pt, L)
		if err := f.evaluate(ctx, next, f.tolFor(pt, f.share, goal), goal); err != nil {
			return pt, err
		}
		fall := pt.cert.objective - next.cert.objective
		if fall > 0 {
			pt = next
		}
		if !(fall > sumDrop*pt.cert.objective) {
			break
		}
	}
	return pt, nil
}

// closedLs are the next output kernels at the f_j = K_jCL_j of pt: with A_j = L_jG_jL_j and s_j = tr A_j^{1/2}
//
//	L_j ← t_j·A_j^{1/2}/s_j,   t_j ∝ s_j^{2/(q+1)},
//
// which minimises Σ_j tr(L_j⁻¹A_j) = Σ_j ‖f_j‖². With (L_j^{1/2p}·G_j·L_j^{1/2p})^p in the place of
// the root, p = sumPower
// rather than 1/2, the steps are longer. They go from (1 − mix)·L_j + mix·τ/(mn)·I.
func (f *sumModel) closedLs(pt *point, mix float64) ([]*linop.Spectral, error) {
	t := f.t
	next, traces, sums := make([]*linop.Spectral, t.m), make([]float64, t.m), make([]float64, t.m)
	for j, L := range pt.Ls {
		if mix > 0 {
			D := blas.NewGeneral(t.n, t.n)
			L.Dense(t.be, D)
			blas.Scal(1-mix, D.Data)
			for i := range t.n {
				D.Data[i*t.n+i] += mix * t.tau / float64(t.m*t.n)
			}
			var err error
			if L, err = linop.NewSpectral(t.be, D, eigenDrop); err != nil {
				return nil, err
			}
		}
		next[j] = L
		if L.Rank() == 0 {
			continue
		}
		M, s := within(t.be, L.V, pt.Gs[j]), powers(L.S, 1/(2*sumPower))
		blas.ScaleRows(M, s, M)
		blas.ScaleColumns(M, s)
		var err error
		if next[j], err = power(t.be, L.V, M, sumPower); err != nil {
			return nil, err
		}
		sums[j] = next[j].Trace()
		traces[j] = math.Pow(sums[j], 2/(f.norm.Q()+1))
	}
	size := f.norm.Norm(traces)
	for j, L := range next {
		if sums[j] > 0 {
			blas.Scal(t.tau*traces[j]/size/sums[j], L.S)
		}
	}
	return next, nil
}

// This file bounds the objective of a sum of separable kernels from below.

package bcd

import (
	"cmp"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/concave"
	"github.com/iokl/iokl/internal/par"
)

// gaps computes the gap of pt over the kernels that are measured: with U the
// objective at any C, for every matrix T,
//
//	min h ≥ λ(2⟨Y,CT⟩ − μ‖CT‖² − τ·‖(λ_max(TᵀG_1T) … λ_max(TᵀG_mT))‖_q*)
//
// (mathematics.md §12), which a point of all kernels shows for all points. The best multiple of a
// few T serves, see [sumModel.clipped]; with
// missing cells, outside of which C·T would not vanish, T is the identity.
func (f *sumModel) gaps(pt *point) error {
	t := f.t
	var idx []int
	for j, G := range pt.Gs {
		if G.Data != nil {
			idx = append(idx, j)
		}
	}
	pt.top = make([]float64, t.m)
	fail := make([]error, len(idx))
	par.For(len(idx), func(k int) {
		_, w, err := t.eigen(pt.Gs[idx[k]])
		pt.top[idx[k]], fail[k] = math.Max(0, w[t.n-1]), err
	})
	if err := cmp.Or(fail...); err != nil {
		return err
	}
	low := t.bestMultiple(&pt.measures, t.tau*f.norm.Conjugate(pt.top))
	if f.s.cells == nil && pt.dual == nil && low > 0 {
		low = math.Max(low, f.clipped(pt, idx))
	}
	rounding := f.s.rounding(pt.fit)
	pt.cert.gapL = t.gap(pt.cert.objective, t.lambda*low, rounding)
	if len(idx) == t.m {
		f.low = math.Max(f.low, t.lambda*low-2*rounding/float64(t.l))
		pt.cert.gapL = math.Min(pt.cert.gapL, math.Abs(pt.cert.objective-f.low))
	}
	return nil
}

// clipped is the best bound for the products T = S_1·…·S_m that cut the eigenvalues of
// the TᵀG_jT down to a level, over the level: S_j has the eigenvectors of the matrix
// that it cuts, and no eigenvalue above 1, so that it raises λ_max of none of the
// others. For q = 1 the level is one number, else a share of each λ_max(G_j).
func (f *sumModel) clipped(pt *point, idx []int) float64 {
	t := f.t
	YC, CC := blas.NewGeneral(t.n, t.n), blas.NewGeneral(t.n, t.n)
	blas.Mul(t.be, YC, true, false, pt.X, f.s.Y)
	blas.GramOf(t.be, CC, pt.X)
	top := maxOf(pt.top)
	rest := f.s.dropped / t.mu
	T, M, W := blas.NewGeneral(t.n, t.n), blas.NewGeneral(t.n, t.n), blas.NewGeneral(t.n, t.n)
	value := func(share float64) float64 {
		levelOf := func(j int) float64 {
			if f.norm.P > 1 {
				return share * pt.top[j]
			}
			return share * top
		}
		blas.Zero(T)
		for i := range t.n {
			T.Data[i*t.n+i] = 1
		}
		for _, j := range idx {
			level := levelOf(j)
			if !(pt.top[j] > level) {
				continue
			}
			blas.Mul(t.be, W, false, false, pt.Gs[j], T)
			blas.Mul(t.be, M, true, false, T, W)
			V, g, err := t.eigen(M)
			if err != nil {
				return 0
			}
			if !(g[t.n-1] > level) {
				continue
			}
			blas.Mul(t.be, W, false, false, T, V)
			for i, v := range g {
				if g[i] = 1; v > level {
					g[i] = math.Sqrt(level / v)
				}
			}
			blas.ScaleColumns(W, g)
			blas.Mul(t.be, T, false, true, W, V)
		}
		blas.Mul(t.be, W, false, false, CC, T)
		cut := make([]float64, len(pt.top))
		for j, g := range pt.top {
			cut[j] = math.Min(g, levelOf(j)) * (1 + clipSlack)
		}
		at := measures{yc: blas.Inner(YC, T) + rest, cc: blas.Inner(W, T) + rest/t.mu}
		return t.bestMultiple(&at, t.tau*f.norm.Conjugate(cut))
	}
	// The level of the optimum is near ⟨G_j,L_j⟩ in the mean.
	low := math.Min(1, clipFrom*pt.form/(t.tau*f.norm.Conjugate(pt.top)))
	steps := int(clipWork / (float64(len(idx)*t.n) * float64(t.n*t.n)))
	_, best := concave.Section(low, 1, max(clipLeast, min(clipMost, steps)), value)
	return best
}

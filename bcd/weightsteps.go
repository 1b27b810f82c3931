package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// exactWeights reports whether the weights, where L stays, are moved with their exact second
// derivative: in sample space, for regularizers without a curvature of their own.
func (t *task) exactWeights() bool {
	_, lp := t.reg.(regularizer.Lp)
	N := t.space.Unknowns()
	return t.data.complete() && lp && !t.fixEta && N <= exactWeightsMost && t.m*N*t.n <= exactWeightsMemory
}

// prepareWeights gives a model of the weights alone the exact second derivative.
func (d *blocks) prepareWeights(ctx context.Context) (err error) {
	q := d.q
	q.H = blas.General{}
	if q.Order > 0 || q.Weights == 0 || !d.t.exactWeights() {
		return nil
	}
	A := d.t.form(ctx, d.cur.pt.eta, false)
	phase.Do(ctx, phase.Eta, func(ctx context.Context) { q.H, err = d.t.weightHessian(ctx, A, d.cur.pt, d.active) })
	if v := blas.Trace(q.H) / float64(q.Weights); positive(v) {
		q.Sigma = v
	}
	return err
}

// weightHessian is ∂²h/∂η_i∂η_j = 2λ⟨K_iCL, (K_η⊗L + μI)⁻¹K_jCL⟩ over the
// kernels of idx, at the C of pt; A is A_η there.
func (t *task) weightHessian(ctx context.Context, A linop.Operator, pt *point, idx []int) (blas.General, error) {
	U, sigma, err := t.eigenvectors(ctx, A, pt.eta)
	if err != nil {
		return blas.General{}, err
	}
	N, r, k := t.space.Unknowns(), pt.L.Rank(), len(idx)
	CL, T := blas.NewGeneral(N, r), blas.NewGeneral(N, r)
	if r == 0 {
		return blas.NewGeneral(t.m, t.m), nil
	}
	pt.L.Rotate(t.be, CL, pt.X)
	blas.ScaleColumns(CL, pt.L.S)
	Phi, one := blas.NewGeneral(k, N*r), make([]float64, t.m)
	for i, j := range idx {
		one[j] = 1
		t.system.at(one, false).Apply(T, CL)
		one[j] = 0
		F := blas.General{Rows: N, Cols: r, Stride: r, Data: blas.Row(Phi, i)}
		blas.Mul(t.be, F, true, false, U, T)
		for a, v := range sigma {
			row := blas.Row(F, a)
			for b, rho := range pt.L.S {
				row[b] /= math.Sqrt(math.Max(v, 0)*rho + t.mu)
			}
		}
	}
	part, H := blas.NewGeneral(k, k), blas.NewGeneral(t.m, t.m)
	blas.Gemm(t.be, false, true, 2*t.lambda, Phi, Phi, 0, part)
	for i, a := range idx {
		for j, b := range idx {
			H.Data[a*H.Stride+b] = part.Data[i*k+j]
		}
	}
	t.system.at(pt.eta, false)
	return H, nil
}

// oneBlock moves the block that has more to gain, where no joint step lowers the
// objective: L by the barrier method, the weights by their closed form. Both serve where
// ω is so curved that no gradient step does, as that of the elastic net is next to its
// bound. It returns nil where the objective does not fall by more than noise.
func (d *blocks) oneBlock(ctx context.Context) (next *iterate, err error) {
	t, pt := d.t, d.cur.pt
	switch {
	case pt.cert.gapL > pt.cert.gapEta:
		if t.rho > 0 || t.data.loss != nil || t.space.Unknowns() > outputStepsMost || d.outputs.on {
			return nil, nil
		}
		next, err = d.outputStep(ctx)
	case !t.fixEta:
		var moved *point
		if moved, err = d.try(ctx, t.next(pt, t.closedEta(pt.alpha2()), pt.L), d.tol()); err == nil {
			next = d.iterate(moved)
		}
	}
	if err != nil || next == nil || !(next.pt.cert.objective < pt.cert.objective-t.noise(next.pt)) {
		return nil, err
	}
	return next, nil
}

// choose sets the kernels that take part, active, at it: those of positive weight, and, when all were measured, those
// that a projected gradient step would raise. Without a complete measurement nothing enters. All stay where weights do,
// or where the regularizer is not one of some of the kernels.
func (d *blocks) choose(it *iterate) {
	if d.t.fixEta || !regularizer.Restricts(d.t.reg) {
		return
	}
	probe := slices.Clone(it.z[:d.q.Weights])
	for j := range probe {
		probe[j] -= it.g[j] / d.q.Sigma
	}
	d.t.reg.Project(probe)
	var idx []int
	for j, e := range it.pt.eta {
		_, on := slices.BinarySearch(d.active, j)
		if e > 0 || probe[j] > 0 && (it.pt.complete || on) {
			idx = append(idx, j)
		}
	}
	d.active = idx
}

// projectWeights applies the regularizer's projection to the active weights.
func (d *blocks) projectWeights(eta []float64) {
	part := make([]float64, len(d.active))
	for k, j := range d.active {
		part[k] = eta[j]
	}
	d.t.reg.Project(part)
	clear(eta)
	for k, j := range d.active {
		eta[j] = part[k]
	}
}

package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
)

// exactWeightsMost is the order of A_η up to which its eigenvectors, and so the
// second derivative of h by the weights, cost little beside C steps that are spared.
const exactWeightsMost = 400

// exactWeightsMemory bounds the numbers that computing it takes, m·N·rank(L).
const exactWeightsMemory = 2e7

// exactWeights reports whether the weights are moved with that derivative where L
// stands still: in sample space, for regularizers without a curvature of their own.
func (d *descent) exactWeights() bool {
	_, lp := d.reg.(Lp)
	_, ok := d.space.(*samples)
	N := d.space.Unknowns()
	return ok && lp && !d.fixEta && N <= exactWeightsMost && d.m*N*d.n <= exactWeightsMemory
}

// prepareWeights gives the model of the weights, where it is one of them alone, the
// exact second derivative.
func (d *descent) prepareWeights(ctx context.Context, cur *iterate) (err error) {
	q := &d.model
	q.H = blas.General{}
	if q.n > 0 || q.m == 0 || !d.exactWeights() {
		return nil
	}
	d.formFor(ctx, cur.pt, 0)
	phase.Do(ctx, phase.Eta, func(context.Context) { q.H, err = d.weightHessian(cur.pt) })
	if v := trace(q.H) / float64(q.m); positive(v) {
		q.sEta = v
	}
	return err
}

// weightHessian is ∂²h/∂η_i∂η_j = 2λ⟨K_iCL, (K_η⊗L + μI)⁻¹K_jCL⟩ over the active
// kernels, at the C of pt.
func (d *descent) weightHessian(pt *point) (blas.General, error) {
	s := d.space.(*samples)
	U, sigma, err := d.eigenvectors()
	if err != nil {
		return blas.General{}, err
	}
	N, r, k := s.Unknowns(), pt.L.Rank(), len(d.active.idx)
	CL, T := blas.NewGeneral(N, r), blas.NewGeneral(N, r)
	if r == 0 {
		return blas.NewGeneral(d.m, d.m), nil
	}
	pt.L.Rotate(d.be, CL, pt.X)
	scaleColumns(CL, pt.L.S)
	Phi, one := blas.NewGeneral(k, N*r), make([]float64, d.m)
	for i, j := range d.active.idx {
		one[j] = 1
		s.setWeights(one)
		s.K.Apply(T, CL)
		one[j] = 0
		F := blas.General{Rows: N, Cols: r, Stride: r, Data: blas.Row(Phi, i)}
		blas.Mul(d.be, F, true, false, U, T)
		for a, v := range sigma {
			row := blas.Row(F, a)
			for b, rho := range pt.L.S {
				row[b] /= math.Sqrt(math.Max(v, 0)*rho + d.mu)
			}
		}
	}
	part, H := blas.NewGeneral(k, k), blas.NewGeneral(d.m, d.m)
	blas.Gemm(d.be, false, true, 2*d.lambda, Phi, Phi, 0, part)
	for i, a := range d.active.idx {
		for j, b := range d.active.idx {
			H.Data[a*H.Stride+b] = part.Data[i*k+j]
		}
	}
	s.setWeights(pt.eta)
	return H, nil
}

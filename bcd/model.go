// This file minimizes the quasi-Newton model over the feasible set by projected gradients.

package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

func (q *quasiNewton) steps() int {
	if q.H.Data != nil {
		return exactSteps
	}
	n := float64(q.n)
	return int(math.Max(modelMinSteps, math.Min(modelMaxSteps, modelWork/math.Max(float64(max(q.count, 1))*n*n*n, 1))))
}

// extra bounds the steps beyond [quasiNewton.steps] that go on to an exact projection: of a
// sum its ranks are well below those of a point between two.
func (q *quasiNewton) extra() int {
	if q.count > 1 {
		return modelExtra
	}
	return 0
}

// feasible is the set that vectors z are in.
type feasible interface {
	// project overwrites z by the nearest feasible vector and returns its output
	// kernels in spectral form.
	project(z []float64) ([]*linop.Spectral, error)
	// slope is ⟨grad, dir⟩ for the move dir from z to another feasible vector, without
	// what rounding leaves of moves that the set forbids.
	slope(grad, dir, z []float64) float64
}

// minimize minimises ⟨grad,d⟩ + dᵀBd/2 over feasible z + d by projected gradients
// with Barzilai–Borwein lengths and exact line search. It returns the minimiser, its
// output kernels, those of z being L, and the decrease that the model predicts.
func (q *quasiNewton) minimize(ctx context.Context, set feasible, z, grad []float64, L []*linop.Spectral) (target []float64, _ []*linop.Spectral, decrease float64, err error) {
	z, grad = slices.Clone(z), slices.Clone(grad)
	N := len(z)
	trial, dir, Bd := make([]float64, N), make([]float64, N), make([]float64, N)
	exact, tol := true, math.Max(modelTol, q.tol)
	t, first := 1.0, 0.0
	for k, most := 0, q.steps(); k < most || !exact && k < most+q.extra(); k++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, 0, err
		}
		copy(trial, z)
		blas.Axpy(-t/q.sEta, grad[:q.m], trial[:q.m])
		blas.Axpy(-t/q.sL, grad[q.m:], trial[q.m:])
		spec, err := set.project(trial)
		if err != nil {
			return nil, nil, 0, err
		}
		copy(dir, trial)
		blas.Axpy(-1, z, dir)
		q.mul(Bd, dir)
		// A projection's slope is at most −‖dir‖²/t, which rounding can hide.
		slope := math.Min(set.slope(grad, dir, z), -q.weighted(dir, dir)/t)
		curve := blas.Dot(dir, Bd)
		if k == 0 {
			first = -slope
		}
		if !(slope < 0) || !(curve > 0) || -slope <= tol*first {
			break
		}
		a := math.Min(1, -slope/curve)
		blas.Axpy(a, dir, z)
		blas.Axpy(a, Bd, grad)
		decrease -= a * (slope + a*curve/2)
		L, exact = spec, a == 1
		t = q.length(k, dir, Bd, curve)
	}
	if exact || q.n == 0 {
		return z, L, decrease, nil
	}
	L, err = set.project(z)
	return z, L, decrease, err
}

// conserved is γ·change with γ = total/size when the change of a sum of the given
// size is of rounding level, else 0.
func conserved(change, size, total float64) float64 {
	if math.Abs(change) <= 0x1p-42*size {
		return total / size * change
	}
	return 0
}

func trace(a blas.General) float64 {
	var t float64
	for i := range a.Rows {
		t += a.Data[i*a.Stride+i]
	}
	return t
}

// length is one of the two Barzilai–Borwein lengths in the metric σ, in turn.
func (q *quasiNewton) length(k int, dir, Bd []float64, curve float64) float64 {
	if k%2 == 0 {
		return q.weighted(dir, dir) / curve
	}
	return curve / (blas.Dot(Bd[:q.m], Bd[:q.m])/q.sEta + blas.Dot(Bd[q.m:], Bd[q.m:])/q.sL)
}

// project applies the regularizer's projection to the active weights.
func (a *activeSet) project(eta []float64) {
	if len(a.idx) == len(eta) {
		a.reg.Project(eta)
		return
	}
	part := make([]float64, len(a.idx))
	for k, j := range a.idx {
		part[k] = eta[j]
	}
	a.reg.Project(part)
	clear(eta)
	for k, j := range a.idx {
		eta[j] = part[k]
	}
}

// leading is V·diag(w)·Vᵀ for ascending w ≥ 0, without the zeros.
func leading(V blas.General, w []float64) *linop.Spectral {
	n, k := len(w), 0
	for k < n && w[n-1-k] > 0 {
		k++
	}
	L := &linop.Spectral{V: blas.NewGeneral(n, k), S: make([]float64, k)}
	for j := range k {
		L.S[j] = w[n-1-j]
		for i := range n {
			L.V.Data[i*L.V.Stride+j] = V.Data[i*V.Stride+n-1-j]
		}
	}
	return L
}

// This file minimizes the quasi-Newton model over the feasible set by projected gradients.

package quasinewton

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

func (q *Model) steps() int {
	if q.H.Data != nil {
		return exactSteps
	}
	n := float64(q.Order)
	return int(math.Max(modelMinSteps, math.Min(modelMaxSteps, modelWork/math.Max(float64(max(q.Count, 1))*n*n*n, 1))))
}

// extra bounds the steps beyond [Model.steps] that go on to an exact projection: of a
// sum its ranks are well below those of a point between two.
func (q *Model) extra() int {
	if q.Count > 1 {
		return modelExtra
	}
	return 0
}

// Set is the feasible set that vectors z are in.
type Set interface {
	// Project overwrites z by the nearest feasible vector and returns its output
	// kernels in spectral form.
	Project(z []float64) ([]*linop.Spectral, error)
	// Slope is ⟨grad, dir⟩ for the move dir from z to another feasible vector, without
	// what rounding leaves of moves that the set forbids.
	Slope(grad, dir, z []float64) float64
}

// Minimize minimises ⟨grad,d⟩ + dᵀBd/2 over feasible z + d by projected gradients
// with Barzilai–Borwein lengths and exact line search. It returns the minimiser, its
// output kernels, those of z being L, and the decrease that the model predicts.
func (q *Model) Minimize(
	ctx context.Context, set Set, z, grad []float64, L []*linop.Spectral,
) (target []float64, _ []*linop.Spectral, decrease float64, err error) {
	z, grad = slices.Clone(z), slices.Clone(grad)
	N := len(z)
	trial, dir, Bd := make([]float64, N), make([]float64, N), make([]float64, N)
	exact, tol := true, math.Max(modelTol, q.Tol)
	t, first := 1.0, 0.0
	for k, most := 0, q.steps(); k < most || !exact && k < most+q.extra(); k++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, 0, err
		}
		copy(trial, z)
		blas.Axpy(-t/q.Sigma, grad[:q.Weights], trial[:q.Weights])
		blas.Axpy(-t/q.sL, grad[q.Weights:], trial[q.Weights:])
		spec, err := set.Project(trial)
		if err != nil {
			return nil, nil, 0, err
		}
		copy(dir, trial)
		blas.Axpy(-1, z, dir)
		q.mul(Bd, dir)
		// A projection's slope is at most −‖dir‖²/t, which rounding can hide.
		slope := math.Min(set.Slope(grad, dir, z), -q.weighted(dir, dir)/t)
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
	if exact || q.Order == 0 {
		return z, L, decrease, nil
	}
	L, err = set.Project(z)
	return z, L, decrease, err
}

// length is one of the two Barzilai–Borwein lengths in the metric σ, in turn.
func (q *Model) length(k int, dir, Bd []float64, curve float64) float64 {
	if k%2 == 0 {
		return q.weighted(dir, dir) / curve
	}
	return curve / (blas.Dot(Bd[:q.Weights], Bd[:q.Weights])/q.Sigma + blas.Dot(Bd[q.Weights:], Bd[q.Weights:])/q.sL)
}

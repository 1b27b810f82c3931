// Package quasinewton holds a limited-memory BFGS model of a function of weights and symmetric matrices, and minimises
// it over a feasible set by projected spectral gradients (Schmidt, van den Berg, Friedlander and Murphy, 2009).
package quasinewton

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// Constants of the model and of the iterations that minimise it; figures in docs/decisions/2026-11-21-learning.md.
const (
	pairs       = 20  // moves remembered, fewer where they would take more than
	pairNumbers = 3e7 // numbers,
	leastPairs  = 4   // but so many at least
	damping     = 0.2 // Powell's

	// One iteration costs an eigendecomposition of order n and a few products of that order, so that their
	// number falls with n³.
	modelWork     = 2e7
	modelMinSteps = 8
	modelMaxSteps = 300
	modelExtra    = 4    // beyond, to end a step of several output kernels at a projection
	exactSteps    = 3000 // for weights alone with the exact second derivative, which cost m² a step
	modelTol      = 1e-8 // share of the first predicted decrease at which to stop
)

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// Model is a limited-memory BFGS model of the Hessian of h on vectors z = (η, vec L), or (vec L_1 … vec L_k)
// for a sum of k separable kernels, in the compact form of Byrd, Nocedal and Schnabel (1994):
//
//	B = D − N·M⁻¹·Nᵀ,  N = [DS  Y],  M = [SᵀDS  Lo; Loᵀ  −diag(sᵢᵀyᵢ)]
//
// with Lo the strictly lower part of SᵀY. D is σ_η·I on the weights. On L it is σ_L times weights for the elements of a
// move in the eigenvectors of L, the shape of the diagonal of the Hessian of h there, which a [Weighing] tells. For a
// sum the eigenvectors are those of L̄ = Σ L_j.
type Model struct {
	Backend blas.Backend
	Weights int          // kernels; 0 when η is fixed
	Order   int          // of L; 0 when L is fixed
	Count   int          // output kernels; 0 means 1
	Sigma   float64      // σ_η
	Tol     float64      // share of the first predicted decrease at which Minimize stops; modelTol where that is more
	H       blas.General // the exact Hessian of the weights, in place of the rest; no Data where not known

	S, Y   [][]float64
	DS     [][]float64
	sL     float64        // σ_L
	V      blas.General   // eigenvectors of the current L
	w      []blas.General // weights of the elements of a move in them
	mid    blas.General   // M⁻¹
	t1, t2 blas.General
	p, q   []float64
}

// Weighing is weights ≥ 0 for the elements of a move in the eigenvectors V of the current L,
// whose eigenvalues rho ascend: a matrix for each output kernel.
type Weighing func(V blas.General, rho []float64) []blas.General

// Kernels are the output kernels of a vector.
func (q *Model) Kernels(z []float64) []blas.General {
	n, L := q.Order, make([]blas.General, max(q.Count, 1))
	for j := range L {
		L[j] = blas.General{Rows: n, Cols: n, Stride: n, Data: z[q.Weights+j*n*n:][:n*n]}
	}
	return L
}

// stacked are the output kernels of a vector one below the other.
func (q *Model) stacked(z []float64) blas.General {
	return blas.General{Rows: q.Order * max(q.Count, 1), Cols: q.Order, Stride: q.Order, Data: z[q.Weights:]}
}

// center sets the metric for the output kernel whose full eigendecomposition is
// taken from the dense L, and forgets products with the old D.
func (q *Model) center(z []float64, weigh Weighing) error {
	if n := q.Order; n > 0 {
		q.V = blas.NewGeneral(n, n)
		for _, L := range q.Kernels(z) {
			blas.AddScaled(q.V, 1, L)
		}
		rho := make([]float64, n)
		if err := q.Backend.Syevd(q.V, rho); err != nil {
			return err
		}
		q.w = weigh(q.V, rho)
	}
	for i, s := range q.S {
		q.metric(q.DS[i], s)
	}
	return nil
}

// Begin empties the model at z, where the gradient is g, with a step of about half the size of z.
func (q *Model) Begin(z, g []float64, weigh Weighing) error {
	q.forget()
	if err := q.center(z, weigh); err != nil {
		return err
	}
	Dz := make([]float64, len(z))
	q.metric(Dz, z)
	q.Sigma, q.sL = startScale(g[:q.Weights], Dz[:q.Weights]), startScale(g[q.Weights:], Dz[q.Weights:])
	return nil
}

// startScale is 2‖g‖/‖Dz‖, or ‖g‖, or 1, whichever is first positive and finite.
func startScale(g, Dz []float64) float64 {
	for _, v := range []float64{2 * blas.Nrm2(g) / blas.Nrm2(Dz), blas.Nrm2(g)} {
		if positive(v) {
			return v
		}
	}
	return 1
}

// metric computes dst = D·d at σ = 1.
func (q *Model) metric(dst, d []float64) {
	copy(dst[:q.Weights], d[:q.Weights])
	if q.Order == 0 {
		return
	}
	A, n := q.stacked(d), q.Order
	q.t1, q.t2 = blas.Reshape(q.t1, A.Rows, n), blas.Reshape(q.t2, n, n)
	blas.Mul(q.Backend, q.t1, false, false, A, q.V)
	for j := range max(q.Count, 1) {
		AV := blas.View(q.t1, j*n, 0, n, n)
		blas.Mul(q.Backend, q.t2, true, false, q.V, AV)
		for i := range n {
			floats.Mul(blas.Row(q.t2, i), blas.Row(q.w[j], i))
		}
		blas.Mul(q.Backend, AV, false, false, q.V, q.t2)
	}
	blas.Mul(q.Backend, q.stacked(dst), false, true, q.t1, q.V)
}

// weighted is σ_η⟨a,b⟩ over the weights plus σ_L⟨a,b⟩ over L.
func (q *Model) weighted(a, b []float64) float64 {
	return q.Sigma*blas.Dot(a[:q.Weights], b[:q.Weights]) + q.sL*blas.Dot(a[q.Weights:], b[q.Weights:])
}

// mul computes dst = B·d.
func (q *Model) mul(dst, d []float64) {
	if q.H.Data != nil {
		for i := range dst {
			dst[i] = blas.Dot(blas.Row(q.H, i), d)
		}
		return
	}
	q.metric(dst, d)
	blas.Scal(q.Sigma, dst[:q.Weights])
	blas.Scal(q.sL, dst[q.Weights:])
	k := len(q.S)
	if k == 0 {
		return
	}
	q.p, q.q = blas.Resize(q.p, 2*k), blas.Resize(q.q, 2*k)
	for i := range k {
		q.p[i] = q.weighted(q.DS[i], d)
		q.p[k+i] = blas.Dot(q.Y[i], d)
	}
	for i := range q.q {
		q.q[i] = blas.Dot(blas.Row(q.mid, i), q.p)
	}
	for i := range k {
		blas.Axpy(-q.q[i]*q.Sigma, q.DS[i][:q.Weights], dst[:q.Weights])
		blas.Axpy(-q.q[i]*q.sL, q.DS[i][q.Weights:], dst[q.Weights:])
		blas.Axpy(-q.q[k+i], q.Y[i], dst)
	}
}

// Update takes the move s with gradient change y, both of which it keeps; now is
// where it ended. Curvature that is not positive is damped (Powell, 1978).
func (q *Model) Update(s, y, now []float64, weigh Weighing) error {
	Bs := make([]float64, len(s))
	q.mul(Bs, s)
	sy, sBs := blas.Dot(s, y), blas.Dot(s, Bs)
	if !(sBs > 0) {
		return q.center(now, weigh)
	}
	if sy < damping*sBs {
		t := (1 - damping) * sBs / (sBs - sy)
		blas.Scal(t, y)
		blas.Axpy(1-t, Bs, y)
	}
	q.S, q.Y, q.DS = append(q.S, s), append(q.Y, y), append(q.DS, Bs)
	if len(q.S) > MostPairs(len(s)) {
		q.S, q.Y, q.DS = q.S[1:], q.Y[1:], q.DS[1:]
	}
	if err := q.center(now, weigh); err != nil {
		return err
	}
	q.scale(s, y, q.DS[len(q.DS)-1])
	q.invertMiddle()
	return nil
}

// MostPairs is how many moves of vectors of so many numbers are remembered.
func MostPairs(numbers int) int { return max(leastPairs, min(pairs, pairNumbers/max(3*numbers, 1))) }

// scale sets σ from the newest pair: ⟨s,y⟩/⟨s,Ds⟩ on the weights, ‖y‖/‖Ds‖ on L,
// which measured better on each.
func (q *Model) scale(s, y, Ds []float64) {
	if v := blas.Dot(s[:q.Weights], y[:q.Weights]) / blas.Dot(s[:q.Weights], Ds[:q.Weights]); positive(v) {
		q.Sigma = v
	}
	if v := blas.Nrm2(y[q.Weights:]) / blas.Nrm2(Ds[q.Weights:]); positive(v) &&
		blas.Dot(s[q.Weights:], y[q.Weights:]) > 0 {
		q.sL = v
	}
}

// invertMiddle computes M⁻¹; when M is singular all pairs are forgotten.
func (q *Model) invertMiddle() {
	k := len(q.S)
	M := blas.NewGeneral(2*k, 2*k)
	set := func(i, j int, v float64) {
		M.Data[i*M.Stride+j], M.Data[j*M.Stride+i] = v, v
	}
	for i := range k {
		for j := range i + 1 {
			set(i, j, q.weighted(q.DS[i], q.S[j]))
			if j < i {
				set(i, k+j, blas.Dot(q.S[i], q.Y[j]))
			}
		}
		set(k+i, k+i, -blas.Dot(q.S[i], q.Y[i]))
	}
	var inverse mat.Dense
	cond, bad := inverse.Inverse(blas.Dense(M)).(mat.Condition) // large for moves of very different sizes
	q.mid = inverse.RawMatrix()
	if bad && math.IsInf(float64(cond), 1) || !positive(blas.Frob(q.mid)) {
		q.forget()
	}
}

// forget drops all pairs.
func (q *Model) forget() { q.S, q.Y, q.DS = nil, nil, nil }

func (q *Model) steps() int {
	if q.H.Data != nil {
		return exactSteps
	}
	n := float64(q.Order)
	return int(math.Max(modelMinSteps, math.Min(modelMaxSteps, modelWork/math.Max(float64(max(q.Count, 1))*n*n*n, 1))))
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
	N, w := len(z), q.Weights
	trial, dir, Bd := make([]float64, N), make([]float64, N), make([]float64, N)
	exact, tol := true, math.Max(modelTol, q.Tol)
	t, first, extra := 1.0, 0.0, 0
	if q.Count > 1 { // on to an exact projection: of a sum its ranks are well below those of a point between two
		extra = modelExtra
	}
	for k, most := 0, q.steps(); k < most || !exact && k < most+extra; k++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, 0, err
		}
		copy(trial, z)
		blas.Axpy(-t/q.Sigma, grad[:w], trial[:w])
		blas.Axpy(-t/q.sL, grad[w:], trial[w:])
		spec, err := set.Project(trial)
		if err != nil {
			return nil, nil, 0, err
		}
		floats.SubTo(dir, trial, z)
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

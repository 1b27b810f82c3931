// This file is a limited-memory BFGS model of the Hessian in weights and output kernels.

package bcd

import (
	"math"

	"github.com/iokl/iokl/blas"
)

// quasiNewton is a limited-memory BFGS model of the Hessian of h on vectors z = (η, vec L), or (vec L_1 … vec L_k)
// for a sum of k separable kernels, in the compact form of Byrd, Nocedal and Schnabel (1994):
//
//	B = D − N·M⁻¹·Nᵀ,  N = [DS  Y],  M = [SᵀDS  Lo; Loᵀ  −diag(sᵢᵀyᵢ)]
//
// with Lo the strictly lower part of SᵀY. D is σ_η·I on the weights. On L it is
// σ_L times weights for the elements of a move in the eigenvectors of L,
// the shape of the diagonal of the Hessian of h there, which a [weighing] tells. For a sum
// the eigenvectors are those of L̄ = Σ L_j.
type quasiNewton struct {
	be     blas.Backend
	m, n   int // kernels, and the order of L; 0 when that block is fixed
	count  int // output kernels; 0 means 1
	S, Y   [][]float64
	DS     [][]float64
	sEta   float64        // σ_η
	sL     float64        // σ_L
	V      blas.General   // eigenvectors of the current L
	w      []blas.General // weights of the elements of a move in them
	mid    blas.General   // M⁻¹
	t1, t2 blas.General
	p, q   []float64
	tol    float64      // share of the first predicted decrease at which minimize stops; modelTol where that is more
	H      blas.General // the exact Hessian of the weights, in place of the rest; no Data where not known
}

// weighing is weights ≥ 0 for the elements of a move in the eigenvectors V of the current L,
// whose eigenvalues rho ascend: a matrix for each output kernel.
type weighing func(V blas.General, rho []float64) []blas.General

// split is the two blocks of a vector; several output kernels stand one below the other.
func (q *quasiNewton) split(z []float64) (eta []float64, L blas.General) {
	eta = z[:q.m]
	if q.n > 0 {
		L = blas.General{Rows: q.n * max(q.count, 1), Cols: q.n, Stride: q.n, Data: z[q.m:]}
	}
	return eta, L
}

// block is output kernel j of those that split returns.
func (q *quasiNewton) block(L blas.General, j int) blas.General {
	return blas.View(L, j*q.n, 0, q.n, q.n)
}

// center sets the metric for the output kernel whose full eigendecomposition is
// taken from the dense L, and forgets products with the old D.
func (q *quasiNewton) center(z []float64, weigh weighing) error {
	if n := q.n; n > 0 {
		_, L := q.split(z)
		q.V = blas.Clone(q.block(L, 0))
		for j := 1; j < q.count; j++ {
			blas.AddScaled(q.V, 1, q.block(L, j))
		}
		rho := make([]float64, n)
		if err := q.be.Syevd(q.V, rho); err != nil {
			return err
		}
		q.w = weigh(q.V, rho)
	}
	for i, s := range q.S {
		q.metric(q.DS[i], s)
	}
	return nil
}

// begin empties the model at z, where the gradient is g, with a step of about half the size of z.
func (q *quasiNewton) begin(z, g []float64, weigh weighing) error {
	q.forget()
	if err := q.center(z, weigh); err != nil {
		return err
	}
	Dz := make([]float64, len(z))
	q.metric(Dz, z)
	q.sEta, q.sL = startScale(g[:q.m], Dz[:q.m]), startScale(g[q.m:], Dz[q.m:])
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
func (q *quasiNewton) metric(dst, d []float64) {
	copy(dst[:q.m], d[:q.m])
	if q.n == 0 {
		return
	}
	_, A := q.split(d)
	_, out := q.split(dst)
	q.t1, q.t2 = blas.Reshape(q.t1, A.Rows, q.n), blas.Reshape(q.t2, q.n, q.n)
	blas.Mul(q.be, q.t1, false, false, A, q.V)
	for j := range max(q.count, 1) {
		AV := q.block(q.t1, j)
		blas.Mul(q.be, q.t2, true, false, q.V, AV)
		for i := range q.n {
			row := blas.Row(q.t2, i)
			for b, w := range blas.Row(q.w[j], i) {
				row[b] *= w
			}
		}
		blas.Mul(q.be, AV, false, false, q.V, q.t2)
	}
	blas.Mul(q.be, out, false, true, q.t1, q.V)
}

// weighted is σ_η⟨a,b⟩ over the weights plus σ_L⟨a,b⟩ over L.
func (q *quasiNewton) weighted(a, b []float64) float64 {
	return q.sEta*blas.Dot(a[:q.m], b[:q.m]) + q.sL*blas.Dot(a[q.m:], b[q.m:])
}

// addWeighted computes dst += c·σ·a block by block.
func (q *quasiNewton) addWeighted(dst []float64, c float64, a []float64) {
	blas.Axpy(c*q.sEta, a[:q.m], dst[:q.m])
	blas.Axpy(c*q.sL, a[q.m:], dst[q.m:])
}

// mul computes dst = B·d.
func (q *quasiNewton) mul(dst, d []float64) {
	if q.H.Data != nil {
		for i := range dst {
			dst[i] = blas.Dot(blas.Row(q.H, i), d)
		}
		return
	}
	q.metric(dst, d)
	blas.Scal(q.sEta, dst[:q.m])
	blas.Scal(q.sL, dst[q.m:])
	k := len(q.S)
	if k == 0 {
		return
	}
	q.p, q.q = resize(q.p, 2*k), resize(q.q, 2*k)
	for i := range k {
		q.p[i] = q.weighted(q.DS[i], d)
		q.p[k+i] = blas.Dot(q.Y[i], d)
	}
	for i := range q.q {
		q.q[i] = blas.Dot(blas.Row(q.mid, i), q.p)
	}
	for i := range k {
		q.addWeighted(dst, -q.q[i], q.DS[i])
		blas.Axpy(-q.q[k+i], q.Y[i], dst)
	}
}

// update takes the move s with gradient change y, both of which it keeps; now is
// where it ended. Curvature that is not positive is damped (Powell, 1978).
func (q *quasiNewton) update(s, y, now []float64, weigh weighing) error {
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
	if len(q.S) > mostPairs(len(s)) {
		q.S, q.Y, q.DS = q.S[1:], q.Y[1:], q.DS[1:]
	}
	if err := q.center(now, weigh); err != nil {
		return err
	}
	q.scale(s, y, q.DS[len(q.DS)-1])
	q.invertMiddle()
	return nil
}

// mostPairs is how many moves of vectors of so many numbers are remembered.
func mostPairs(numbers int) int { return max(leastPairs, min(pairs, pairNumbers/max(3*numbers, 1))) }

// scale sets σ from the newest pair: ⟨s,y⟩/⟨s,Ds⟩ on the weights, ‖y‖/‖Ds‖ on L,
// which measured better on each.
func (q *quasiNewton) scale(s, y, Ds []float64) {
	if v := blas.Dot(s[:q.m], y[:q.m]) / blas.Dot(s[:q.m], Ds[:q.m]); positive(v) {
		q.sEta = v
	}
	if v := blas.Nrm2(y[q.m:]) / blas.Nrm2(Ds[q.m:]); positive(v) && blas.Dot(s[q.m:], y[q.m:]) > 0 {
		q.sL = v
	}
}

// invertMiddle computes M⁻¹; when M is singular to rounding all pairs are forgotten.
func (q *quasiNewton) invertMiddle() {
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
	var ok bool
	if q.mid, ok = inverse(M); !ok {
		q.forget()
	}
}

// forget drops all pairs.
func (q *quasiNewton) forget() { q.S, q.Y, q.DS = nil, nil, nil }

// inverse is a⁻¹ by Gauss–Jordan elimination with row exchanges; a is destroyed.
// It reports false when a pivot vanishes.
func inverse(a blas.General) (blas.General, bool) {
	n := a.Rows
	inv := blas.NewGeneral(n, n)
	for i := range n {
		inv.Data[i*n+i] = 1
	}
	for c := range n {
		p := c
		for i := c + 1; i < n; i++ {
			if math.Abs(a.Data[i*n+c]) > math.Abs(a.Data[p*n+c]) {
				p = i
			}
		}
		pivot := a.Data[p*n+c]
		if !positive(math.Abs(pivot)) {
			return inv, false
		}
		for _, x := range []blas.General{a, inv} {
			rp, rc := blas.Row(x, p), blas.Row(x, c)
			for j := range n {
				rp[j], rc[j] = rc[j], rp[j]/pivot
			}
		}
		for i := range n {
			if i != c {
				f := a.Data[i*n+c]
				blas.Axpy(-f, blas.Row(a, c), blas.Row(a, i))
				blas.Axpy(-f, blas.Row(inv, c), blas.Row(inv, i))
			}
		}
	}
	return inv, true
}

func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

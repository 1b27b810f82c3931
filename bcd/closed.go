package bcd

import (
	"context"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// closed alternates the C step with the closed forms at fixed f
// (mathematics.md §4): the weights from α_j² = η_j²c_j, and
//
//	L ← τ(M + εI)^{1/2} / tr((M + εI)^{1/2}),   M = L G L.
//
// It is fast at first and may freeze on the boundary of S(τ).
func (r *run) closed(ctx context.Context, pt *point) error {
	for ; ; r.iter++ {
		if err := r.evaluate(ctx, pt, r.tolFor(pt, warmUpShare)); err != nil {
			return err
		}
		if r.done(pt) || r.iter >= r.opt.MaxOuter {
			return nil
		}
		eta, L, err := r.closedForms(pt)
		if err != nil {
			return err
		}
		pt = r.step(pt, eta, L)
	}
}

// evaluate performs the C step at pt and certifies the result over all kernels.
func (r *run) evaluate(ctx context.Context, pt *point, tol float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.solve(ctx, pt, tol); err != nil {
		return err
	}
	if err := r.measure(ctx, pt, r.all); err != nil {
		return err
	}
	return r.accept(ctx, pt)
}

// closedForms are the next weights and output kernel at the f of pt.
func (r *run) closedForms(pt *point) ([]float64, *linop.Spectral, error) {
	eta, L := pt.eta, pt.L
	if !r.fixEta {
		alpha2 := make([]float64, r.m)
		for j, c := range pt.c {
			alpha2[j] = pt.eta[j] * pt.eta[j] * c
		}
		eta = r.closedEta(alpha2)
	}
	if r.fixL {
		return eta, L, nil
	}
	L, err := r.closedL(pt)
	return eta, L, err
}

// closedEta is the minimiser of Σ (α_j² + ε)/η_j + ω(η) for the squared norms α_j².
func (r *run) closedEta(alpha2 []float64) []float64 {
	eps := r.opt.Smoothing * sumOf(alpha2) / float64(r.m)
	for j := range alpha2 {
		alpha2[j] += eps
	}
	eta := make([]float64, r.m)
	r.reg.Update(eta, alpha2)
	return eta
}

// closedL is τ(M + εI)^{1/2}/tr(·), computed in the range of L when ε = 0. M = 0 leaves L.
func (r *run) closedL(pt *point) (*linop.Spectral, error) {
	k := pt.L.Rank()
	if k == 0 {
		return pt.L, nil
	}
	V, T := pt.L.V, blas.NewGeneral(r.n, k)
	blas.Mul(r.be, T, false, false, pt.G, V)
	M := blas.NewGeneral(k, k) // diag(S)·VᵀGV·diag(S)
	blas.Mul(r.be, M, true, false, V, T)
	symmetrize(M)
	scaleRows(M, pt.L.S, M)
	scaleColumns(M, pt.L.S)
	if r.opt.Smoothing > 0 {
		full := blas.NewGeneral(r.n, r.n)
		blas.Mul(r.be, T, false, false, V, M)
		blas.Mul(r.be, full, false, true, T, V)
		symmetrize(full)
		return r.rootOf(linop.ScaledIdentity(r.n, 1).V, full)
	}
	return r.rootOf(V, M)
}

// rootOf is τ·V(M + εI)^{1/2}Vᵀ/tr((M + εI)^{1/2}), ε relative to the mean eigenvalue.
func (r *run) rootOf(V, M blas.General) (*linop.Spectral, error) {
	total := trace(M)
	if !(total > 0) {
		return &linop.Spectral{V: V, S: constant(M.Rows, r.tau/float64(M.Rows))}, nil
	}
	eps := r.opt.Smoothing * total / float64(M.Rows)
	for i := range M.Rows {
		M.Data[i*M.Stride+i] += eps
	}
	root, err := linop.NewSpectral(r.be, M, 0)
	if err != nil {
		return nil, err
	}
	root.S = sqrts(root.S)
	blas.Scal(r.tau/sumOf(root.S), root.S)
	Q := blas.NewGeneral(V.Rows, root.Rank())
	blas.Mul(r.be, Q, false, false, V, root.V)
	root.V = Q
	return root, nil
}

func constant(n int, v float64) []float64 {
	s := make([]float64, n)
	fill(s, v)
	return s
}

// cloneLike is a zero matrix of a's shape.
func cloneLike(a blas.General) blas.General { return blas.NewGeneral(a.Rows, a.Cols) }

// The operator of ridge regression with a separable kernel, or a sum of them.

package linop

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Term is one K⊗L of a [KroneckerSum].
type Term struct {
	K Operator  // l×l
	L *Spectral // n×n
}

// KroneckerSum is the map C ↦ Σ_j K_j·C·L_j + Mu·C on l×n matrices C: the normal operator of ridge regression with the
// kernel Σ_j k_j(x,x')·L_j, a linear model of coregionalisation. On the row-major vec(C) it is Σ_j K_j⊗L_j + Mu·I,
// positive definite when every K_j and L_j is positive semidefinite and Mu > 0. The data of C, with stride n, are its
// vec.
//
// With L_j = V_j·diag(S_j)·V_jᵀ of rank r_j, term j multiplies K_j by r_j columns in one block: 2l²·Σ_j r_j flops for
// dense K_j, and 4ln·Σ_j r_j for the factors of L_j. Each K_j is read once per product, so that memory bandwidth limits
// sums of many terms of rank 1. For L_j with common eigenvectors, L_j = V·diag(s_j)·Vᵀ, one [GramSum] per eigenvector
// b, at the weights s_1b … s_mb, is faster than m terms.
type KroneckerSum struct {
	Terms []Term
	Mu    float64

	Backend blas.Backend // of the products with the L_j; nil means the active one

	work par.Free[kroneckerWork]
}

// kroneckerWork is 2lr floats, and 2ln more for blocks of several columns.
type kroneckerWork struct {
	T, U, C, F blas.General
}

// Dim is l·n.
func (a *KroneckerSum) Dim() int { return a.Terms[0].K.Dim() * a.Terms[0].L.Dim() }

// Apply computes dst = (Σ_j K_j⊗L_j + Mu·I)·x, column by column.
func (a *KroneckerSum) Apply(dst, x blas.General) {
	checkBlocks(a.Dim(), dst, x)
	l, n := a.Terms[0].K.Dim(), a.Terms[0].L.Dim()
	w := a.work.Take()
	defer a.work.Put(w)
	if x.Cols == 1 && x.Stride == 1 && dst.Stride == 1 { // the column is the matrix
		to, C := blas.General{Rows: l, Cols: n, Stride: n}, blas.General{Rows: l, Cols: n, Stride: n}
		to.Data, C.Data = dst.Data, x.Data
		a.apply(w, to, C)
		return
	}
	w.C, w.F = blas.Reshape(w.C, l, n), blas.Reshape(w.F, l, n)
	for j := range x.Cols {
		for i := range w.C.Data {
			w.C.Data[i] = x.Data[i*x.Stride+j]
		}
		a.apply(w, w.F, w.C)
		for i, v := range w.F.Data {
			dst.Data[i*dst.Stride+j] = v
		}
	}
}

// ApplyMatrix computes dst = Σ_j K_j·C·L_j + Mu·C for l×n matrices of any stride.
func (a *KroneckerSum) ApplyMatrix(dst, C blas.General) {
	if C.Rows != a.Terms[0].K.Dim() || C.Cols != a.Terms[0].L.Dim() || dst.Rows != C.Rows || dst.Cols != C.Cols {
		panic("linop: ApplyMatrix: shape mismatch")
	}
	w := a.work.Take()
	a.apply(w, dst, C)
	a.work.Put(w)
}

// apply computes dst = Σ_j K_j·(C·V_j·diag(S_j))·V_jᵀ + Mu·C.
func (a *KroneckerSum) apply(w *kroneckerWork, dst, C blas.General) {
	be, beta := blas.Or(a.Backend), 0.0
	for _, t := range a.Terms {
		if r := t.L.Rank(); r > 0 {
			w.T, w.U = blas.Reshape(w.T, C.Rows, r), blas.Reshape(w.U, C.Rows, r)
			t.L.rotateScaled(be, w.T, C)
			t.K.Apply(w.U, w.T)
			blas.Gemm(be, false, true, 1, w.U, t.L.V, beta, dst)
			beta = 1
		}
	}
	if beta == 0 {
		blas.Zero(dst)
	}
	blas.AddScaled(dst, a.Mu, C)
}

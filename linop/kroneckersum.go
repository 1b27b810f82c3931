// This file is the operator of ridge regression with a sum of separable kernels.

package linop

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Term is one K⊗L of a [KroneckerSum].
type Term struct {
	K Operator  // l×l
	L *Spectral // n×n
}

// KroneckerSum is the map C ↦ Σ_j K_j·C·L_j + Mu·C on l×n matrices C: the normal
// operator of ridge regression with the kernel Σ_j k_j(x,x')·L_j, a linear model of
// coregionalisation. On the row-major vec(C) it is Σ_j K_j⊗L_j + Mu·I, positive
// definite when every K_j and L_j is positive semidefinite and Mu > 0.
//
// With L_j = V_j·diag(S_j)·V_jᵀ of rank r_j, term j multiplies K_j by r_j columns in
// one block: 2l²·Σ_j r_j flops for dense K_j, and 4ln·Σ_j r_j for the factors. Each
// K_j is read once a product, so many terms of rank 1 run at the speed of memory.
// Where the L_j share their eigenvectors, L_j = V·diag(s_j)·Vᵀ, a [GramSum] at the
// weights s_1b … s_mb serves direction b in the place of m terms.
type KroneckerSum struct {
	Terms []Term
	Mu    float64

	Backend blas.Backend // of the products with the L_j; nil means the active one

	work par.Free[kroneckerWork]
}

// Dim is l·n.
func (a *KroneckerSum) Dim() int { return a.Terms[0].K.Dim() * a.Terms[0].L.Dim() }

// Apply computes dst = (Σ_j K_j⊗L_j + Mu·I)·x, column by column.
func (a *KroneckerSum) Apply(dst, x blas.General) {
	checkBlocks(a.Dim(), dst, x)
	w := a.work.Take()
	w.eachColumn(dst, x, a.Terms[0].K.Dim(), a.Terms[0].L.Dim(), a.apply)
	a.work.Put(w)
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

// apply computes dst = Mu·C + Σ_j K_j·(C·V_j·diag(S_j))·V_jᵀ.
func (a *KroneckerSum) apply(w *kroneckerWork, dst, C blas.General) {
	blas.CopyScaled(dst, a.Mu, C)
	be := blas.Or(a.Backend)
	for _, t := range a.Terms {
		if t.L.Rank() > 0 {
			w.term(be, t.K, t.L, C)
			blas.Gemm(be, false, true, 1, w.U, t.L.V, 1, dst)
		}
	}
}

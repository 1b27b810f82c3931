// This file is the operator of ridge regression with a separable kernel.

package linop

import (
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// Kronecker is the map C ↦ K·C·L + Mu·C on l×n matrices C, the normal operator
// of ridge regression with kernel k(x,x')·L. It acts on the row-major vec(C), of
// length l·n, on which it is K⊗L + Mu·I: positive definite when K and L are
// positive semidefinite and Mu > 0. C itself, with stride n, is its own vec.
//
// With L = V·diag(S)·Vᵀ of rank r it multiplies K by r columns, not n.
type Kronecker struct {
	K  Operator  // l×l
	L  *Spectral // n×n
	Mu float64

	Backend blas.Backend // of the products with L; nil means the active one

	work par.Free[kroneckerWork]
}

// kroneckerWork is 2lr floats, and 2ln more for blocks of several columns.
type kroneckerWork struct {
	T, U, C, F blas.General
}

// Dim is l·n.
func (a *Kronecker) Dim() int { return a.K.Dim() * a.L.Dim() }

// Apply computes dst = (K⊗L + Mu·I)·x, column by column.
func (a *Kronecker) Apply(dst, x blas.General) {
	checkBlocks(a.Dim(), dst, x)
	w := a.work.Take()
	w.eachColumn(dst, x, a.K.Dim(), a.L.Dim(), a.apply)
	a.work.Put(w)
}

// eachColumn computes every column of dst from that of x by apply, which acts on
// l×n matrices. A single contiguous column is its own matrix.
func (w *kroneckerWork) eachColumn(dst, x blas.General, l, n int, apply func(w *kroneckerWork, dst, C blas.General)) {
	if x.Cols == 1 && x.Stride == 1 && dst.Stride == 1 {
		apply(w, blas.General{Rows: l, Cols: n, Stride: n, Data: dst.Data}, blas.General{
			Rows: l, Cols: n, Stride: n, Data: x.Data,
		})
		return
	}
	w.C, w.F = blas.Reshape(w.C, l, n), blas.Reshape(w.F, l, n)
	for j := range x.Cols {
		for i := range w.C.Data {
			w.C.Data[i] = x.Data[i*x.Stride+j]
		}
		apply(w, w.F, w.C)
		for i, v := range w.F.Data {
			dst.Data[i*dst.Stride+j] = v
		}
	}
}

// term computes U = K·(C·V·diag(S)), of r columns.
func (w *kroneckerWork) term(be blas.Backend, K Operator, L *Spectral, C blas.General) {
	w.T, w.U = blas.Reshape(w.T, C.Rows, L.Rank()), blas.Reshape(w.U, C.Rows, L.Rank())
	L.rotateScaled(be, w.T, C)
	K.Apply(w.U, w.T)
}

// ApplyMatrix computes dst = K·C·L + Mu·C for l×n matrices of any stride.
func (a *Kronecker) ApplyMatrix(dst, C blas.General) {
	if C.Rows != a.K.Dim() || C.Cols != a.L.Dim() || dst.Rows != C.Rows || dst.Cols != C.Cols {
		panic("linop: ApplyMatrix: shape mismatch")
	}
	w := a.work.Take()
	a.apply(w, dst, C)
	a.work.Put(w)
}

// apply computes dst = K·(C·V·diag(S))·Vᵀ + Mu·C.
func (a *Kronecker) apply(w *kroneckerWork, dst, C blas.General) {
	if a.L.Rank() == 0 {
		blas.Zero(dst)
	} else {
		be := blas.Or(a.Backend)
		w.term(be, a.K, a.L, C)
		blas.Mul(be, dst, false, true, w.U, a.L.V)
	}
	blas.AddScaled(dst, a.Mu, C)
}

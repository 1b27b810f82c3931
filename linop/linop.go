// Package linop holds the symmetric operators of the module: weighted sums of
// Gram matrices and of factors, their Kronecker products with output kernels,
// sums of these, their restriction to observed cells, and the spectral form that
// output kernels are kept in.
//
// Symbols, throughout the module:
//
//	symbol  Go name   shape   meaning
//	l d n m                   samples, inputs, outputs, kernels
//	X, Y    X, Y      l×d l×n inputs and targets, a row per sample
//	K_j     Terms     l×l     Gram matrix of the scalar kernel k_j
//	η       eta       m       kernel weights, ≥ 0; K_η = Σ_j η_j K_j
//	L       L         n×n     output kernel matrix, PSD, tr L ≤ τ
//	C       C         l×n     coefficients; fitted values F = K_η C L
//	Ω       Cells     l×n     observed cells of Y; P_Ω keeps them and zeroes the others
//	λ, τ    Lambda    scalar  regularization; Tau the trace bound
//	μ       Mu        scalar  λ·l, the shift of every linear system
//	Z_j     Factors   l×d_j   factor of K_j = Z_j Z_jᵀ
//	Γ, H    Gamma, H  D×D D×n ZᵀZ and ZᵀY
//	c_j     c         m       tr(Cᵀ K_j C L), the derivative of −h/λ along η_j
//	G       G         n×n     Cᵀ K_η C, the derivative of −h/λ along L
package linop

import (
	"context"

	"github.com/iokl/iokl/blas"
)

// Operator is a symmetric linear map on ℝᴺ. It is applied to the k columns of an
// N×k block at once, since one pass over a large matrix can serve them all; a
// vector is the block of one column that [blas.Vector] makes.
type Operator interface {
	// Dim is N.
	Dim() int
	// Apply computes dst = A·x for N×k blocks. dst is not read, does not overlap
	// x, and nothing is allocated after the first call of a size.
	Apply(dst, x blas.General)
}

// checkBlocks panics unless dst and x are blocks of n rows and the same number of columns.
func checkBlocks(n int, dst, x blas.General) {
	if x.Rows != n || dst.Rows != n || dst.Cols != x.Cols {
		panic("linop: Apply: shape mismatch")
	}
}

// Denser is an operator that can write itself out as a dense N×N matrix.
type Denser interface {
	Operator
	Dense(dst blas.General)
}

// Sum is a weighted sum A_η = Σ_j η_j A_j of m positive semidefinite operators. As an Operator it is A_η at the weights
// of the last SetWeights. One goroutine at a time may call SetWeights; Apply and Forms may then run from several.
type Sum interface {
	Operator
	// Len is m, the number of terms.
	Len() int
	// SetWeights sets η (length m, entries ≥ 0, copied). Unchanged weights cost nothing.
	SetWeights(eta []float64)
	// Forms computes dst[i] = ⟨U, A_{idx[i]} V⟩ = tr(Uᵀ A_{idx[i]} V) for N×k blocks U and V.
	// dst and idx have the same length; weights do not enter.
	Forms(dst []float64, U, V blas.General, idx []int)
	// Diag writes the diagonal of the term j to dst (length N).
	Diag(dst []float64, j int)
}

// Separate is a Sum that also multiplies by one of its terms alone.
type Separate interface {
	Sum
	// ApplyTerm computes dst = A_j·x for N×k blocks, whatever the weights. dst is not
	// read and does not overlap x. Several goroutines may call it.
	ApplyTerm(dst, x blas.General, j int)
	// DenseTerm writes A_j to the N×N dst.
	DenseTerm(dst blas.General, j int)
}

// Checker is a Sum with a fast test of its terms, in the place of reading all their diagonals.
type Checker interface {
	Sum
	// Check reports a term that is not finite or has a negative number on its diagonal; the error names term and place.
	Check() error
}

// Ending is a Sum that computes its terms when they are needed, and can be cancelled while it does.
type Ending interface {
	Sum
	// Until makes all methods return early once ctx has ended, until the next call of Until. What a method has computed
	// by then is undefined.
	Until(ctx context.Context)
}

// Mixed is an operator that also multiplies in single precision, at about half the cost.
type Mixed interface {
	Operator
	// Form prepares the operator at its weights; otherwise the first Apply does. It may release the memory of Single.
	Form()
	// Single returns the operator in single precision, at the weights of the time of the call. It is made at the first
	// call, and valid until the weights change.
	Single() Operator
}

// Func is an operator of order N given by a function that computes dst = A·x for
// N×k blocks, under the terms of [Operator.Apply].
type Func struct {
	N int
	F func(dst, x blas.General)
}

// Dim is N.
func (f Func) Dim() int { return f.N }

// Apply calls F.
func (f Func) Apply(dst, x blas.General) { f.F(dst, x) }

// Matrix is a dense symmetric matrix as an operator.
type Matrix struct {
	a  blas.General
	be blas.Backend
}

// NewDense returns the operator of the dense symmetric a. It keeps a, and multiplies by the present contents of a. A
// product with one column reads the upper triangle alone, in half the time; others read both triangles. A nil backend
// is the active one.
func NewDense(a blas.General, be blas.Backend) *Matrix {
	if a.Rows != a.Cols {
		panic("linop: NewDense of a matrix that is not square")
	}
	return &Matrix{a: a, be: blas.Or(be)}
}

// Dim is the order of the matrix.
func (m *Matrix) Dim() int { return m.a.Rows }

// Apply computes dst = A·x.
func (m *Matrix) Apply(dst, x blas.General) {
	checkBlocks(m.a.Rows, dst, x)
	if x.Cols == 1 {
		m.be.Dsymv(blas.Upper, x.Rows, 1, m.a.Data, m.a.Stride, x.Data, x.Stride, 0, dst.Data, dst.Stride)
		return
	}
	blas.Mul(m.be, dst, false, false, m.a, x)
}

// Dense copies the matrix to dst.
func (m *Matrix) Dense(dst blas.General) { blas.Copy(dst, m.a) }

// denseCols is how many columns of the identity Dense multiplies at once.
const denseCols = 64

// Dense writes A to the N×N dst: by the operator's own method when it is a
// [Denser], else by applying it to the identity, a block of columns at a time. The
// error is that of ctx, which is looked at before every block.
func Dense(ctx context.Context, dst blas.General, A Operator) error {
	n := A.Dim()
	if dst.Rows != n || dst.Cols != n {
		panic("linop: Dense: shape mismatch")
	}
	if d, ok := A.(Denser); ok {
		d.Dense(dst)
		return ctx.Err()
	}
	var e, ae blas.General
	for j := 0; j < n; j += denseCols {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := min(denseCols, n-j)
		e, ae = blas.Reshape(e, n, k), blas.Reshape(ae, n, k)
		blas.Zero(e)
		for i := range k {
			e.Data[(j+i)*k+i] = 1
		}
		A.Apply(ae, e)
		blas.Copy(blas.View(dst, 0, j, n, k), ae)
	}
	return ctx.Err()
}

// This file declares the interfaces of operators and of weighted sums.

package linop

import "github.com/iokl/iokl/blas"

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

// Checker is a Sum that has a cheaper way than all its diagonals to find terms that
// are not finite, or have negative numbers on the diagonal; the error says which and where.
type Checker interface {
	Sum
	Check() error
}

// Mixed is an operator that also multiplies in single precision, at about half the cost.
type Mixed interface {
	Operator
	// Form prepares the operator at its weights for use, which otherwise the first
	// Apply does, and may give up the memory that Single has taken.
	Form()
	// Single returns the operator in single precision. It is made when first asked
	// for, follows the weights as they are at the time of the call, and stays
	// valid until they change.
	Single() Operator
}

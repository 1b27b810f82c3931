// Weighted sums of Gram matrices that are given by factors.

package linop

import (
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// FactorSum is K_η = Σ_j η_j Z_j Z_jᵀ over factors Z_j of l×d_j, multiplied
// through the factors: no l×l matrix exists. When the weights change, the columns
// √η_j·Z_j of nonzero weight are gathered into one l×D matrix, and Apply is the
// two products Z(Zᵀx), 4lDk flops.
type FactorSum struct {
	factors []blas.General
	be      blas.Backend
	eta     []float64
	z       blas.General // l×D, the active columns times √η_j
	work    par.Free[factorWork]
}

type factorWork struct {
	T, TU, TV, cols blas.General
}

// formsFactorCols is how many factor columns Forms gathers for one product.
const formsFactorCols = 128

// NewFactorSum returns the sum over the factors, which it keeps and does not
// change, with all weights zero. A nil backend is the active one.
func NewFactorSum(factors []blas.General, be blas.Backend) *FactorSum {
	if len(factors) == 0 {
		panic("linop: a sum of no factors")
	}
	for _, z := range factors {
		if z.Rows != factors[0].Rows {
			panic("linop: factors with different numbers of rows")
		}
	}
	return &FactorSum{
		factors: slices.Clone(factors),
		be:      blas.Or(be),
		eta:     make([]float64, len(factors)),
		z:       blas.NewGeneral(factors[0].Rows, 0),
	}
}

// Dim is l, the number of rows of the factors.
func (s *FactorSum) Dim() int { return s.factors[0].Rows }

// Len is m, the number of factors.
func (s *FactorSum) Len() int { return len(s.factors) }

// SetWeights makes the operator K_η. Unchanged weights cost nothing.
func (s *FactorSum) SetWeights(eta []float64) {
	if len(eta) != len(s.factors) {
		panic("linop: SetWeights: one weight for each term")
	}
	if slices.Equal(eta, s.eta) {
		return
	}
	copy(s.eta, eta)
	var d int
	for j, e := range s.eta {
		if e != 0 {
			d += s.factors[j].Cols
		}
	}
	s.z = blas.Reshape(s.z, s.Dim(), d)
	d = 0
	for j, e := range s.eta {
		if e != 0 {
			blas.CopyScaled(blas.View(s.z, 0, d, s.Dim(), s.factors[j].Cols), math.Sqrt(e), s.factors[j])
			d += s.factors[j].Cols
		}
	}
}

// Apply computes dst = Z·(Zᵀ·x) with the weighted factors.
func (s *FactorSum) Apply(dst, x blas.General) { s.through(s.z, dst, x) }

// ApplyTerm computes dst = Z_j·(Z_jᵀ·x).
func (s *FactorSum) ApplyTerm(dst, x blas.General, j int) { s.through(s.factors[j], dst, x) }

// through computes dst = Z·(Zᵀ·x).
func (s *FactorSum) through(Z, dst, x blas.General) {
	checkBlocks(s.Dim(), dst, x)
	if Z.Cols == 0 {
		blas.Zero(dst)
		return
	}
	w := s.work.Take()
	w.T = blas.Reshape(w.T, Z.Cols, x.Cols)
	if x.Cols == 1 { // a product of matrices would pack Z first
		s.be.Dgemv(blas.Trans, Z.Rows, Z.Cols, 1, Z.Data, Z.Stride, x.Data, x.Stride, 0, w.T.Data, 1)
		s.be.Dgemv(blas.NoTrans, Z.Rows, Z.Cols, 1, Z.Data, Z.Stride, w.T.Data, 1, 0, dst.Data, dst.Stride)
	} else {
		blas.Mul(s.be, w.T, true, false, Z, x)
		blas.Mul(s.be, dst, false, false, Z, w.T)
	}
	s.work.Put(w)
}

// Forms computes dst[i] = ⟨U, Z Zᵀ V⟩ = ⟨ZᵀU, ZᵀV⟩ with Z the factor idx[i].
// Narrow factors are gathered, so that each product has many columns.
func (s *FactorSum) Forms(dst []float64, U, V blas.General, idx []int) {
	if len(dst) != len(idx) || U.Rows != s.Dim() || V.Rows != U.Rows || V.Cols != U.Cols {
		panic("linop: Forms: shape mismatch")
	}
	w := s.work.Take()
	for lo := 0; lo < len(idx); {
		hi, d := lo, 0
		for hi < len(idx) && (hi == lo || d+s.factors[idx[hi]].Cols <= formsFactorCols) {
			d += s.factors[idx[hi]].Cols
			hi++
		}
		s.formsOf(w, dst[lo:hi], U, V, idx[lo:hi], d)
		lo = hi
	}
	s.work.Put(w)
}

// formsOf is Forms for factors of d columns in all.
func (s *FactorSum) formsOf(w *factorWork, dst []float64, U, V blas.General, idx []int, d int) {
	if d == 0 || U.Cols == 0 {
		clear(dst)
		return
	}
	z := s.factors[idx[0]]
	if len(idx) > 1 {
		w.cols = blas.Reshape(w.cols, s.Dim(), d)
		z = w.cols
		at := 0
		for _, j := range idx {
			f := s.factors[j]
			blas.Copy(blas.View(z, 0, at, f.Rows, f.Cols), f)
			at += f.Cols
		}
	}
	w.TU, w.TV = blas.Reshape(w.TU, d, U.Cols), blas.Reshape(w.TV, d, U.Cols)
	blas.Mul(s.be, w.TU, true, false, z, U)
	blas.Mul(s.be, w.TV, true, false, z, V)
	at := 0
	for i, j := range idx {
		c := s.factors[j].Cols
		dst[i] = blas.Inner(blas.View(w.TU, at, 0, c, U.Cols), blas.View(w.TV, at, 0, c, U.Cols))
		at += c
	}
}

// Diag writes the diagonal of Z_j Z_jᵀ to dst.
func (s *FactorSum) Diag(dst []float64, j int) {
	if len(dst) != s.Dim() {
		panic("linop: Diag: shape mismatch")
	}
	for i := range dst {
		row := blas.Row(s.factors[j], i)
		dst[i] = blas.Dot(row, row)
	}
}

// DenseTerm writes Z_j·Z_jᵀ to dst.
func (s *FactorSum) DenseTerm(dst blas.General, j int) {
	if dst.Rows != s.Dim() || dst.Cols != s.Dim() {
		panic("linop: DenseTerm: shape mismatch")
	}
	blas.Mul(s.be, dst, false, true, s.factors[j], s.factors[j])
}

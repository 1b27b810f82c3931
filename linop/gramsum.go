package linop

import (
	"slices"

	"github.com/iokl/iokl/blas"
)

// GramSum is K_η = Σ_j η_j K_j over Gram matrices of one order l, stored as
// [blas.Sym]. K_η is formed when the weights change and kept in the layout that
// the backend multiplies fastest, so Apply costs one product of an l×l by an l×k
// matrix whatever the number of terms. It takes one l×l matrix beside the terms.
type GramSum struct {
	terms  []*blas.Sym
	be     blas.Backend
	packed blas.Packed
	eta    []float64

	single    blas.Packed // K_η in single precision, when asked for
	singleEta []float64   // its weights
	forms     scratch[formsWork]
	tiles     scratch[formsTile]
}

// NewGramSum returns the sum of the terms, which it keeps and does not change,
// with all weights zero. K_η is stored in the given precision, whatever that of
// the terms. A nil backend is the active one.
func NewGramSum(terms []*blas.Sym, be blas.Backend, prec blas.Precision) *GramSum {
	if len(terms) == 0 {
		panic("linop: a sum of no Gram matrices")
	}
	for _, t := range terms {
		if t.N != terms[0].N {
			panic("linop: Gram matrices of different order")
		}
	}
	be = blas.Or(be)
	return &GramSum{
		terms:  slices.Clone(terms),
		be:     be,
		packed: be.NewPacked(terms[0].N, prec),
		eta:    make([]float64, len(terms)),
	}
}

// Dim is l, the order of the matrices.
func (s *GramSum) Dim() int { return s.terms[0].N }

// Len is m, the number of terms.
func (s *GramSum) Len() int { return len(s.terms) }

// Term returns K_j, which the caller must not change.
func (s *GramSum) Term(j int) *blas.Sym { return s.terms[j] }

// SetWeights makes the operator K_η. Unchanged weights cost nothing; otherwise
// the cost is one pass over the terms of nonzero weight.
func (s *GramSum) SetWeights(eta []float64) {
	if len(eta) != len(s.terms) {
		panic("linop: SetWeights: one weight for each term")
	}
	if slices.Equal(eta, s.eta) {
		return
	}
	copy(s.eta, eta)
	s.packed.Sum(s.eta, s.terms)
}

// Apply computes dst = K_η·x.
func (s *GramSum) Apply(dst, x blas.General) { s.packed.Mul(dst, x) }

// Single returns K_η stored in float32, which takes half an l×l matrix more
// unless K_η is stored so already.
func (s *GramSum) Single() Operator {
	if s.packed.Precision() == blas.Float32 {
		return s
	}
	if s.single == nil {
		s.single = s.be.NewPacked(s.Dim(), blas.Float32)
		s.singleEta = make([]float64, len(s.eta))
	}
	if !slices.Equal(s.eta, s.singleEta) {
		copy(s.singleEta, s.eta)
		s.single.Sum(s.eta, s.terms)
	}
	return Func{N: s.Dim(), F: s.single.Mul}
}

// Dense writes K_η to dst.
func (s *GramSum) Dense(dst blas.General) { s.packed.Dense(dst) }

// Diag writes the diagonal of K_j to dst.
func (s *GramSum) Diag(dst []float64, j int) {
	if len(dst) != s.Dim() {
		panic("linop: Diag: shape mismatch")
	}
	s.terms[j].Diag(dst)
}

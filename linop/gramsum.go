// This file is the weighted sum of Gram matrices that are stored.

package linop

import (
	"slices"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
)

// GramSum is K_η = Σ_j η_j K_j over Gram matrices of one order l, stored as
// [blas.Sym]. K_η is formed when first used after the weights changed and kept in
// the layout that the backend multiplies fastest, so Apply costs one product of an
// l×l by an l×k matrix whatever the number of terms. It takes one l×l matrix beside the terms.
type GramSum struct {
	terms []*blas.Sym
	be    blas.Backend
	eta   []float64

	mu     sync.Mutex // held while a rendition is formed
	own    rendition  // in the sum's own precision
	single rendition  // in single precision, when asked for

	forms par.Free[formsWork]
	tiles par.Free[formsTile]
}

// rendition is K_η in one precision, at the weights it was formed for.
type rendition struct {
	prec   blas.Precision
	packed blas.Packed // nil before it is first needed
	eta    []float64
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
	return &GramSum{
		terms:  slices.Clone(terms),
		be:     blas.Or(be),
		eta:    make([]float64, len(terms)),
		own:    rendition{prec: prec},
		single: rendition{prec: blas.Float32},
	}
}

// Dim is l, the order of the matrices.
func (s *GramSum) Dim() int { return s.terms[0].N }

// Len is m, the number of terms.
func (s *GramSum) Len() int { return len(s.terms) }

// Term returns K_j, which the caller must not change.
func (s *GramSum) Term(j int) *blas.Sym { return s.terms[j] }

// Part is the sum of the principal submatrices on the given rows, with all weights zero.
func (s *GramSum) Part(rows []int) *GramSum {
	terms := make([]*blas.Sym, len(s.terms))
	for j, t := range s.terms {
		a := blas.NewGeneral(len(rows), len(rows))
		par.For(len(rows), func(i int) {
			for k := range i + 1 {
				a.Data[i*a.Stride+k] = t.At(rows[i], rows[k])
			}
		})
		terms[j] = blas.SymFrom(a, t.Prec)
	}
	return NewGramSum(terms, s.be, s.own.prec)
}

// SetWeights makes the operator K_η. It costs nothing; the next use of K_η then
// makes one pass over the terms of nonzero weight, unless the weights are those of before.
func (s *GramSum) SetWeights(eta []float64) {
	if len(eta) != len(s.terms) {
		panic("linop: SetWeights: one weight for each term")
	}
	copy(s.eta, eta)
}

// at returns the rendition r at the present weights.
func (s *GramSum) at(r *rendition) blas.Packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.packed == nil {
		r.packed = s.be.NewPacked(s.Dim(), r.prec)
		r.eta = make([]float64, len(s.eta))
	}
	if !slices.Equal(s.eta, r.eta) {
		copy(r.eta, s.eta)
		r.packed.Sum(r.eta, s.terms)
	}
	return r.packed
}

// Apply computes dst = K_η·x.
func (s *GramSum) Apply(dst, x blas.General) { s.at(&s.own).Mul(dst, x) }

// KeepBoth is the largest order of which K_η is kept in double and single precision at once.
const KeepBoth = 8192

// Form makes K_η now rather than at its first use. Beyond the order KeepBoth it
// gives up the memory of the rendition in single precision.
func (s *GramSum) Form() {
	if s.Dim() > KeepBoth {
		s.mu.Lock()
		s.single.packed = nil
		s.mu.Unlock()
	}
	s.at(&s.own)
}

// Precision is that of K_η's elements.
func (s *GramSum) Precision() blas.Precision { return s.own.prec }

// Single returns K_η stored in float32, which takes half an l×l matrix more
// unless K_η is stored so already. When K_η is used in this form only, no other is made.
func (s *GramSum) Single() Operator {
	r := &s.single
	if s.own.prec == blas.Float32 {
		r = &s.own
	}
	return packed{s.at(r), 1}
}

// Dense writes K_η to dst.
func (s *GramSum) Dense(dst blas.General) { s.at(&s.own).Dense(dst) }

// Diag writes the diagonal of K_j to dst.
func (s *GramSum) Diag(dst []float64, j int) {
	if len(dst) != s.Dim() {
		panic("linop: Diag: shape mismatch")
	}
	s.terms[j].Diag(dst)
}

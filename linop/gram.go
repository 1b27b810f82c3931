// A single Gram matrix that is stored in the packed layout of a backend alone.

package linop

import (
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// Gram is η·K for one matrix K of order l in packed form, a sum of one term. It takes no memory beside K, except for
// [Gram.Single]. Forms costs as much as Apply.
type Gram struct {
	packed
	be blas.Backend

	mu     sync.Mutex
	single blas.Packed // K in single precision, when asked for
	work   blas.General
}

// NewGram returns the sum of K, which it keeps, with weight 0. be must be the backend that packed K; nil means the
// active one.
func NewGram(K blas.Packed, be blas.Backend) *Gram {
	return &Gram{packed: packed{K: K}, be: blas.Or(be)}
}

// Len is 1.
func (s *Gram) Len() int { return 1 }

// SetWeights sets η, which costs nothing.
func (s *Gram) SetWeights(eta []float64) {
	if len(eta) != 1 {
		panic("linop: SetWeights: one weight for each term")
	}
	s.eta = eta[0]
}

// Forms computes dst[i] = ⟨U, K·V⟩.
func (s *Gram) Forms(dst []float64, U, V blas.General, idx []int) {
	if len(dst) != len(idx) || U.Rows != s.Dim() || V.Rows != U.Rows || V.Cols != U.Cols {
		panic("linop: Forms: shape mismatch")
	}
	if len(idx) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work = blas.Reshape(s.work, V.Rows, V.Cols)
	s.K.Mul(s.work, V)
	v := blas.Inner(U, s.work)
	for i := range dst {
		dst[i] = v
	}
}

// Diag writes the diagonal of K to dst.
func (s *Gram) Diag(dst []float64, _ int) {
	if len(dst) != s.Dim() {
		panic("linop: Diag: shape mismatch")
	}
	for i := range dst {
		dst[i] = s.K.At(i, i)
	}
}

// ApplyTerm computes dst = K·x.
func (s *Gram) ApplyTerm(dst, x blas.General, _ int) { s.K.Mul(dst, x) }

// DenseTerm writes K to dst.
func (s *Gram) DenseTerm(dst blas.General, _ int) { blas.Unpack(dst, s.K) }

// Dense writes η·K to dst.
func (s *Gram) Dense(dst blas.General) {
	blas.Unpack(dst, s.K)
	blas.CopyScaled(dst, s.eta, dst)
}

// Form does nothing: K is ready.
func (s *Gram) Form() {}

// Single returns η·K in single precision. It is s itself where K is stored so, and also for a K in double precision of
// an order above [KeepBoth]. Otherwise a copy of K in single precision is kept, of half an l×l matrix.
func (s *Gram) Single() Operator {
	if s.K.Precision() == blas.Float32 || s.Dim() > KeepBoth {
		return s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.single == nil {
		s.single = s.be.NewPacked(s.Dim(), blas.Float32)
		par.Ranges(s.Dim(), blas.SymBlock, func(lo, hi int) {
			line := make([]float64, s.Dim())
			for i := lo; i < hi; i++ {
				s.K.Row(i, line)
				s.single.Set(i, 0, line[:i+1])
			}
		})
		s.single.Complete()
	}
	return packed{s.single, s.eta}
}

// packed is η·K of a packed matrix as an operator.
type packed struct {
	K   blas.Packed
	eta float64
}

// Dim is the order of K.
func (s packed) Dim() int { return s.K.Order() }

// Precision is that of K's elements.
func (s packed) Precision() blas.Precision { return s.K.Precision() }

// Apply computes dst = η·K·x.
func (s packed) Apply(dst, x blas.General) {
	s.K.Mul(dst, x)
	if s.eta != 1 {
		blas.CopyScaled(dst, s.eta, dst)
	}
}

// Row writes the elements of row i in the first len(dst) columns to dst.
func (s packed) Row(i int, dst []float64) {
	s.K.Row(i, dst)
	if s.eta != 1 {
		blas.Scal(s.eta, dst)
	}
}

// Weighted sums with scaled rows and columns.

package linop

import (
	"context"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// scaled is D·A_η·D, D = diag(d), for a Sum A.
type scaled struct {
	Sum
	d    []float64
	work *par.Free[scaledWork]
}

// scaledWork is as many floats as two blocks that are multiplied.
type scaledWork struct{ X, Y blas.General }

// scaledMixed is scaled for a Sum that also multiplies in single precision.
type scaledMixed struct{ scaled }

// NewScaled returns D·A_η·D with D = diag(d) (length N), a sum of as many terms as A: the kernels of samples with the
// weights d². It is Separate or Mixed where A is. Scratch: two blocks of the size that is multiplied.
func NewScaled(A Sum, d []float64) Sum {
	if len(d) != A.Dim() {
		panic("linop: NewScaled: shape mismatch")
	}
	s := scaled{Sum: A, d: slices.Clone(d), work: new(par.Free[scaledWork])}
	if _, ok := A.(Mixed); ok {
		return scaledMixed{s}
	}
	return s
}

// Apply computes dst = D·A_η·D·x.
func (s scaled) Apply(dst, x blas.General) { s.through(s.Sum, dst, x) }

// through computes dst = D·A·D·x.
func (s scaled) through(A Operator, dst, x blas.General) {
	w := s.take(dst, x)
	A.Apply(dst, w.X)
	blas.ScaleRows(dst, s.d, dst)
	s.work.Put(w)
}

// take is scratch that holds D·x.
func (s scaled) take(dst, x blas.General) *scaledWork {
	checkBlocks(len(s.d), dst, x)
	w := s.work.Take()
	w.X = blas.Reshape(w.X, x.Rows, x.Cols)
	blas.ScaleRows(w.X, s.d, x)
	return w
}

// Precision is that of A's elements.
func (s scaled) Precision() blas.Precision { return PrecisionOf(s.Sum) }

// PrecisionOf is the precision that A is stored in, where A has a method Precision, and double precision otherwise.
func PrecisionOf(A Operator) blas.Precision {
	if p, ok := A.(interface{ Precision() blas.Precision }); ok {
		return p.Precision()
	}
	return blas.Float64
}

// Forms computes dst[i] = ⟨D·U, A_{idx[i]}·D·V⟩.
func (s scaled) Forms(dst []float64, U, V blas.General, idx []int) {
	w := s.take(U, U)
	DV := w.X
	if len(U.Data) > 0 && (&U.Data[0] != &V.Data[0] || U.Stride != V.Stride) {
		w.Y = blas.Reshape(w.Y, V.Rows, V.Cols)
		blas.ScaleRows(w.Y, s.d, V)
		DV = w.Y
	}
	s.Sum.Forms(dst, w.X, DV, idx)
	s.work.Put(w)
}

// Diag writes the diagonal of D·A_j·D to dst.
func (s scaled) Diag(dst []float64, j int) {
	s.Sum.Diag(dst, j)
	for i, v := range s.d {
		dst[i] *= v * v
	}
}

// Dense writes D·A_η·D to dst.
func (s scaled) Dense(dst blas.General) {
	_ = Dense(context.Background(), dst, s.Sum) // only a context can fail it
	s.both(dst)
}

// both computes a ← D·a·D.
func (s scaled) both(a blas.General) {
	blas.ScaleRows(a, s.d, a)
	blas.ScaleColumns(a, s.d)
}

// Until is that of an [Ending] A.
func (s scaled) Until(ctx context.Context) {
	if e, ok := s.Sum.(Ending); ok {
		e.Until(ctx)
	}
}

// ApplyTerm is that of a [Separate] A.
func (s scaled) ApplyTerm(dst, x blas.General, j int) {
	w := s.take(dst, x)
	s.Sum.(Separate).ApplyTerm(dst, w.X, j)
	blas.ScaleRows(dst, s.d, dst)
	s.work.Put(w)
}

// DenseTerm is that of a [Separate] A.
func (s scaled) DenseTerm(dst blas.General, j int) {
	s.Sum.(Separate).DenseTerm(dst, j)
	s.both(dst)
}

// Form is that of A.
func (s scaledMixed) Form() { s.Sum.(Mixed).Form() }

// Single is D·A_η·D with A_η in single precision.
func (s scaledMixed) Single() Operator {
	return scaledOperator{s.scaled, s.Sum.(Mixed).Single()}
}

// scaledOperator is D·A·D for another form of A.
type scaledOperator struct {
	scaled
	A Operator
}

func (s scaledOperator) Apply(dst, x blas.General) { s.through(s.A, dst, x) }
func (s scaledOperator) Precision() blas.Precision { return PrecisionOf(s.A) }

package granger

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// kernelSum is a sum of kernels on all samples that also multiplies by single kernels.
type kernelSum interface {
	linop.Sum
	ApplyTerm(dst, x blas.General, j int) // dst = K_j·x
}

// reducedSum is P·S·K_η·Sᵀ·P: the samples idx of the terms (S picks rows, some
// perhaps several times), projected off the orthonormal columns U (P = I − UUᵀ).
type reducedSum struct {
	inner kernelSum
	be    blas.Backend
	idx   []int
	U     blas.General
}

func (s *reducedSum) Dim() int                 { return len(s.idx) }
func (s *reducedSum) Len() int                 { return s.inner.Len() }
func (s *reducedSum) SetWeights(eta []float64) { s.inner.SetWeights(eta) }

// Apply computes dst = P·S·K_η·Sᵀ·P·x.
func (s *reducedSum) Apply(dst, x blas.General) {
	full := s.spread(x)
	out := blas.Like(full)
	s.inner.Apply(out, full)
	s.gather(dst, out)
	projectOff(s.be, dst, s.U)
}

// spread is Sᵀ·P·x.
func (s *reducedSum) spread(x blas.General) blas.General {
	px := blas.Clone(x)
	projectOff(s.be, px, s.U)
	return s.scatter(px)
}

// scatter is Sᵀ·x.
func (s *reducedSum) scatter(x blas.General) blas.General {
	full := blas.NewGeneral(s.inner.Dim(), x.Cols)
	for i, r := range s.idx {
		blas.Axpy(1, blas.Row(x, i), blas.Row(full, r))
	}
	return full
}

// gather writes S·x to dst.
func (s *reducedSum) gather(dst, x blas.General) {
	for i, r := range s.idx {
		copy(blas.Row(dst, i), blas.Row(x, r))
	}
}

// Forms computes dst[i] = ⟨Sᵀ·P·U, K_{idx[i]}·Sᵀ·P·V⟩.
func (s *reducedSum) Forms(dst []float64, U, V blas.General, idx []int) {
	SU := s.spread(U)
	SV := SU
	if &U.Data[0] != &V.Data[0] {
		SV = s.spread(V)
	}
	s.inner.Forms(dst, SU, SV, idx)
	for k, j := range idx {
		if v := dst[k]; v < 0 && -v <= s.rounding(j, SU, SV) {
			dst[k] = 0
		}
	}
}

// rounding bounds the error of ⟨U, K_j·V⟩ that comes of storing K_j in single
// precision, where |K_ab| ≤ max_i K_ii: a kernel that lies in the span of the border
// has a form of 0 and shows nothing else.
func (s *reducedSum) rounding(j int, U, V blas.General) float64 {
	diagonal := make([]float64, s.inner.Dim())
	s.inner.Diag(diagonal, j)
	return 0x1p-23 * floats.Max(diagonal) * float64(len(s.idx)) * blas.Frob(U) * blas.Frob(V)
}

// Diag writes the diagonal of P·S·K_j·Sᵀ·P to dst: K_ii − 2(UW)_ii + (U·(UᵀW)·Uᵀ)_ii with W = UᵀK.
func (s *reducedSum) Diag(dst []float64, j int) {
	diagonal := make([]float64, s.inner.Dim())
	s.inner.Diag(diagonal, j)
	for i, p := range s.idx {
		dst[i] = diagonal[p]
	}
	KU, full := blas.Like(s.U), s.scatter(s.U)
	all := blas.Like(full)
	s.inner.ApplyTerm(all, full, j)
	s.gather(KU, all)
	UI := blas.Product(s.be, false, false, s.U, blas.Product(s.be, true, false, s.U, KU))
	for i := range dst {
		u := blas.Row(s.U, i)
		dst[i] = math.Max(0, dst[i]-2*blas.Dot(u, blas.Row(KU, i))+blas.Dot(u, blas.Row(UI, i)))
	}
}

// Check looks at the terms themselves: what is projected is as positive semidefinite.
func (s *reducedSum) Check() error {
	d := make([]float64, s.inner.Dim())
	for j := range s.Len() {
		s.inner.Diag(d, j)
		for i, v := range d {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("kernel %d has %g on its diagonal at sample %d", j, v, i)
			}
		}
	}
	return nil
}

// projectOff replaces x by x − U·Uᵀx.
func projectOff(be blas.Backend, x, U blas.General) {
	for range 2 {
		blas.Gemm(be, false, false, -1, U, blas.Product(be, true, false, U, x), 1, x)
	}
}

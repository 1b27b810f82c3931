// This file multiplies by single terms of a weighted sum.

package linop

import "github.com/iokl/iokl/blas"

// Separate is a Sum that also multiplies by one of its terms alone.
type Separate interface {
	Sum
	// ApplyTerm computes dst = A_j·x for N×k blocks, whatever the weights. dst is not
	// read and does not overlap x. Several goroutines may call it.
	ApplyTerm(dst, x blas.General, j int)
	// DenseTerm writes A_j to the N×N dst.
	DenseTerm(dst blas.General, j int)
}

// ApplyTerm computes dst = K_j·x from the stored triangle, panel by panel: 2kl² flops,
// and no memory but a panel for terms in single precision.
func (s *GramSum) ApplyTerm(dst, x blas.General, j int) {
	checkBlocks(s.Dim(), dst, x)
	t := s.terms[j]
	w := s.tiles.Take()
	for b := range t.Panels() {
		row, rows, cols, off := t.Panel(b)
		P := blas.General{Rows: rows, Cols: cols, Stride: cols}
		if t.Prec == blas.Float64 {
			P.Data = t.F64[off : off+rows*cols]
		} else {
			w.p64 = resize(w.p64, rows*cols)
			P.Data = w.p64
			for i, v := range t.F32[off : off+rows*cols] {
				P.Data[i] = float64(v)
			}
		}
		// The panel is [A D] with D on the diagonal of K_j: it gives A·x + D·x to its own
		// rows and, by symmetry, Aᵀ·x to the rows above. All of them hold a value by now.
		own := blas.View(x, row, 0, rows, x.Cols)
		blas.Mul(s.be, blas.View(dst, row, 0, rows, x.Cols), false, false, P, blas.View(x, 0, 0, cols, x.Cols))
		if row > 0 {
			blas.Gemm(s.be, true, false, 1, blas.View(P, 0, 0, rows, row), own, 1, blas.View(dst, 0, 0, row, x.Cols))
		}
	}
	s.tiles.Put(w)
}

// DenseTerm writes K_j to dst.
func (s *GramSum) DenseTerm(dst blas.General, j int) { s.terms[j].Dense(dst) }

// DenseTerm writes Z_j·Z_jᵀ to dst.
func (s *FactorSum) DenseTerm(dst blas.General, j int) {
	if dst.Rows != s.Dim() || dst.Cols != s.Dim() {
		panic("linop: DenseTerm: shape mismatch")
	}
	if s.factors[j].Cols == 0 {
		blas.Zero(dst)
		return
	}
	blas.Mul(s.be, dst, false, true, s.factors[j], s.factors[j])
}

// ApplyTerm computes dst = Z_j·(Z_jᵀ·x).
func (s *FactorSum) ApplyTerm(dst, x blas.General, j int) {
	checkBlocks(s.Dim(), dst, x)
	Z := s.factors[j]
	if Z.Cols == 0 {
		blas.Zero(dst)
		return
	}
	w := s.work.Take()
	w.T = blas.Reshape(w.T, Z.Cols, x.Cols)
	blas.Mul(s.be, w.T, true, false, Z, x)
	blas.Mul(s.be, dst, false, false, Z, w.T)
	s.work.Put(w)
}

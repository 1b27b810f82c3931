package interior

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// Cells is the part of the L step that differs where cells of Y are missing and few are
// observed: C = P·x, x = A_ΩΩ⁻¹·y, by a factor of A_ΩΩ = (P·(K_η⊗L)·P + μI)_ΩΩ, P = diag(√w).
type Cells struct {
	be    blas.Backend
	mu    float64
	cells *linop.Cells
	K     *linop.Matrix
	U     blas.General // eigenvectors of K_η of descending eigenvalues, N×q
	Y     blas.General
	x     blas.General // N×n, as T
	T     blas.General
}

// NewCells is for the observed cells of Y, times √w and 0 elsewhere, the dense A_η and eigenvectors of it, of ascending
// eigenvalues, of which the last q count.
func NewCells(be blas.Backend, cells *linop.Cells, A, Y, vectors blas.General, q int, mu float64) *Cells {
	N, n := Y.Rows, Y.Cols
	f := &Cells{
		be: be, mu: mu, cells: cells, K: linop.NewDense(A, be), Y: Y,
		U: blas.NewGeneral(N, q), x: blas.NewGeneral(N, n), T: blas.NewGeneral(N, n),
	}
	for i := range N {
		for j := range q {
			f.U.Data[i*q+j] = vectors.Data[i*vectors.Stride+vectors.Cols-1-j]
		}
	}
	return f
}

// evaluate fills in C and h/λ at p.
func (f *Cells) evaluate(v *values, p *outputPoint) {
	v.value = math.Inf(1)
	sys := sylvester.System{K: f.K, L: &linop.Spectral{V: p.V, S: p.diag}, Mu: f.mu, Cells: f.cells}
	var err error
	if v.inverse, err = sylvester.Factor(context.Background(), f.be, sys); err != nil {
		return
	}
	v.inverse.Apply(blas.Vector(f.x.Data), blas.Vector(f.Y.Data))
	v.value = blas.Inner(f.Y, f.x)
	f.rotate(v.C, p.V)
}

// rotate computes dst = Uᵀ·P·x·V.
func (f *Cells) rotate(dst, V blas.General) {
	f.cells.Project(f.x, f.x)
	blas.Mul(f.be, f.T, false, false, f.x, V)
	blas.Mul(f.be, dst, true, false, f.U, f.T)
}

// solve overwrites B, which stands for U·B·Vᵀ, by what stands for A_ΩΩ⁻¹ of its observed cells.
func (f *Cells) solve(B blas.General, inverse linop.Operator, V blas.General) {
	R := blas.Like(f.x)
	blas.Mul(f.be, f.T, false, false, f.U, B)
	blas.Mul(f.be, R, false, true, f.T, V)
	f.cells.Project(R, R)
	inverse.Apply(blas.Vector(f.x.Data), blas.Vector(R.Data))
	f.rotate(B, V)
}

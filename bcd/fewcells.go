// This file evaluates the L step where cells of Y are missing and few are observed.

package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// fewCells is the part of the L step that differs where cells of Y are missing and few are
// observed: C = A_ΩΩ⁻¹·y by a factor of A_ΩΩ = (K_η⊗L + μI)_ΩΩ.
type fewCells struct {
	t     *task
	cells *linop.Cells
	K     *linop.Matrix
	U     blas.General // eigenvectors of K_η of descending eigenvalues, N×q
	Y     blas.General
	x     blas.General // N×n, as T
	T     blas.General
}

// fewCells is that of the task with the eigenvectors of A, of ascending eigenvalues, of which the
// last q count; nil where no cell is missing, or too many are observed.
func (t *task) fewCells(ctx context.Context, A linop.Operator, vectors blas.General, q int) (*fewCells, error) {
	if !t.fewObserved() {
		return nil, nil
	}
	N := vectors.Rows
	K := blas.NewGeneral(N, N)
	if err := linop.Dense(ctx, K, A); err != nil {
		return nil, err
	}
	f := &fewCells{
		t: t, cells: t.space.(masked).observed(), K: linop.NewDense(K, t.be), Y: t.space.rhs(nil),
		U: blas.NewGeneral(N, q), x: blas.NewGeneral(N, t.n), T: blas.NewGeneral(N, t.n),
	}
	for i := range N {
		for j := range q {
			f.U.Data[i*q+j] = vectors.Data[i*vectors.Stride+N-1-j]
		}
	}
	return f, nil
}

// fewObserved reports whether cells are missing and so few observed that a factor of their system
// costs little.
func (t *task) fewObserved() bool {
	m, ok := t.space.(masked)
	return ok && m.observed() != nil && m.observed().Count() <= fewCellsMost
}

// evaluate fills in C and h/λ at p.
func (f *fewCells) evaluate(v *values, p *outputPoint) {
	v.value = math.Inf(1)
	sys := sylvester.System{K: f.K, L: &linop.Spectral{V: p.V, S: p.diag}, Mu: f.t.mu}
	var err error
	if v.inverse, err = sylvester.NewObservedFactor(context.Background(), f.t.be, sys, f.cells); err != nil {
		return
	}
	v.inverse.Apply(blas.Vector(f.x.Data), blas.Vector(f.Y.Data))
	v.value = blas.Inner(f.Y, f.x)
	f.rotate(v.C, p.V)
}

// rotate computes dst = Uᵀ·x·V.
func (f *fewCells) rotate(dst, V blas.General) {
	blas.Mul(f.t.be, f.T, false, false, f.x, V)
	blas.Mul(f.t.be, dst, true, false, f.U, f.T)
}

// solve overwrites B, which stands for U·B·Vᵀ, by what stands for A_ΩΩ⁻¹ of its observed cells.
func (f *fewCells) solve(B blas.General, inverse *sylvester.ObservedFactor, V blas.General) {
	R := cloneLike(f.x)
	blas.Mul(f.t.be, f.T, false, false, f.U, B)
	blas.Mul(f.t.be, R, false, true, f.T, V)
	inverse.Apply(blas.Vector(f.x.Data), blas.Vector(R.Data))
	f.rotate(B, V)
}

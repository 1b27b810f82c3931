// This file makes models of outputs at other points of the axis of the outputs.

package model

import (
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/linop"
)

// At is the model of outputs at points of the axis of those of m, a row each, without what updates and intervals need;
// see [columns.Outputs.At]. Its L is AᵀLA.
func (m *Model) At(points blas.General, silent []int) (*Model, error) {
	out, A, err := m.Out.At(points, silent)
	if err != nil {
		return nil, fault.From(err)
	}
	at := &Model{In: m.In, Out: out, Names: m.Names, Eta: m.Eta, Warnings: m.Warnings}
	L, err := congruent(A, []*linop.Spectral{m.L})
	if err != nil {
		return nil, err
	}
	at.L = L[0]
	at.Basis, err = m.Basis.times(A)
	return at, err
}

// congruent are the AᵀLA of a list; nil for nil.
func congruent(A blas.General, list []*linop.Spectral) (_ []*linop.Spectral, err error) {
	of := slices.Clone(list)
	for k, L := range list {
		R, B := blas.NewGeneral(L.Rank(), A.Cols), blas.NewGeneral(A.Cols, A.Cols)
		blas.Mul(blas.Active(), R, true, false, L.V, A)
		for b, s := range L.S {
			blas.Scal(math.Sqrt(s), blas.Row(R, b))
		}
		blas.Mul(blas.Active(), B, true, false, R, R)
		if of[k], err = linop.NewSpectral(blas.Active(), B, 0); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func (b *Features) times(A blas.General) (Basis, error) {
	at := *b
	at.WL = blas.NewGeneral(b.WL.Rows, A.Cols)
	blas.Mul(blas.Or(b.be), at.WL, false, false, b.WL, A)
	var err error
	at.L, err = congruent(A, b.L)
	return &at, err
}

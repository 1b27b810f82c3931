// This file makes models of outputs at other points of the axis of the outputs.

package model

import (
	"math"

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
	L, err := congruent(A, m.L)
	if err != nil {
		return nil, err
	}
	at.L = L[0]
	at.Basis, err = m.Basis.times(A)
	return at, err
}

// congruent are the AᵀLA.
func congruent(A blas.General, list ...*linop.Spectral) (of []*linop.Spectral, err error) {
	for _, L := range list {
		R, B := blas.NewGeneral(L.Rank(), A.Cols), blas.NewGeneral(A.Cols, A.Cols)
		blas.Mul(blas.Active(), R, true, false, L.V, A)
		for b, s := range L.S {
			blas.Scal(math.Sqrt(s), blas.Row(R, b))
		}
		blas.Mul(blas.Active(), B, true, false, R, R)
		s, err := linop.NewSpectral(blas.Active(), B, 0)
		if err != nil {
			return nil, err
		}
		of = append(of, s)
	}
	return of, nil
}

// product is a·A.
func product(be blas.Backend, a, A blas.General) blas.General {
	P := blas.NewGeneral(a.Rows, A.Cols)
	blas.Mul(blas.Or(be), P, false, false, a, A)
	return P
}

func (b *Samples) times(A blas.General) (Basis, error) { return b.combined(A), nil }

// combined is times.
func (b *Samples) combined(A blas.General) *Samples {
	at := *b
	at.CL = product(b.be, b.CL, A)
	return &at
}

func (b *Features) times(A blas.General) (Basis, error) {
	L, err := congruent(A, b.L...)
	return &Features{maps: b.maps, WL: product(b.be, b.WL, A), L: L, be: b.be}, err
}

package bcd

import (
	"fmt"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// reduceOutputs replaces the n outputs by the k = rank(Y) coordinates of the
// thin factorization Y = Ỹ·Pᵀ when k < n: the optimal L lives in the span of P
// (mathematics.md §5.6), and nothing of n×n exists. With a given L fixed the outputs stay.
//
// Where k is maxOutputs or more, P is the beginning of a basis that grows, and
// whole the space of all outputs.
func reduceOutputs(p *Problem, opt Options) (q *Problem, P blas.General, whole Space, err error) {
	var none blas.General
	if p.FixL && p.L != nil {
		return p, none, nil, nil
	}
	be, Y := blas.Or(opt.Backend), p.Space.outputs()
	if min(Y.Rows, Y.Cols) >= maxOutputs && opt.Solver != "okl" {
		var V blas.General
		if p.L != nil {
			V = p.L.V
		}
		P, whole = leadingBasis(be, Y, V, opt.Seed), p.Space
	} else if P, err = rowBasis(be, Y); err != nil {
		return nil, none, nil, err
	}
	c, reduced := *p, P.Cols < P.Rows
	q = &c
	if reduced {
		q.Space = p.Space.project(be, P)
	} else {
		P = none
	}
	switch {
	case q.L == nil && q.FixL:
		q.L = linop.ScaledIdentity(q.Space.Outputs(), q.Tau/float64(Y.Cols))
	case q.L == nil:
		q.L = linop.ScaledIdentity(q.Space.Outputs(), q.Tau/float64(q.Space.Outputs()))
	case reduced:
		q.L, err = compress(be, q.L, P)
	}
	return q, P, whole, err
}

// rankDrop is the size, relative to the largest and to machine precision times
// the longer side, below which a singular value is rounding.
const rankDrop = 4

// rowBasis is an orthonormal basis P (n×k) of the row space of the N×n Y, k ≥ 1.
// It is the identity's shape, without data, when Y has full column rank.
func rowBasis(be blas.Backend, Y blas.General) (blas.General, error) {
	N, n := Y.Rows, Y.Cols
	full := blas.General{Rows: n, Cols: n}
	k := min(N, n)
	T := transpose(Y) // n×N
	if n <= N {
		T = blas.Clone(Y)
	}
	R := blas.NewGeneral(k, k)
	be.QR(T, R)
	// n > N: Yᵀ = T·R, so the left singular vectors of R turn T. n ≤ N: Y = T·R,
	// and its right ones span the row space.
	s, u, vt := make([]float64, k), blas.NewGeneral(k, k), blas.NewGeneral(k, k)
	if err := be.SVD(R, s, u, vt); err != nil {
		return full, fmt.Errorf("bcd: reducing the outputs: %w", err)
	}
	rank := 1
	for rank < k && s[rank] > rankDrop*0x1p-52*float64(max(N, n))*s[0] {
		rank++
	}
	switch {
	case n <= N && rank == n:
		return full, nil
	case n <= N:
		return transpose(blas.View(vt, 0, 0, rank, n)), nil
	case rank == k:
		return T, nil
	}
	P := blas.NewGeneral(n, rank)
	blas.Mul(be, P, false, false, T, blas.View(u, 0, 0, k, rank))
	return P, nil
}

func transpose(a blas.General) blas.General {
	t := blas.NewGeneral(a.Cols, a.Rows)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			t.Data[j*t.Stride+i] = v
		}
	}
	return t
}

// compress is PᵀLP.
func compress(be blas.Backend, L *linop.Spectral, P blas.General) (*linop.Spectral, error) {
	k := P.Cols
	half := blas.NewGeneral(k, L.Rank())
	if L.Rank() == 0 {
		return &linop.Spectral{V: half, S: nil}, nil
	}
	blas.Mul(be, half, true, false, P, L.V)
	scaleColumns(half, sqrts(L.S))
	M := blas.NewGeneral(k, k)
	blas.Mul(be, M, false, true, half, half)
	return linop.NewSpectral(be, M, 0)
}

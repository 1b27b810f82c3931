// This file finds the directions of outputs by which a basis of outputs grows.

package bcd

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/iokl/iokl/blas"
)

// directions are new columns for P: of those that one and two multiplications by
// G lead to from the range of L and from random vectors, those along which the
// eigenvectors of TGT above its largest eigenvalue in P point.
func (g *growing) directions(ctx context.Context, pt *point) (blas.General, error) {
	f, t := g.fit, g.t
	room := min(t.wide-1-t.n, max(t.n, t.wide/growthShare))
	_, form, err := t.lowerL(pt)
	if err != nil || room < 1 {
		return blas.General{}, err
	}
	n, q := f.basis.P.Rows, t.n
	op := &shaped{g.gradientAt(ctx, pt), form}
	k := min(pt.L.Rank(), room)
	S := blas.NewGeneral(n, k+topBlock)
	if k > 0 {
		blas.Mul(t.be, blas.View(S, 0, 0, n, k), false, false, f.basis.P, blas.View(pt.L.V, 0, 0, q, k))
	}
	fillNormal(blas.View(S, 0, k, n, topBlock), t.seed)
	W := blas.NewGeneral(n, S.Cols)
	op.Apply(W, S)
	Z := g.outside(W)
	if Z.Cols == 0 {
		return Z, nil
	}
	W = blas.NewGeneral(n, Z.Cols)
	op.Apply(W, Z)
	Z = g.outside(blas.SideBySide(Z, W))
	// Rayleigh–Ritz: TGT on [P Z].
	z := Z.Cols
	GZ, M := blas.NewGeneral(n, z), blas.NewGeneral(q+z, q+z)
	op.Apply(GZ, Z)
	within := blas.View(M, 0, 0, q, q)
	g.shapedWithin(within, pt.G, form)
	_, old, err := t.eigen(within)
	if err != nil {
		return Z, err
	}
	blas.Mul(t.be, blas.View(M, q, 0, z, q), true, false, GZ, f.basis.P)
	blas.Mul(t.be, blas.View(M, q, q, z, z), true, false, Z, GZ)
	theta := make([]float64, q+z)
	if err := t.be.Syevd(M, theta); err != nil {
		return Z, err
	}
	return g.chosen(Z, blas.View(M, q, 0, z, q+z), theta, old[q-1], room), nil
}

// chosen are at most room combinations of the columns of Z: the leading left singular vectors of
// its part of the eigenvectors with θ > top, weighted by √(θ − top).
func (g *growing) chosen(Z, vectors blas.General, theta []float64, top float64, room int) blas.General {
	t := g.t
	z := Z.Cols
	weighted, count := blas.NewGeneral(z, len(theta)), 0
	for a, v := range theta {
		if v > top*(1+violation) {
			w := math.Sqrt(v - top)
			for i := range z {
				weighted.Data[i*weighted.Stride+count] = w * vectors.Data[i*vectors.Stride+a]
			}
			count++
		}
	}
	if count == 0 {
		return blas.General{}
	}
	D, d := blas.NewGeneral(z, z), make([]float64, z)
	part := blas.View(weighted, 0, 0, z, count)
	blas.Mul(t.be, D, false, true, part, part)
	if t.be.Syevd(D, d) != nil {
		return Z
	}
	keep := 0
	for keep < min(z, room) && d[z-1-keep] > 1e-10*d[z-1] {
		keep++
	}
	out := blas.NewGeneral(Z.Rows, keep)
	blas.Mul(t.be, out, false, false, Z, blas.View(D, 0, z-keep, z, keep))
	return g.outside(out)
}

// shapedWithin writes T·G·T for the G within P.
func (g *growing) shapedWithin(dst, G blas.General, form shape) {
	t := g.t
	blas.Copy(dst, G)
	if form.V.Data == nil {
		return
	}
	q := t.n
	T, X := blas.NewGeneral(q, q), blas.Clone(form.V)
	blas.ScaleColumns(X, form.t)
	blas.Mul(t.be, T, false, true, X, form.V)
	blas.Mul(t.be, X, false, false, T, G)
	blas.Mul(t.be, dst, false, false, X, T)
}

// outside is an orthonormal basis of what the columns of W add to P.
func (g *growing) outside(W blas.General) blas.General {
	t := g.t
	W = blas.Clone(W)
	for range 2 { // the second time for what rounding left
		a := blas.NewGeneral(g.basis.P.Cols, W.Cols)
		blas.Mul(t.be, a, true, false, g.basis.P, W)
		blas.Gemm(t.be, false, false, -1, g.basis.P, a, 1, W)
	}
	normalizeColumns(W)
	D, d := blas.NewGeneral(W.Cols, W.Cols), make([]float64, W.Cols)
	blas.GramOf(t.be, D, W)
	if t.be.Syevd(D, d) != nil {
		return blas.General{}
	}
	first := slices.IndexFunc(d, func(v float64) bool { return v > 1e-8*d[len(d)-1] })
	if first < 0 || !(d[len(d)-1] > 0) {
		return blas.General{}
	}
	keep := W.Cols - first
	Q := blas.NewGeneral(W.Rows, keep)
	blas.Mul(t.be, Q, false, false, W, blas.View(D, 0, first, W.Cols, keep))
	t.be.QR(Q, blas.General{})
	a := blas.NewGeneral(g.basis.P.Cols, keep)
	blas.Mul(t.be, a, true, false, g.basis.P, Q)
	blas.Gemm(t.be, false, false, -1, g.basis.P, a, 1, Q)
	return Q
}

// leadingBasis is an orthonormal basis of about the leading left singular vectors
// of the n×N Bᵀ, by two steps of subspace iteration, joined to the columns of V.
func leadingBasis(
	ctx context.Context, be blas.Backend, B, V blas.General, wide int, seed uint64,
) (blas.General, error) {
	n, k := B.Cols, max(wide/firstShare, topBlock)
	T, S := blas.NewGeneral(n, k), blas.NewGeneral(B.Rows, k)
	fillNormal(T, seed)
	for range 3 {
		if err := ctx.Err(); err != nil {
			return T, err
		}
		blas.Mul(be, S, false, false, B, T)
		be.QR(S, blas.General{})
		blas.Mul(be, T, true, false, B, S)
		be.QR(T, blas.General{})
	}
	if V.Cols > 0 {
		T = blas.SideBySide(blas.View(V, 0, 0, n, min(V.Cols, wide/2)), T)
		be.QR(T, blas.General{})
	}
	return T, nil
}

func fillNormal(a blas.General, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x6f757470757473))
	for i := range a.Rows {
		row := blas.Row(a, i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
	}
}

// normalizeColumns scales the columns of a to norm 1; zero ones stay.
func normalizeColumns(a blas.General) {
	norm := make([]float64, a.Cols)
	for i := range a.Rows {
		for j, v := range blas.Row(a, i) {
			norm[j] += v * v
		}
	}
	for j, v := range norm {
		norm[j] = 1
		if v > 0 {
			norm[j] = 1 / math.Sqrt(v)
		}
	}
	blas.ScaleColumns(a, norm)
}

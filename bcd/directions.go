// This file finds the directions of outputs by which a basis of outputs grows.

package bcd

import (
	"context"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
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
	linop.FillNormal(blas.View(S, 0, k, n, topBlock), t.seed)
	W := blas.NewGeneral(n, S.Cols)
	op.Apply(W, S)
	Z := linop.Outside(t.be, f.basis.P, W)
	if Z.Cols == 0 {
		return Z, nil
	}
	W = blas.NewGeneral(n, Z.Cols)
	op.Apply(W, Z)
	Z = linop.Outside(t.be, f.basis.P, blas.SideBySide(Z, W))
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
	return linop.Outside(t.be, g.basis.P, out)
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

// firstBasis is of the leading right singular vectors of B and the first columns of V.
func firstBasis(
	ctx context.Context, be blas.Backend, B, V blas.General, wide int, seed uint64,
) (blas.General, error) {
	T, err := linop.LeadingBasis(ctx, be, B, max(wide/firstShare, topBlock), seed)
	if err == nil && V.Cols > 0 {
		T = blas.SideBySide(blas.View(V, 0, 0, B.Cols, min(V.Cols, wide/2)), T)
		be.QR(T, blas.General{})
	}
	return T, err
}

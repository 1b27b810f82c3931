// Nyström features from landmarks.

package rff

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// nystrom maps x to Pᵀk(landmarks, x) with PPᵀ the pseudo-inverse of the
// landmarks' Gram matrix: z(x)ᵀz(x') is the Nyström approximation of k.
type nystrom struct {
	be         blas.Backend
	near       *kernel.Crossing // k(·, landmarks) on the kernel's own columns
	landmarks  blas.General     // s×d
	projection blas.General     // s×D
	triangular bool             // projection is an upper triangle
}

// chooseNystrom draws the landmarks from X and computes the projection.
func (m *Map) chooseNystrom(ctx context.Context, X blas.General) error {
	if X.Rows == 0 {
		return fmt.Errorf("%w: landmarks are drawn from the training data", ErrNoFeatures)
	}
	x := m.Kernel.Features(X)
	if err := kernel.FiniteData(X, m.Kernel.Columns); err != nil {
		return err
	}
	m.Sampler = m.Kernel.Approx.Sampler
	z, err := drawLandmarks(ctx, m.Sampler, x, min(m.Kernel.Approx.Count, X.Rows), m.Seed, m.Stream, m.Backend)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := projection(ctx, onOwnColumns(m.Kernel), z, blas.Or(m.Backend))
	if err != nil {
		return err
	}
	m.Landmarks = &Matrix{z.Rows, z.Cols, z.Data}
	m.Projection = &Matrix{p.Rows, p.Cols, p.Data}
	m.D = p.Cols
	return nil
}

// onOwnColumns is the kernel on data that hold its columns only.
func onOwnColumns(k kernel.Kernel) kernel.Kernel {
	k.Inputs, k.Columns, k.Knots, k.Scale, k.Directions, k.Approx = k.Dim(), nil, nil, nil, nil, nil
	return k
}

// projection is R⁻¹ of the landmarks' Gram matrix RᵀR, a triangle and so half the
// work in every transform; where that is singular up to rounding, U·S^{-1/2} of
// U·S·Uᵀ for the eigenvalues above it.
func projection(
	ctx context.Context, local kernel.Kernel, z blas.General, be blas.Backend,
) (blas.General, error) {
	grams, err := kernel.Dictionary{local}.Grams(ctx, z, kernel.GramOptions{Backend: be})
	if err != nil {
		return blas.General{}, err
	}
	g := grams[0]
	if p, ok := inverseFactor(g, be); ok {
		return p, nil
	}
	s := g.N
	u, w := blas.NewGeneral(s, s), make([]float64, s)
	g.Dense(u)
	if err := be.Syevd(u, w); err != nil {
		return blas.General{}, err
	}
	drop := 0
	for drop < s && !(w[drop] > float64(s)*0x1p-52*w[s-1]) {
		drop++
	}
	p := blas.NewGeneral(s, s-drop)
	for i := range s {
		for j := drop; j < s; j++ {
			p.Data[i*p.Stride+j-drop] = u.Data[i*s+j] / math.Sqrt(w[j])
		}
	}
	return p, nil
}

// regular is the smallest square of a diagonal element of R, relative to the
// largest and in units of rounding, for which R⁻¹ is taken. It is a margin above the
// rounding of the factorization; where it is not met, eigenvectors take the place of R.
const regular = 1e3

// inverseFactor is R⁻¹ (s×s, upper triangle) of the Gram matrix RᵀR, unless
// it is singular up to rounding.
func inverseFactor(g *blas.Sym, be blas.Backend) (p blas.General, ok bool) {
	s := g.N
	l := blas.NewGeneral(s, s)
	g.Dense(l)
	if !be.Potrf(l) {
		return p, false
	}
	least, most := math.Inf(1), 0.0
	for i := range s {
		v := l.Data[i*s+i] * l.Data[i*s+i]
		least, most = math.Min(least, v), math.Max(most, v)
	}
	if !(least > regular*float64(s)*0x1p-52*most) {
		return p, false
	}
	p = blas.NewGeneral(s, s)
	for i := range s {
		p.Data[i*s+i] = 1
	}
	be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, s, s, 1, l.Data, s, p.Data, s)
	for i := range s {
		clear(blas.Row(p, i)[:i]) // zero but for the sign
	}
	return p, true
}

// isUpper reports whether the square a is an upper triangle.
func isUpper(a blas.General) bool {
	for i := range a.Rows {
		for _, v := range blas.Row(a, i)[:min(i, a.Cols)] {
			if v != 0 {
				return false
			}
		}
	}
	return a.Rows == a.Cols
}

func checkNystrom(m *Map) error {
	l, p := m.Landmarks, m.Projection
	switch {
	case l == nil || p == nil:
		return fmt.Errorf("%w: a Nyström map without landmarks", ErrNoFeatures)
	case l.Cols != m.Kernel.Dim() || p.Rows != l.Rows || p.Cols != m.D ||
		len(l.Data) != l.Rows*l.Cols || len(p.Data) != p.Rows*p.Cols:
		return fmt.Errorf("%w: landmarks %d×%d and projection %d×%d do not fit a map to %d features",
			ErrNoFeatures, l.Rows, l.Cols, p.Rows, p.Cols, m.D)
	}
	return nil
}

func newNystrom(m *Map) (*nystrom, error) {
	l, p, be := m.Landmarks.general(), m.Projection.general(), blas.Or(m.Backend)
	near, err := kernel.Dictionary{onOwnColumns(m.Kernel)}.Crossing([]float64{1}, l, be)
	return &nystrom{be, near, l, p, isUpper(p)}, err
}

func (n *nystrom) transform(dst, x blas.General) error {
	k := blas.NewGeneral(x.Rows, n.landmarks.Rows)
	if err := n.near.Sum(k, x); err != nil {
		return err
	}
	n.project(dst, k)
	return nil
}

// project computes dst = k·P, without most of the zeros of a triangle.
func (n *nystrom) project(dst, k blas.General) {
	D := n.projection.Cols
	if !n.triangular {
		blas.Mul(n.be, dst, false, false, k, n.projection)
		return
	}
	const strip = 256
	for lo := 0; lo < D; lo += strip {
		hi := min(lo+strip, D)
		blas.Mul(n.be, blas.View(dst, 0, lo, dst.Rows, hi-lo), false, false,
			blas.View(k, 0, 0, k.Rows, hi), blas.View(n.projection, 0, lo, hi, hi-lo))
	}
}

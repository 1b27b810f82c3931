// This file holds coordinates of the output kernels of a sum, and the solver atoms, which moves them in few coordinates.

package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
)

// chart is coordinates of output kernels: the elements of the S_j one matrix after the
// other, where L_j = V_jS_jV_jᵀ for orthonormal columns of V_j, or L_j = S_j.
type chart struct {
	*sumFit
	V   []blas.General // nil: the identity
	idx []int          // kernels that are measured and take part; the others stay 0
}

// order is that of S_j.
func (c *chart) order(j int) int {
	if c.V == nil {
		return c.t.n
	}
	return c.V[j].Cols
}

// blocks are the matrices of a vector.
func (c *chart) blocks(z []float64) []blas.General {
	S := make([]blas.General, c.t.m)
	for j := range S {
		k := c.order(j)
		S[j] = blas.General{Rows: k, Cols: k, Stride: max(k, 1), Data: z[:k*k]}
		z = z[k*k:]
	}
	return S
}

// size is the number of coordinates.
func (c *chart) size() (N int) {
	for j := range c.t.m {
		N += c.order(j) * c.order(j)
	}
	return N
}

// model is an empty model of h. The metric of [quasiNewton] is for whole output kernels.
func (c *chart) model() *quasiNewton {
	if c.V == nil {
		return &quasiNewton{be: c.t.be, n: c.t.n, count: c.t.m}
	}
	return &quasiNewton{be: c.t.be, m: c.size()}
}

// within writes V_jᵀAV_j.
func (c *chart) within(dst, A blas.General, j int) {
	if c.V != nil && dst.Rows > 0 {
		A = within(c.t.be, c.V[j], A)
	}
	blas.Copy(dst, A)
}

// at is the coordinates of a measured point and the gradient of h there.
func (c *chart) at(pt *sumPoint) (z, g []float64) {
	z, g = make([]float64, c.size()), make([]float64, c.size())
	S, G, L := c.blocks(z), c.blocks(g), blas.NewGeneral(c.t.n, c.t.n)
	for j := range pt.L {
		if pt.L[j].Rank() > 0 {
			pt.L[j].Dense(c.t.be, L)
			c.within(S[j], L, j)
		}
		if pt.G[j].Data != nil && c.order(j) > 0 {
			c.within(G[j], pt.G[j], j)
			blas.Scal(-c.t.lambda, G[j].Data)
		}
	}
	return z, g
}

// gap is the relative gap of pt among the points of the chart, for which the largest
// eigenvalues of V_jᵀG_jV_j take the place of those of G_j.
func (c *chart) gap(pt *sumPoint) (float64, error) {
	if c.V == nil {
		return pt.relative(), nil
	}
	top := make([]float64, c.t.m)
	for j, V := range c.V {
		if V.Cols > 0 {
			M := blas.NewGeneral(V.Cols, V.Cols)
			c.within(M, pt.G[j], j)
			_, w, err := c.eigen(M)
			if err != nil {
				return 0, err
			}
			top[j] = math.Max(0, w[V.Cols-1])
		}
	}
	inside := *pt
	inside.gap = c.t.gap(pt.objective, c.t.lambda*c.bound(pt.yc, pt.cc, c.norm.Conjugate(top)), c.s.rounding(pt.fit))
	return inside.relative(), nil
}

// choose sets idx, from a certified point, to the kernels of positive weight and those along
// whose leading eigenvector h falls; of kernels without weight only those that were measured
// count. For q > 1 h falls along every kernel.
func (c *chart) choose(pt *sumPoint) {
	before := c.idx
	c.idx = nil
	for j, L := range pt.L {
		switch {
		case c.V != nil && c.V[j].Cols == 0:
		case c.V != nil, c.norm.P > 1, L.Rank() > 0,
			c.t.tau*pt.top[j] > pt.form && (pt.complete || slices.Contains(before, j)):
			c.idx = append(c.idx, j)
		}
	}
}

// slope is that of a [feasible] set.
func (c *chart) slope(grad, dir, z []float64) float64 {
	s := blas.Dot(grad, dir)
	if c.norm.P == 1 {
		var change, size float64
		D, Z := c.blocks(dir), c.blocks(z)
		for _, j := range c.idx {
			change += trace(D[j])
			size += trace(Z[j])
		}
		s += conserved(change, size, -blas.Dot(grad, z))
	}
	return s
}

// project is that of a [feasible] set, {S_j ⪰ 0, ‖(tr S_j)/τ‖_q ≤ 1}: the eigenvectors
// stay, and all eigenvalues are projected together.
func (c *chart) project(z []float64) ([]*linop.Spectral, error) {
	t, S := c.t, c.blocks(z)
	L := make([]*linop.Spectral, t.m)
	V, w, fail := make([]blas.General, len(c.idx)), make([][]float64, len(c.idx)), make([]error, len(c.idx))
	par.For(len(c.idx), func(k int) { V[k], w[k], fail[k] = c.eigen(S[c.idx[k]]) })
	for k := range w {
		if fail[k] != nil {
			return nil, fail[k]
		}
		blas.Scal(1/t.tau, w[k])
		clipBelow(w[k])
	}
	projectTraces(w, c.norm.q())
	for j := range L {
		L[j] = &linop.Spectral{V: blas.NewGeneral(t.n, 0)}
	}
	par.For(len(c.idx), func(k int) {
		j := c.idx[k]
		blas.Scal(t.tau, w[k])
		L[j] = leading(V[k], w[k])
		L[j].Dense(t.be, S[j])
		if c.V != nil {
			U := L[j].V
			L[j].V = blas.NewGeneral(t.n, U.Cols)
			if U.Cols > 0 {
				blas.Mul(t.be, L[j].V, false, false, c.V[j], U)
			}
		}
	})
	return L, nil
}

// atoms is the method of that name, a fully corrective Frank–Wolfe: the L_j go to their
// optimum within the span of their present eigenvectors and of the leading ones of the
// G_j, along which h falls fastest, a few at a time.
func (f *sumFit) atoms(ctx context.Context, pt *sumPoint, goal float64) error {
	for {
		c, err := f.facesAt(pt)
		if err != nil {
			return err
		}
		before := f.iter
		next, err := f.descend(ctx, c, pt, max(goal/2, atomsFall*pt.relative()))
		if err != nil || next.complete && next.relative() <= goal || f.spent() || f.iter == before {
			return err
		}
		pt = next
		if err := f.covered(ctx, pt); err != nil {
			return err
		}
	}
}

// facesAt is the chart of the next round from the certified pt.
func (f *sumFit) facesAt(pt *sumPoint) (*chart, error) {
	t := f.t
	c := &chart{sumFit: f}
	for j, L := range pt.L {
		V := L.V
		if t.tau*pt.top[j] > pt.form || f.norm.P > 1 {
			W, g, err := f.eigen(pt.G[j])
			if err != nil {
				return nil, err
			}
			k := 0
			for k < min(atomsMost, t.n) && (f.norm.P > 1 || t.tau*g[t.n-1-k] > pt.form) {
				k++
			}
			if V = blas.SideBySide(V, blas.View(W, 0, t.n-k, t.n, k)); V.Cols > t.n {
				V = blas.Clone(W)
			}
			t.be.QR(V, blas.General{})
		}
		c.V = append(c.V, V)
	}
	return c, nil
}

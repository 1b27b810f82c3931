// This file holds coordinates of the output kernels of a sum, and the solver atoms, which moves
// them in few coordinates.

package bcd

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/quasinewton"
)

// faces is the [chart] of the output kernels of a sum: the elements of the S_j one matrix after the
// other, where L_j = V_jS_jV_jᵀ for orthonormal columns of V_j, or L_j = S_j.
type faces struct {
	*sumModel
	V   []blas.General // nil: the identity
	idx []int          // kernels that are measured and take part; the others stay 0
}

// order is that of S_j.
func (c *faces) order(j int) int {
	if c.V == nil {
		return c.t.n
	}
	return c.V[j].Cols
}

// blocks are the matrices of a vector.
func (c *faces) blocks(z []float64) []blas.General {
	S := make([]blas.General, c.t.m)
	for j := range S {
		k := c.order(j)
		S[j] = blas.General{Rows: k, Cols: k, Stride: max(k, 1), Data: z[:k*k]}
		z = z[k*k:]
	}
	return S
}

// size is the number of coordinates.
func (c *faces) size() (N int) {
	for j := range c.t.m {
		N += c.order(j) * c.order(j)
	}
	return N
}

// model is an empty model of h. The metric of [quasinewton.Model] is for whole output kernels.
func (c *faces) model() *quasinewton.Model {
	if c.V == nil {
		return &quasinewton.Model{Backend: c.t.be, Order: c.t.n, Count: c.t.m}
	}
	return &quasinewton.Model{Backend: c.t.be, Weights: c.size()}
}

// within writes V_jᵀAV_j.
func (c *faces) within(dst, A blas.General, j int) {
	if c.V != nil && dst.Rows > 0 {
		A = within(c.t.be, c.V[j], A)
	}
	blas.Copy(dst, A)
}

// at is the coordinates of a measured point and the gradient of h there.
func (c *faces) at(pt *point) (z, g []float64) {
	z, g = make([]float64, c.size()), make([]float64, c.size())
	S, G, L := c.blocks(z), c.blocks(g), blas.NewGeneral(c.t.n, c.t.n)
	for j := range pt.Ls {
		if pt.Ls[j].Rank() > 0 {
			pt.Ls[j].Dense(c.t.be, L)
			c.within(S[j], L, j)
		}
		if pt.Gs[j].Data != nil && c.order(j) > 0 {
			c.within(G[j], pt.Gs[j], j)
			blas.Scal(-c.t.lambda, G[j].Data)
		}
	}
	return z, g
}

// gap is the relative gap of pt among the points of the chart, for which the largest
// eigenvalues of V_jᵀG_jV_j take the place of those of G_j.
func (c *faces) gap(pt *point) (float64, error) {
	if c.V == nil {
		return pt.cert.relative(), nil
	}
	top := make([]float64, c.t.m)
	for j, V := range c.V {
		if V.Cols > 0 {
			M := blas.NewGeneral(V.Cols, V.Cols)
			c.within(M, pt.Gs[j], j)
			_, w, err := c.eigen(M)
			if err != nil {
				return 0, err
			}
			top[j] = math.Max(0, w[V.Cols-1])
		}
	}
	cert := pt.cert
	low := c.t.bestMultiple(&pt.measures, c.t.tau*c.norm.Conjugate(top))
	cert.gapL = c.t.gap(cert.objective, c.t.lambda*low, c.s.rounding(pt.fit))
	return cert.relative(), nil
}

// choose sets idx, from a certified point, to the kernels of positive weight and those along
// whose leading eigenvector h falls; of kernels without weight only those that were measured
// count. For q > 1 h falls along every kernel.
func (c *faces) choose(it *iterate) {
	pt, before := it.pt, c.idx
	c.idx = nil
	for j, L := range pt.Ls {
		switch {
		case c.V != nil && c.V[j].Cols == 0:
		case c.V != nil, c.norm.P > 1, L.Rank() > 0,
			c.t.tau*pt.top[j] > pt.form && (pt.complete || slices.Contains(before, j)):
			c.idx = append(c.idx, j)
		}
	}
}

// Slope is that of a [quasinewton.Set] set.
func (c *faces) Slope(grad, dir, z []float64) float64 {
	s := blas.Dot(grad, dir)
	if c.norm.P == 1 {
		var change, size float64
		D, Z := c.blocks(dir), c.blocks(z)
		for _, j := range c.idx {
			change += blas.Trace(D[j])
			size += blas.Trace(Z[j])
		}
		s += conserved(change, size, -blas.Dot(grad, z))
	}
	return s
}

// from is the point of the output kernels L.
func (c *faces) from(pt *point, _ []float64, L []*linop.Spectral) *point { return c.next(pt, L) }

func (c *faces) taking() []int { return c.idx }

// mask clears what was not measured at both points.
func (c *faces) mask(y []float64, before, after *iterate) {
	for i, g := range before.g {
		if g == 0 || after.g[i] == 0 {
			y[i] = 0
		}
	}
}

// weigh are the diagonal of the Hessian of h in each L_j, up to a common factor,
//
//	‖K_jc_a‖²/(ρ_b + floor_b) + ‖K_jc_b‖²/(ρ_a + floor_a),   floor_b = μ/σ_b,
//
// for the columns c_b of C in the eigenvectors of L̄, along which ΣK_i⊗L_i + μI is taken to be
// σ_bρ_b + μ; see [descent.weigh]. A kernel that was not measured, and takes no part, has weights 1.
func (c *faces) weigh(pt *point) quasinewton.Weighing {
	return func(V blas.General, rho []float64) []blas.General {
		t := c.t
		mean, size := blas.Like(V), blas.Like(V)
		var weight float64
		for j, L := range pt.Ls {
			if w := L.Trace(); w > 0 && pt.Gs[j].Data != nil {
				blas.AddScaled(mean, w, pt.Gs[j])
				weight += w
			}
		}
		blas.GramOf(t.be, size, pt.X)
		seen, floor := blas.Forms(t.be, V, mean), blas.Forms(t.be, V, size)
		for b, v := range floor {
			if floor[b] = t.tau; seen[b] > 0 {
				floor[b] = t.mu*v*weight/seen[b] + leastFloor*t.tau/float64(t.n)
			}
			floor[b] += math.Max(rho[b], 0)
		}
		w, sums := make([]blas.General, t.m), make([]float64, t.m)
		par.For(t.m, func(j int) {
			w[j] = blas.NewGeneral(t.n, t.n)
			if pt.Hs[j].Data == nil {
				return
			}
			h := blas.Forms(t.be, V, pt.Hs[j])
			for a := range t.n {
				for b := range t.n {
					w[j].Data[a*t.n+b] = h[a]/floor[b] + h[b]/floor[a]
				}
			}
			sums[j] = floats.Sum(w[j].Data)
		})
		level := floats.Sum(sums) / float64(len(c.idx)*t.n*t.n)
		for j := range w {
			if pt.Hs[j].Data == nil || !positive(level) {
				copy(w[j].Data, constant(t.n*t.n, 1))
				continue
			}
			for k, v := range w[j].Data {
				w[j].Data[k] = math.Max(v/level, leastWeight)
			}
		}
		return w
	}
}

// Project is that of a [quasinewton.Set] set, {S_j ⪰ 0, ‖(tr S_j)/τ‖_q ≤ 1}: the eigenvectors
// stay, and all eigenvalues are projected together.
func (c *faces) Project(z []float64) ([]*linop.Spectral, error) {
	t, S := c.t, c.blocks(z)
	L := make([]*linop.Spectral, t.m)
	V, w, fail := make([]blas.General, len(c.idx)), make([][]float64, len(c.idx)), make([]error, len(c.idx))
	par.For(len(c.idx), func(k int) { V[k], w[k], fail[k] = c.eigen(S[c.idx[k]]) })
	for k := range w {
		if fail[k] != nil {
			return nil, fail[k]
		}
		for i, v := range w[k] {
			w[k][i] = math.Max(v*(1/t.tau), 0)
		}
	}
	c.norm.ProjectTraces(w)
	for j := range L {
		L[j] = &linop.Spectral{V: blas.NewGeneral(t.n, 0)}
	}
	par.For(len(c.idx), func(k int) {
		j := c.idx[k]
		blas.Scal(t.tau, w[k])
		L[j] = linop.Leading(V[k], w[k], 0)
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

// descend minimises from the certified pt until the gap within the chart is at most goal.
// The point it ends at is measured over all kernels.
func (f *sumModel) descend(ctx context.Context, c *faces, pt *point, goal float64) (*point, error) {
	d := &descent{fit: f.fit, chart: c, goal: goal, accepts: f.opt.Tol, q: c.model()}
	d.advance = d.search
	it := d.iterate(pt)
	c.choose(it)
	var err error
	if d.within, err = c.gap(pt); err != nil || d.arrived(pt) {
		return pt, err
	}
	if err := d.restart(it); err != nil {
		return pt, err
	}
	err = d.minimize(ctx)
	return d.cur.pt, err
}

// next is the point of the output kernels L, with the coefficients of pt as its start.
func (f *sumModel) next(pt *point, L []*linop.Spectral) *point {
	return &point{Ls: L, X: blas.Clone(pt.X), residual: 1, cert: pt.cert}
}

// atoms is the method of that name, a fully corrective Frank–Wolfe: the L_j go to their
// optimum within the span of their present eigenvectors and of the leading ones of the
// G_j, along which h falls fastest, a few at a time.
func (f *sumModel) atoms(ctx context.Context, pt *point, goal float64) error {
	for {
		c, err := f.facesAt(pt)
		if err != nil {
			return err
		}
		before := f.iter
		next, err := f.descend(ctx, c, pt, max(goal/2, atomsFall*pt.cert.relative()))
		if err != nil || next.complete && next.cert.relative() <= goal || f.spent() || f.iter == before {
			return err
		}
		pt = next
		if err := f.covered(ctx, pt); err != nil {
			return err
		}
	}
}

// facesAt is the chart of the next round from the certified pt.
func (f *sumModel) facesAt(pt *point) (*faces, error) {
	t := f.t
	c := &faces{sumModel: f}
	for j, L := range pt.Ls {
		V := L.V
		if t.tau*pt.top[j] > pt.form || f.norm.P > 1 {
			W, g, err := f.eigen(pt.Gs[j])
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

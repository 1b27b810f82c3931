package bcd

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd/internal/interior"
	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
)

// faces is the [chart] of the output kernels of a sum.
type faces struct {
	*sumModel
	q   *quasinewton.Model
	idx []int // kernels that are measured and take part; the others stay 0
}

// choose sets idx, from a certified point, to the kernels of positive weight and those along
// whose leading eigenvector h falls; of kernels without weight only those that were measured
// count. For q > 1 h falls along every kernel.
func (c *faces) choose(it *iterate) {
	pt, before := it.pt, c.idx
	c.idx = nil
	for j, L := range pt.Ls {
		if c.norm.P > 1 || L.Rank() > 0 ||
			c.t.tau*pt.top[j] > pt.form && (pt.complete || slices.Contains(before, j)) {
			c.idx = append(c.idx, j)
		}
	}
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
// σ_bρ_b + μ; see [blocks.weigh]. A kernel that was not measured, and takes no part, has weights 1.
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
			floor[b] = t.floor(seen[b], v*weight) + math.Max(rho[b], 0)
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
				copy(w[j].Data, slices.Repeat([]float64{1}, t.n*t.n))
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
	t, S := c.t, c.q.Kernels(z)
	L := make([]*linop.Spectral, t.m)
	V, w, fail := make([]blas.General, len(c.idx)), make([][]float64, len(c.idx)), make([]error, len(c.idx))
	par.For(len(c.idx), func(k int) { V[k], w[k], fail[k] = t.eigen(S[c.idx[k]]) })
	if err := cmp.Or(fail...); err != nil {
		return nil, err
	}
	for k := range w {
		for i, v := range w[k] {
			w[k][i] = math.Max(v*(1/t.tau), 0)
		}
	}
	c.norm.ProjectTraces(w)
	for j := range L {
		if L[j] = (&linop.Spectral{V: blas.NewGeneral(t.n, 0)}); !slices.Contains(c.idx, j) {
			blas.Zero(S[j])
		}
	}
	par.For(len(c.idx), func(k int) {
		j := c.idx[k]
		blas.Scal(t.tau, w[k])
		L[j] = linop.Leading(V[k], w[k], 0)
		L[j].Dense(t.be, S[j])
	})
	return L, nil
}

// quasiNewton minimises from the certified pt until the gap is at most the goal, or no step makes progress, and returns
// where it ends.
func (f *sumModel) quasiNewton(ctx context.Context, pt *point, goal float64) (*point, error) {
	c := &faces{sumModel: f, q: &quasinewton.Model{Backend: f.t.be, Order: f.t.n, Count: f.t.m}}
	d := &descent{fit: f.fit, chart: c, goal: goal, q: c.q}
	d.advance = d.search
	it := d.iterate(pt)
	c.choose(it)
	if err := d.restart(it); err != nil {
		return pt, err
	}
	err := d.minimize(ctx)
	return d.cur.pt, err
}

// next is the point of the output kernels L, with the coefficients of pt as its start.
func (f *sumModel) next(pt *point, L []*linop.Spectral) *point {
	return &point{Ls: L, X: blas.Clone(pt.X), residual: 1, cert: pt.cert}
}

// closedForms takes steps of [sumModel.closedLs] from pt, the first from L_j that all have full
// rank, until one lowers the objective by less than sumDrop. They bring L_j that are multiples of
// one matrix near the optimum in a few C steps, at a distance where h is far from quadratic.
func (f *sumModel) closedForms(ctx context.Context, pt *point, goal float64) (*point, error) {
	for mix := sumMix; !f.ends(pt, goal); mix = 0 {
		L, err := f.closedLs(pt, mix)
		if err != nil {
			return pt, err
		}
		f.iter++
		next := f.next(pt, L)
		if err := f.evaluate(ctx, next, f.tolFor(pt, f.share, goal), goal); err != nil {
			return pt, err
		}
		fall := pt.cert.objective - next.cert.objective
		if fall > 0 {
			pt = next
		}
		if !(fall > sumDrop*pt.cert.objective) {
			break
		}
	}
	return pt, nil
}

// closedLs are the next output kernels at the f_j = K_jCL_j of pt: with A_j = L_jG_jL_j and s_j = tr A_j^{1/2}
//
//	L_j ← t_j·A_j^{1/2}/s_j,   t_j ∝ s_j^{2/(q+1)},
//
// which minimises Σ_j tr(L_j⁻¹A_j) = Σ_j ‖f_j‖². With (L_j^{1/2p}·G_j·L_j^{1/2p})^p in the place of
// the root, p = sumPower
// rather than 1/2, the steps are longer. They go from (1 − mix)·L_j + mix·τ/(mn)·I.
func (f *sumModel) closedLs(pt *point, mix float64) ([]*linop.Spectral, error) {
	t := f.t
	next, traces, sums := make([]*linop.Spectral, t.m), make([]float64, t.m), make([]float64, t.m)
	for j, L := range pt.Ls {
		if mix > 0 {
			D := blas.NewGeneral(t.n, t.n)
			L.Dense(t.be, D)
			blas.Scal(1-mix, D.Data)
			for i := range t.n {
				D.Data[i*t.n+i] += mix * t.tau / float64(t.m*t.n)
			}
			var err error
			if L, err = linop.NewSpectral(t.be, D, eigenDrop); err != nil {
				return nil, err
			}
		}
		next[j] = L
		if L.Rank() == 0 {
			continue
		}
		var err error
		if next[j], err = powerOf(t.be, L, within(t.be, L.V, pt.Gs[j]), sumPower); err != nil {
			return nil, err
		}
		sums[j] = next[j].Trace()
		traces[j] = math.Pow(sums[j], 2/(f.norm.Q()+1))
	}
	size := f.norm.Norm(traces)
	for j, L := range next {
		if sums[j] > 0 {
			blas.Scal(t.tau*traces[j]/size/sums[j], L.S)
		}
	}
	return next, nil
}

// innerProblem is the problem as an interior point method takes it.
func (f *sumModel) innerProblem() *interior.SumProblem {
	return &interior.SumProblem{
		Backend: f.t.be, Tau: f.t.tau, Mu: f.t.mu, Norm: f.norm, K: f.K, Cells: f.s.cells, Y: f.s.B,
	}
}

// inside takes steps of [interior.Sum] from pt until the relative gap is at most the tolerance, and extraSteps at most
// to go beyond. Where memory does not suffice it takes none.
func (f *sumModel) inside(ctx context.Context, pt *point) error {
	p := f.innerProblem()
	if _, floats := p.Work(); memory.Check("bcd: a factor for the observed cells", 8*floats, "") != nil {
		return nil
	}
	var at *point
	p.Measure = func(ctx context.Context, q *interior.SumPoint) (float64, error) {
		at = &point{Ls: q.L, X: q.X}
		err := f.measure(ctx, at, f.t.all)
		q.G = at.Gs
		return (at.cert.objective - f.low) / f.t.lambda, err
	}
	d, err := interior.NewSum(ctx, p, pt.Ls, pt.cert.gapL/f.t.lambda)
	if err != nil || d == nil {
		return err
	}
	count := func() {
		f.cost.solver, f.cost.solves, f.cost.columns = "cholesky", f.cost.solves+d.Solves, f.cost.columns+d.Columns
		d.Solves, d.Columns = 0, 0
	}
	defer count()
	extra := 0
	for range interiorSteps {
		var lowered bool
		phase.Do(ctx, phase.LStep, func(ctx context.Context) { lowered, err = d.Step(ctx) })
		if err != nil || !lowered {
			return err
		}
		f.iter++
		next, err := f.cut(ctx, d, at)
		if err != nil {
			return err
		}
		count()
		if err := f.accept(next, f.opt.Tol); err != nil || f.spent() {
			return err
		}
		if f.ends(next, f.opt.Tol) {
			extra++
		}
		if extra > 0 && (extra > extraSteps || next.cert.relative() <= extraGoal*f.opt.Tol) {
			return nil
		}
	}
	return nil
}

// cut is the certified point without the eigenvalues of the L_j that the barrier alone keeps from 0, or with them where
// the gap would rise above the tolerance.
func (f *sumModel) cut(ctx context.Context, d *interior.Sum, whole *point) (*point, error) {
	if err := f.certify(ctx, whole); err != nil {
		return nil, err
	}
	if whole.cert.relative() > f.opt.Tol { // the bound at C moves by much where the objective hardly does
		if err := f.cover(ctx, &point{Ls: whole.Ls, X: d.Tangent}); err != nil {
			return nil, err
		}
		whole.cert.gapL = math.Min(whole.cert.gapL, math.Abs(whole.cert.objective-f.low))
	}
	p, err := d.Output(ctx)
	if err != nil || p == nil {
		return whole, err
	}
	pt := &point{Ls: p.L, X: p.X}
	if err := f.cover(ctx, pt); err != nil {
		return nil, err
	}
	if pt.cert.relative() > f.opt.Tol && pt.cert.gapL > whole.cert.gapL {
		return whole, nil
	}
	return pt, nil
}

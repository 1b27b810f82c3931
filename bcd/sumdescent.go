// This file is the quasi-Newton descent over the output kernels of a sum.

package bcd

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// sumDescent is the projected quasi-Newton method of [reduced] on a chart.
type sumDescent struct {
	*sumFit
	*chart
	record
	goal  float64
	rel   float64 // relative gap within the chart
	cur   *sumIterate
	q     *quasiNewton
	since int // iterations since all kernels were measured
}

// sumIterate is a measured point in coordinates, with the gradient there.
type sumIterate struct {
	pt   *sumPoint
	z, g []float64
}

// descend minimises from the certified pt until the gap within the chart is at most goal.
// The point it ends at is measured over all kernels.
func (f *sumFit) descend(ctx context.Context, c *chart, pt *sumPoint, goal float64) (*sumPoint, error) {
	d := &sumDescent{sumFit: f, chart: c, goal: goal, q: c.model()}
	c.choose(pt)
	if err := d.restart(d.iterate(pt)); err != nil {
		return pt, err
	}
	var err error
	if d.rel, err = d.gap(pt); err != nil {
		return pt, err
	}
	for !f.spent() && !(d.rel <= goal && d.cur.pt.complete) {
		next, err := d.search(ctx)
		if err != nil {
			return d.cur.pt, err
		}
		if next == nil || d.stalled >= patience {
			d.stalled = 0
			if next, err = d.sharpen(ctx); err != nil || next == nil {
				return d.cur.pt, err
			}
		}
		f.iter++
		if err := d.check(ctx, next); err != nil {
			return d.cur.pt, err
		}
		if next != d.cur {
			if err := d.learn(next); err != nil {
				return d.cur.pt, err
			}
			d.cur = next
		}
	}
	return d.cur.pt, nil
}

func (d *sumDescent) iterate(pt *sumPoint) *sumIterate {
	z, g := d.at(pt)
	return &sumIterate{pt, z, g}
}

// restart empties the model at it, with a step of about half its size.
func (d *sumDescent) restart(it *sumIterate) error {
	d.cur = it
	d.start(it.pt.objective)
	return d.q.begin(it.z, it.g, d.weigh(it.pt))
}

// weigh are the diagonal of the Hessian of h in each L_j, up to a common factor,
//
//	‖K_jc_a‖²/(ρ_b + floor_b) + ‖K_jc_b‖²/(ρ_a + floor_a),   floor_b = μ/σ_b,
//
// for the columns c_b of C in the eigenvectors of L̄, along which ΣK_i⊗L_i + μI is taken to be
// σ_bρ_b + μ; see [descent.weigh]. A kernel that was not measured, and takes no part, has weights 1.
func (d *sumDescent) weigh(pt *sumPoint) weighing {
	return func(V blas.General, rho []float64) []blas.General {
		t := d.t
		mean, size := cloneLike(V), cloneLike(V)
		var weight float64
		for j, L := range pt.L {
			if w := L.Trace(); w > 0 && pt.G[j].Data != nil {
				blas.AddScaled(mean, w, pt.G[j])
				weight += w
			}
		}
		blas.GramOf(t.be, size, pt.C)
		seen, floor := forms(t.be, V, mean), forms(t.be, V, size)
		for b, v := range floor {
			if floor[b] = t.tau; seen[b] > 0 {
				floor[b] = t.mu*v*weight/seen[b] + leastFloor*t.tau/float64(t.n)
			}
			floor[b] += math.Max(rho[b], 0)
		}
		w, sums := make([]blas.General, t.m), make([]float64, t.m)
		par.For(t.m, func(j int) {
			w[j] = blas.NewGeneral(t.n, t.n)
			if pt.H[j].Data == nil {
				return
			}
			h := forms(t.be, V, pt.H[j])
			for a := range t.n {
				for b := range t.n {
					w[j].Data[a*t.n+b] = h[a]/floor[b] + h[b]/floor[a]
				}
			}
			sums[j] = floats.Sum(w[j].Data)
		})
		level := floats.Sum(sums) / float64(len(d.idx)*t.n*t.n)
		for j := range w {
			if pt.H[j].Data == nil || !positive(level) {
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

// search moves from cur towards the minimiser of the model, far enough back for the
// objective to fall. It returns nil when no step does.
func (d *sumDescent) search(ctx context.Context) (*sumIterate, error) {
	var (
		target   []float64
		L        []*linop.Spectral
		decrease float64
		err      error
		cur      = d.cur
	)
	if d.V == nil {
		d.q.tol = math.Min(sumModelTol, d.rel)
	}
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		target, L, decrease, err = d.q.minimize(ctx, d.chart, cur.z, cur.g, cur.pt.L)
	})
	if err != nil {
		return nil, err
	}
	dir := slices.Clone(target)
	blas.Axpy(-1, cur.z, dir)
	slope := math.Min(d.slope(cur.g, dir, cur.z), 0)
	ref, tol := d.highest(), d.tol(cur.pt, d.goal)
	if d.opt.InnerTol == 0 {
		tol = forDecrease(tol, decrease, d.inexactness(cur.pt), cur.pt.residual)
	}
	for step, try := 1.0, 0; try < backtracks; try++ {
		pt, err := d.try(ctx, L, tol)
		if err != nil {
			return nil, err
		}
		if pt.objective <= ref+armijo*step*slope+d.noise(pt) {
			return d.iterate(pt), nil
		}
		if step = shortened(step, slope, pt.objective-cur.pt.objective); -slope*step <= d.noise(pt) {
			return nil, nil
		}
		copy(target, cur.z)
		blas.Axpy(step, dir, target)
		if L, err = d.project(target); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// try performs and measures the C step at L.
func (d *sumDescent) try(ctx context.Context, L []*linop.Spectral, tol float64) (*sumPoint, error) {
	pt := &sumPoint{L: L, C: blas.Clone(d.cur.pt.C), gap: d.cur.pt.gap}
	if err := d.solve(ctx, pt, tol); err != nil {
		return nil, err
	}
	return pt, d.measure(ctx, pt, d.idx)
}

// sharpen repeats the C step at cur more exactly, after which the model starts anew. It
// returns nil when that has been done to the limit.
func (d *sumDescent) sharpen(ctx context.Context) (*sumIterate, error) {
	if d.share < sharpest || d.opt.InnerTol > 0 {
		return nil, nil
	}
	d.share /= 10
	pt, err := d.try(ctx, d.cur.pt.L, d.tol(d.cur.pt, d.goal))
	if err != nil {
		return nil, err
	}
	if err := d.certify(pt, d.idx); err != nil {
		return nil, err
	}
	it := d.iterate(pt)
	return it, d.restart(it)
}

// check certifies next, after measuring all kernels when those of idx meet the goal or
// a check is due, and lets kernels enter or leave.
func (d *sumDescent) check(ctx context.Context, next *sumIterate) error {
	pt := next.pt
	if err := d.certifyPoint(ctx, pt); err != nil {
		return err
	}
	if d.since++; !pt.complete && (d.rel <= d.goal || d.since >= checkEvery) {
		if err := d.measure(ctx, pt, d.t.all); err != nil {
			return err
		}
		if err := d.certifyPoint(ctx, pt); err != nil {
			return err
		}
		next.z, next.g = d.at(pt)
	}
	if pt.complete {
		d.since = 0
	}
	d.choose(pt)
	d.count(pt.objective, d.rel, d.noise(pt))
	return d.accept(pt, d.opt.Tol)
}

func (d *sumDescent) certifyPoint(ctx context.Context, pt *sumPoint) (err error) {
	idx := d.idx
	if pt.complete {
		idx = d.t.all
	}
	phase.Do(ctx, phase.Certificate, func(context.Context) { err = d.certify(pt, idx) })
	if err == nil {
		d.rel, err = d.gap(pt)
	}
	return err
}

// learn shows the move from cur to next to the model.
func (d *sumDescent) learn(next *sumIterate) error {
	s, y := slices.Clone(next.z), slices.Clone(next.g)
	blas.Axpy(-1, d.cur.z, s)
	blas.Axpy(-1, d.cur.g, y)
	for i, g := range d.cur.g {
		if g == 0 || next.g[i] == 0 { // not measured at both
			y[i] = 0
		}
	}
	d.add(next.pt.objective)
	return d.q.update(s, y, next.z, d.weigh(next.pt))
}

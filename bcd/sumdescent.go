package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
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
	return d.q.begin(it.z, it.g, d.floors(it.pt))
}

// floors are those of [descent.floors] for the mean of the kernels, with one number
// for all directions.
func (d *sumDescent) floors(pt *sumPoint) func(blas.General) []float64 {
	var seen, weight float64
	for j, L := range pt.L {
		if w := L.Trace(); w > 0 && pt.G[j].Data != nil {
			seen += w * trace(pt.G[j])
			weight += w
		}
	}
	floor := d.t.tau
	if seen > 0 {
		floor = d.t.mu*pt.cc*weight/seen + leastFloor*d.t.tau/float64(d.t.n)
	}
	return func(blas.General) []float64 { return constant(d.t.n, floor) }
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
	return d.q.update(s, y, next.z, d.floors(next.pt))
}

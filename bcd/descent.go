package bcd

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// descent is a projected quasi-Newton method (Schmidt, van den Berg, Friedlander and Murphy, 2009) for h as a function
// of the coordinates of a chart. Its model is minimised over the feasible set by projected spectral gradients:
// projections let weights and eigenvalues leave the boundary as easily as they reach it.
type descent struct {
	*fit
	chart
	goal    float64 // relative gap to reach
	further int     // iterations after the goal is met, for a gap of extraGoal·goal
	cur     *iterate
	q       *quasinewton.Model
	since   int       // iterations since all kernels were measured
	history []float64 // recent objectives, for the non-monotone test
	lowest  float64   // relative gap so far
	stalled int       // iterations since it fell, the objective moving by noise only
	left    float64   // relative gap when the descent last began afresh
	// afresh begins another round where none of the steps of one lowers the objective, nil for none: it goes on as long
	// as rounds lower the gap.
	afresh func() error
	// advance is the next point, nil where no step lowers the objective.
	advance func(context.Context) (*iterate, error)
}

// chart is coordinates of the points of a model.
type chart interface {
	// Project is that of a [quasinewton.Set].
	Project(z []float64) ([]*linop.Spectral, error)
	// from is the point at z, whose output kernels are L, with the coefficients of pt as its start.
	from(pt *point, z []float64, L []*linop.Spectral) *point
	// weigh tells the metric of the model at pt.
	weigh(pt *point) quasinewton.Weighing
	// taking are the kernels that are measured and take part, and choose chooses them at a certified point.
	taking() []int
	choose(it *iterate)
	// mask clears changes y of the gradient between two points that not both tell.
	mask(y []float64, before, after *iterate)
}

// iterate is a measured point in coordinates, with the gradient of h there.
type iterate struct {
	pt   *point
	z, g []float64
}

func (d *descent) iterate(pt *point) *iterate {
	z, g := d.coordinates(pt)
	return &iterate{pt, z, g}
}

// coordinates are z = (η, vec L_1 … vec L_k) of a measured point, without what q leaves out, and the gradient of h
// there.
func (d *descent) coordinates(pt *point) (z, g []float64) {
	t, q := d.t, d.q
	size := q.Weights + len(pt.kernels())*q.Order*q.Order
	z, g = make([]float64, size), make([]float64, size)
	if q.Weights > 0 {
		copy(z, pt.eta)
		t.reg.Gradient(g[:q.Weights], pt.eta)
		for j, c := range pt.c {
			g[j] = t.lambda * (g[j] - c)
		}
	}
	if q.Order == 0 {
		return z, g
	}
	G := pt.Gs
	if pt.Ls == nil {
		G = []blas.General{pt.G}
	}
	L, slopes := q.Kernels(z), q.Kernels(g)
	for j, S := range pt.kernels() {
		S.Dense(t.be, L[j])
		if G[j].Data != nil {
			blas.AddScaled(slopes[j], -t.lambda, G[j])
		}
	}
	return z, g
}

// Slope is ⟨grad, dir⟩. Near the optimum grad is almost −γ·I on L, and dir keeps
// the trace: what rounding leaves of tr(dir), times γ, would drown the rest, so
// it is taken out; likewise for the traces of a sum, or weights, on the simplex.
func (d *descent) Slope(grad, dir, z []float64) float64 {
	s, w := blas.Dot(grad, dir), d.q.Weights
	lp, _ := d.t.reg.(regularizer.Lp)
	if w > 0 && lp.P == 1 {
		s += conserved(floats.Sum(dir[:w]), floats.Sum(z[:w]), -blas.Dot(grad[:w], z[:w]))
	}
	if d.q.Order > 0 && (d.q.Count == 0 || lp.P == 1) {
		var change, size float64
		D, L := d.q.Kernels(dir), d.q.Kernels(z)
		for j := range D {
			change += blas.Trace(D[j])
			size += blas.Trace(L[j])
		}
		s += conserved(change, size, -blas.Dot(grad[w:], z[w:]))
	}
	return s
}

// conserved is γ·change with γ = total/size when the change of a sum of the given
// size is of rounding level, else 0.
func conserved(change, size, total float64) float64 {
	if math.Abs(change) <= 0x1p-42*size {
		return total / size * change
	}
	return 0
}

// minimize iterates until the certificate meets the goal, or no step lowers the objective at the sharpest accuracy.
func (d *descent) minimize(ctx context.Context) error {
	d.left = 2 * d.cur.pt.cert.relative()
	for met := 0; !d.spent(); {
		next, err := d.advance(ctx)
		if err != nil {
			return err
		}
		if next == nil || d.stalled >= patience { // no descent at this accuracy
			d.stalled = 0
			if next, err = d.sharpen(ctx); err != nil {
				return err
			}
			if next == nil {
				if d.afresh == nil || !(d.lowest <= roundGap*d.left) {
					return nil
				}
				d.left = d.lowest
				if err := d.afresh(); err != nil {
					return err
				}
				continue
			}
		}
		d.iter++
		if err := d.check(ctx, next); err != nil {
			return err
		}
		if next != d.cur {
			if err := d.learn(next); err != nil {
				return err
			}
			d.cur = next
		}
		if met > 0 || next.pt.arrived(d.goal) {
			met++
		}
		if met > d.further || met > 0 && next.pt.cert.relative() <= extraGoal*d.goal {
			return nil
		}
	}
	return nil
}

// restart empties the model at it, with a step of about half its size.
func (d *descent) restart(it *iterate) error {
	d.cur = it
	d.history = append(d.history[:0], it.pt.cert.objective)
	return d.q.Begin(it.z, it.g, d.weigh(it.pt))
}

// search moves from cur towards the minimiser of the model, far enough back for
// the objective to fall. It returns nil when no step does.
func (d *descent) search(ctx context.Context) (*iterate, error) {
	var (
		target   []float64
		L        []*linop.Spectral
		decrease float64
		err      error
		cur      = d.cur
	)
	if d.q.Count > 0 {
		d.q.Tol = math.Min(sumQuasiTol, cur.pt.cert.relative())
	}
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		target, L, decrease, err = d.q.Minimize(ctx, d, cur.z, cur.g, cur.pt.kernels())
	})
	if err != nil {
		return nil, err
	}
	dir := floats.SubTo(make([]float64, len(target)), target, cur.z)
	slope := math.Min(d.Slope(cur.g, dir, cur.z), 0) // what is positive is rounding
	ref, tol := slices.Max(d.history), d.stepTol(decrease)
	for step, try := 1.0, 0; try < backtracks; try++ {
		pt, err := d.try(ctx, d.from(cur.pt, target, L), tol)
		if err != nil {
			return nil, err
		}
		U := pt.cert.objective
		if U <= ref+armijo*step*slope+d.t.noise(pt) {
			return d.iterate(pt), nil
		}
		if step = shortened(step, slope, U-cur.pt.cert.objective); -slope*step <= d.t.noise(pt) {
			return nil, nil
		}
		copy(target, cur.z)
		blas.Axpy(step, dir, target)
		if L, err = d.Project(target); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// tol is the relative residual of a C step from cur.
func (d *descent) tol() float64 { return d.tolFor(d.cur.pt, d.share, d.goal) }

// stepTol is the relative residual of a C step that is to lower the objective by decrease: tol, or less where the
// inexactness of that step, which is proportional to its squared residual, would exceed a tenth of decrease.
func (d *descent) stepTol(decrease float64) float64 {
	if d.opt.InnerTol > 0 {
		return d.opt.InnerTol
	}
	tol := d.tol()
	if kappa := d.t.inexactness(d.cur.pt) / square(d.cur.pt.residual); positive(kappa) && decrease > 0 {
		tol = math.Min(tol, math.Sqrt(0.1*decrease/kappa))
	}
	return math.Max(tol, innerTightest)
}

// try performs and measures the C step at pt.
func (d *descent) try(ctx context.Context, pt *point, tol float64) (*point, error) {
	if err := d.solve(ctx, pt, tol); err != nil {
		return nil, err
	}
	return pt, d.measure(ctx, pt, d.taking())
}

// sharpen repeats the C step at cur more exactly, after which the model starts
// anew. It returns nil when that has been done to the limit.
func (d *descent) sharpen(ctx context.Context) (*iterate, error) {
	if d.share < sharpest || d.opt.InnerTol > 0 {
		return nil, nil
	}
	d.share /= 10
	pt, err := d.try(ctx, d.from(d.cur.pt, d.cur.z, d.cur.pt.kernels()), d.tol())
	if err != nil {
		return nil, err
	}
	it := d.iterate(pt)
	return it, d.restart(it)
}

// check certifies next, after measuring all kernels when the active ones meet
// the goal or a check is due, and lets kernels enter or leave.
func (d *descent) check(ctx context.Context, next *iterate) error {
	pt := next.pt
	if err := d.certify(ctx, pt); err != nil {
		return err
	}
	if d.since++; !pt.complete && (pt.cert.relative() <= d.goal || d.since >= checkEvery) {
		if err := d.cover(ctx, pt); err != nil {
			return err
		}
		next.z, next.g = d.coordinates(pt)
	}
	if pt.complete {
		d.since = 0
	}
	d.choose(next)
	d.count(pt)
	return d.accept(pt, d.goal)
}

// learn shows the move from cur to next to the model.
func (d *descent) learn(next *iterate) error {
	s, y := slices.Clone(next.z), slices.Clone(next.g)
	floats.Sub(s, d.cur.z)
	floats.Sub(y, d.cur.g)
	d.mask(y, d.cur, next)
	if d.history = append(d.history, next.pt.cert.objective); len(d.history) > historyLen {
		d.history = d.history[1:]
	}
	if d.q.H.Data != nil {
		return nil
	}
	return d.q.Update(s, y, next.z, d.weigh(next.pt))
}

// count counts an iterate that neither lowers the relative gap nor moves the objective by more than noise.
func (d *descent) count(pt *point) {
	gap := pt.cert.relative()
	switch {
	case d.lowest == 0 || gap < d.lowest:
		d.lowest, d.stalled = gap, 0
	case math.Abs(pt.cert.objective-d.history[len(d.history)-1]) > d.t.noise(pt):
		d.stalled = 0
	default:
		d.stalled++
	}
}

// shortened is the next step after one along which the objective rose by rise, or fell by too little: the minimiser of
// the parabola of that slope, or half of the step where that is no use.
func shortened(step, slope, rise float64) float64 {
	shrink := -slope * step / (2 * (rise - slope*step))
	if !(shrink > 0.1 && shrink < 0.9) {
		shrink = 0.5
	}
	return step * shrink
}

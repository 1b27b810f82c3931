package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
)

// reduced minimises h(η, L) = λ⟨Y, C(η,L)⟩ + λω(η): closed forms while they make
// good progress, then a projected quasi-Newton method whose model is minimised
// over the feasible set by projected spectral gradients (Schmidt, van den Berg,
// Friedlander and Murphy, 2009). Projections let weights and eigenvalues of L
// leave the boundary as easily as they reach it.
func (r *run) reduced(ctx context.Context, pt *point) error {
	if !r.grown {
		var err error
		if pt, err = r.warmUp(ctx, pt); err != nil || r.done(pt) || r.iter >= r.opt.MaxOuter {
			return err
		}
	}
	d := &descent{run: r}
	return d.minimize(ctx, pt)
}

// warmUpDrop is the relative decrease of the objective below which closed forms give way.
const warmUpDrop = 0.03

// overRelaxation lengthens the closed-form steps of l_p weights. From equal
// weights the step ends at η_j ∝ c_j^{1/(q+1)}; were the c_j to stay as they are, the
// optimum would be at c_j^{1/(q−1)}, were they to fall as η_j⁻², at the former.
const overRelaxation = 1.3

// overRelax makes the step from old to eta, taken in the logarithms, longer.
func (r Lp) overRelax(eta, old []float64) {
	if math.IsInf(r.q(), 1) {
		return
	}
	for j, v := range eta {
		if v > 0 && old[j] > 0 {
			eta[j] *= math.Pow(v/old[j], overRelaxation-1)
		}
	}
	r.scale(eta)
}

// warmUp takes closed-form steps.
func (r *run) warmUp(ctx context.Context, pt *point) (*point, error) {
	last := math.Inf(1)
	if err := r.sketchStart(ctx, pt, r.tolFor(pt, warmUpShare)); err != nil {
		return pt, err
	}
	for ; ; r.iter++ {
		if err := r.evaluate(ctx, pt, r.tolFor(pt, warmUpShare)); err != nil {
			return pt, err
		}
		U := pt.cert.objective
		if r.done(pt) || r.iter >= r.opt.MaxOuter || !(last-U > warmUpDrop*math.Abs(U)) {
			return pt, nil
		}
		last = U
		eta, L, err := r.closedForms(pt)
		if err != nil {
			return pt, err
		}
		if lp, ok := r.reg.(Lp); ok && !r.fixEta {
			lp.overRelax(eta, pt.eta)
		}
		pt = r.step(pt, eta, L)
	}
}

// iterate is a point as one vector z = (η, vec L), blocks that are fixed left
// out, with the gradient of h there.
type iterate struct {
	pt   *point
	z, g []float64
}

// descent is the state of the quasi-Newton phase.
type descent struct {
	*run
	model   quasiNewton
	active  activeSet
	history []float64 // recent objectives, for the non-monotone test
	lowest  float64   // relative gap so far
	extra   int       // iterations since Tol was met
	stalled int       // iterations since it fell, the objective moving by noise only
	outputs outputSteps
}

const (
	historyLen = 5    // objectives that a step is compared with
	armijo     = 1e-4 // share of the predicted decrease that a step must reach
	backtracks = 25
	patience   = 12 // iterations at the level of noise without a smaller gap
)

// minimize iterates until the certificate meets Tol.
func (d *descent) minimize(ctx context.Context, pt *point) error {
	d.model = quasiNewton{be: d.be}
	if !d.fixEta {
		d.model.m = d.m
	}
	if !d.fixL {
		d.model.n = d.n
	}
	d.outputs.init(d)
	d.active.init(d.run)
	cur := d.iterate(pt)
	if err := d.restart(cur); err != nil {
		return err
	}
	for d.iter < d.opt.MaxOuter {
		next, err := d.advance(ctx, cur)
		if err != nil {
			return err
		}
		if next == nil || d.stalled >= patience { // no descent at this accuracy
			d.stalled = 0
			if next, err = d.sharpen(ctx, cur); err != nil || next == nil {
				return err
			}
		}
		d.iter++
		if err := d.settle(ctx, next); err != nil || d.finished(next.pt) {
			return err
		}
		if err := d.learn(cur, next); err != nil {
			return err
		}
		cur = next
	}
	return nil
}

// restart begins the model anew at cur, with a step of about half its size.
func (d *descent) restart(cur *iterate) error {
	q := &d.model
	q.forget()
	if err := q.center(cur.z, d.floors(cur.pt)); err != nil {
		return err
	}
	Dz := make([]float64, len(cur.z))
	q.metric(Dz, cur.z)
	q.sEta = startScale(cur.g[:q.m], Dz[:q.m])
	q.sL = startScale(cur.g[q.m:], Dz[q.m:])
	d.history = append(d.history[:0], cur.pt.cert.objective)
	return nil
}

// leastFloor keeps the metric finite, relative to the mean eigenvalue of L.
const leastFloor = 1e-8

// floors are μ/σ_b for the columns v_b of V, with σ_b = v_bᵀCᵀA_ηC·v_b/‖C·v_b‖², the
// mean of A_η that this column of C sees, or that of all columns where the space
// does not tell them apart.
func (d *descent) floors(pt *point) func(V blas.General) []float64 {
	floor := func(seen, size float64) float64 {
		if !(seen > 0) {
			return d.tau
		}
		return d.mu*size/seen + leastFloor*d.tau/float64(d.n)
	}
	return func(V blas.General) []float64 {
		_, sizes := d.space.along(&d.work, pt.X, V)
		if sizes == nil {
			return constant(d.n, floor(trace(pt.G), pt.cc))
		}
		T := cloneLike(V)
		blas.Mul(d.be, T, false, false, pt.G, V)
		floors := make([]float64, d.n)
		for b := range floors {
			for i := range d.n {
				floors[b] += V.Data[i*V.Stride+b] * T.Data[i*T.Stride+b]
			}
			floors[b] = floor(floors[b], sizes[b])
		}
		return floors
	}
}

// startScale is 2‖g‖/‖Dz‖, or ‖g‖, or 1, whichever is first positive and finite.
func startScale(g, Dz []float64) float64 {
	for _, v := range []float64{2 * blas.Nrm2(g) / blas.Nrm2(Dz), blas.Nrm2(g)} {
		if positive(v) {
			return v
		}
	}
	return 1
}

// iterate makes the vector form of a measured point.
func (d *descent) iterate(pt *point) *iterate {
	q := &d.model
	N := q.m + q.n*q.n
	it := &iterate{pt: pt, z: make([]float64, N), g: make([]float64, N)}
	copy(it.z[:q.m], pt.eta)
	if q.m > 0 {
		g := it.g[:q.m]
		d.reg.Gradient(g, pt.eta)
		for j, c := range pt.c {
			g[j] = d.lambda * (g[j] - c)
		}
	}
	if q.n > 0 {
		_, L := q.split(it.z)
		pt.L.Dense(d.be, L)
		_, G := q.split(it.g)
		blas.AddScaled(G, -d.lambda, pt.G)
	}
	return it
}

// learn shows the move from old to now to the model.
func (d *descent) learn(old, now *iterate) error {
	s, y := slices.Clone(now.z), slices.Clone(now.g)
	blas.Axpy(-1, old.z, s)
	blas.Axpy(-1, old.g, y)
	d.active.mask(y[:d.model.m])
	d.history = append(d.history, now.pt.cert.objective)
	if len(d.history) > historyLen {
		d.history = d.history[1:]
	}
	if d.model.H.Data != nil {
		return nil
	}
	return d.model.update(s, y, now.z, d.floors(now.pt))
}

// search moves from cur towards the minimiser of the model, far enough back for
// the objective to fall. It returns nil when no step does.
func (d *descent) search(ctx context.Context, cur *iterate) (*iterate, error) {
	var (
		target   []float64
		L        *linop.Spectral
		decrease float64
		err      error
	)
	phase.Do(ctx, phase.LStep, func(ctx context.Context) { target, L, decrease, err = d.minimizeModel(ctx, cur) })
	if err != nil {
		return nil, err
	}
	dir := slices.Clone(target)
	blas.Axpy(-1, cur.z, dir)
	slope := math.Min(d.slope(cur.g, dir, cur.z), 0) // what is positive is rounding
	ref := slices.Max(d.history)
	tol := d.stepTol(cur.pt, decrease)
	for step, try := 1.0, 0; try < backtracks; try++ {
		pt, err := d.trial(ctx, cur.pt, target, L, tol)
		if err != nil {
			return nil, err
		}
		U := d.objective(pt)
		if U <= ref+armijo*step*slope+d.noise(pt) {
			return d.iterate(pt), nil
		}
		shrink := -slope * step / (2 * (U - cur.pt.cert.objective - slope*step))
		if !(shrink > 0.1 && shrink < 0.9) {
			shrink = 0.5
		}
		if step *= shrink; -slope*step <= d.noise(pt) {
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

// noise is how much of an objective its inexact C, and rounding, may account for.
func (d *descent) noise(pt *point) float64 {
	return 0.5*d.inexactness(pt) + 0x1p-46*math.Abs(pt.cert.objective) + d.space.rounding(pt.fit)/float64(d.l)
}

// trial performs and measures the C step at the vector z.
func (d *descent) trial(ctx context.Context, from *point, z []float64, L *linop.Spectral, tol float64) (*point, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	eta := from.eta
	if !d.fixEta {
		eta = slices.Clone(z[:d.m])
	}
	if d.model.n == 0 {
		L = from.L
	}
	return d.try(ctx, from, eta, L, tol)
}

// try performs and measures the C step at (eta, L).
func (d *descent) try(ctx context.Context, from *point, eta []float64, L *linop.Spectral, tol float64) (*point, error) {
	pt := d.step(from, eta, L)
	if err := d.solve(ctx, pt, tol); err != nil {
		return nil, err
	}
	if err := d.measure(ctx, pt, d.active.idx); err != nil {
		return nil, err
	}
	pt.cert.objective = d.objective(pt)
	return pt, nil
}

// sharpen repeats the C step at cur more exactly, after which the model starts
// anew. It returns nil when that has been done to the limit.
func (d *descent) sharpen(ctx context.Context, cur *iterate) (*iterate, error) {
	if d.share < sharpest || d.opt.InnerTol > 0 {
		return nil, nil
	}
	d.share /= 10
	pt, err := d.trial(ctx, cur.pt, cur.z, cur.pt.L, d.innerTol(cur.pt))
	if err != nil {
		return nil, err
	}
	next := d.iterate(pt)
	return next, d.restart(next)
}

// settle certifies next, after measuring all kernels when the active ones meet
// Tol or a check is due, and lets kernels enter or leave.
func (d *descent) settle(ctx context.Context, next *iterate) error {
	pt := next.pt
	if err := d.certify(pt); err != nil {
		return err
	}
	if !pt.complete && (d.done(pt) || d.active.due()) {
		if err := d.measure(ctx, pt, d.all); err != nil {
			return err
		}
		*next = *d.iterate(pt)
	}
	d.active.choose(next, &d.model)
	d.watch(pt)
	return d.accept(ctx, pt)
}

// Once Tol is met a few more steps, which converge fast there, go for a gap of
// beyond·Tol: the function found is only as exact as the square root of the gap.
const (
	beyond     = 0.1
	extraSteps = 3
)

// finished reports whether pt ends the run.
func (d *descent) finished(pt *point) bool {
	if d.done(d.best) {
		d.extra++
	}
	return d.extra > 0 && (d.extra > extraSteps || pt.cert.relative() <= beyond*d.opt.Tol)
}

// watch counts the iterations that neither lower the gap nor move the objective by more than noise.
func (d *descent) watch(pt *point) {
	last := d.history[len(d.history)-1]
	switch gap := pt.cert.relative(); {
	case d.lowest == 0 || gap < d.lowest:
		d.lowest, d.stalled = gap, 0
	case math.Abs(pt.cert.objective-last) > d.noise(pt):
		d.stalled = 0
	default:
		d.stalled++
	}
}

// This file is the solver reduced, which minimizes over weights and output kernel with the coefficients eliminated.

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
type reduced struct {
	f      *fit
	warmed bool // closed forms have run
}

func (r *reduced) minimize(ctx context.Context, pt *point, goal float64) error {
	if !r.warmed {
		r.warmed = true
		var err error
		if pt, err = r.warmUp(ctx, pt, goal); err != nil || r.f.ends(pt, goal) {
			return err
		}
	}
	d, err := newDescent(r.f, pt, goal)
	if err != nil {
		return err
	}
	return d.minimize(ctx)
}

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
func (r *reduced) warmUp(ctx context.Context, pt *point, goal float64) (*point, error) {
	f, last := r.f, math.Inf(1)
	if err := f.sketchStart(ctx, pt, f.tolFor(pt, warmUpShare, goal)); err != nil {
		return pt, err
	}
	for ; ; f.iter++ {
		if err := f.evaluate(ctx, pt, f.tolFor(pt, warmUpShare, goal), goal); err != nil {
			return pt, err
		}
		U := pt.cert.objective
		if f.ends(pt, goal) || !(last-U > warmUpDrop*math.Abs(U)) {
			return pt, nil
		}
		last = U
		eta, L, err := f.t.closedForms(pt)
		if err != nil {
			return pt, err
		}
		if lp, ok := f.t.reg.(Lp); ok && !f.t.fixEta {
			lp.overRelax(eta, pt.eta)
		}
		pt = f.t.next(pt, eta, L)
	}
}

// iterate is a point as one vector z = (η, vec L), blocks that are fixed left
// out, with the gradient of h there.
type iterate struct {
	pt   *point
	z, g []float64
}

// descent is the quasi-Newton phase.
type descent struct {
	f      *fit
	t      *task
	goal   float64
	cur    *iterate
	model  *quasiNewton
	active activeSet
	record
	extra   int // iterations since the goal was met
	outputs outputSteps
}

// newDescent begins at a measured point.
func newDescent(f *fit, pt *point, goal float64) (*descent, error) {
	d := &descent{f: f, t: f.t, goal: goal, active: newActiveSet(f.t)}
	d.outputs = newOutputSteps(d)
	return d, d.begin(pt, !d.outputs.on)
}

// minimize iterates until the certificate meets the goal.
func (d *descent) minimize(ctx context.Context) error {
	for !d.f.spent() {
		next, err := d.advance(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			if next, err = d.oneBlock(ctx); err != nil {
				return err
			}
		}
		if next == nil || d.stalled >= patience { // no descent at this accuracy
			d.stalled = 0
			if next, err = d.sharpen(ctx); err != nil || next == nil {
				return err
			}
		}
		d.f.iter++
		if err := d.certify(ctx, next); err != nil || d.finished(next.pt) {
			return err
		}
		if err := d.learn(next); err != nil {
			return err
		}
		d.cur = next
	}
	return nil
}

// begin makes a new model at pt, of the weights, and jointly of L where that is asked for.
func (d *descent) begin(pt *point, joint bool) error {
	d.model = &quasiNewton{be: d.t.be}
	if !d.t.fixEta {
		d.model.m = d.t.m
	}
	if joint && !d.t.fixL {
		d.model.n = d.t.n
	}
	return d.restart(d.iterate(pt))
}

// restart empties the model at it, with a step of about half its size.
func (d *descent) restart(it *iterate) error {
	d.cur = it
	d.start(it.pt.cert.objective)
	return d.model.begin(it.z, it.g, d.weigh(it.pt))
}

// weigh are the weights
//
//	λ_max(L)·(1/(ρ_a + floor_b) + 1/(ρ_b + floor_a))/2.
//
// With K_η = Σ_i σ_i u_i u_iᵀ and c_ia the coefficients of C along u_i and the eigenvector a
// of L the diagonal of the Hessian is
//
//	λ·Σ_i σ_i²(c_ib²/(σ_iρ_a + μ) + c_ia²/(σ_iρ_b + μ)),
//
// here with one σ for each column b of C, floor_b = μ/σ_b; at the optimum the
// remaining factors Σ_i σ_i·c_ib² are equal in the range of L.
func (d *descent) weigh(pt *point) weighing {
	floors := d.floors(pt)
	return func(V blas.General, rho []float64) []blas.General {
		n, floor := len(rho), floors(V)
		top, w := rho[n-1], blas.NewGeneral(n, n)
		for a := range n {
			row := blas.Row(w, a)
			for b := range row {
				row[b] = 1
				if top > 0 {
					row[b] = 0.5 * top * (1/(math.Max(rho[a], 0)+floor[b]) + 1/(math.Max(rho[b], 0)+floor[a]))
				}
			}
		}
		return []blas.General{w}
	}
}

// floors are μ/σ_b for the columns v_b of V, with σ_b = v_bᵀCᵀA_ηC·v_b/‖C·v_b‖², the
// mean of A_η that this column of C sees, or that of all columns where the space
// does not tell them apart.
func (d *descent) floors(pt *point) func(V blas.General) []float64 {
	floor := func(seen, size float64) float64 {
		if !(seen > 0) {
			return d.t.tau
		}
		return d.t.mu*size/seen + leastFloor*d.t.tau/float64(d.t.n)
	}
	return func(V blas.General) []float64 {
		holder, ok := d.t.space.(targetHolder)
		if !ok {
			return constant(d.t.n, floor(trace(pt.G), pt.cc))
		}
		_, sizes := holder.along(&d.t.work, pt.X, V)
		floors := forms(d.t.be, V, pt.G)
		for b := range floors {
			floors[b] = floor(floors[b], sizes[b])
		}
		return floors
	}
}

// forms are vᵀAv for the columns v of V.
func forms(be blas.Backend, V, A blas.General) []float64 {
	T, out := cloneLike(V), make([]float64, V.Cols)
	blas.Mul(be, T, false, false, A, V)
	for b := range out {
		for i := range V.Rows {
			out[b] += V.Data[i*V.Stride+b] * T.Data[i*T.Stride+b]
		}
	}
	return out
}

// iterate makes the vector form of a measured point.
func (d *descent) iterate(pt *point) *iterate {
	q := d.model
	N := q.m + q.n*q.n
	it := &iterate{pt: pt, z: make([]float64, N), g: make([]float64, N)}
	copy(it.z[:q.m], pt.eta)
	if q.m > 0 {
		g := it.g[:q.m]
		d.t.reg.Gradient(g, pt.eta)
		for j, c := range pt.c {
			g[j] = d.t.lambda * (g[j] - c)
		}
	}
	if q.n > 0 {
		_, L := q.split(it.z)
		pt.L.Dense(d.t.be, L)
		_, G := q.split(it.g)
		blas.AddScaled(G, -d.t.lambda, pt.G)
	}
	return it
}

// learn shows the move from cur to next to the model.
func (d *descent) learn(next *iterate) error {
	s, y := slices.Clone(next.z), slices.Clone(next.g)
	blas.Axpy(-1, d.cur.z, s)
	blas.Axpy(-1, d.cur.g, y)
	d.active.mask(y[:d.model.m])
	d.add(next.pt.cert.objective)
	if d.model.H.Data != nil {
		return nil
	}
	return d.model.update(s, y, next.z, d.weigh(next.pt))
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
	phase.Do(ctx, phase.LStep, func(ctx context.Context) {
		target, L, decrease, err = d.model.minimize(ctx, d, cur.z, cur.g, []*linop.Spectral{cur.pt.L})
	})
	if err != nil {
		return nil, err
	}
	dir := slices.Clone(target)
	blas.Axpy(-1, cur.z, dir)
	slope := math.Min(d.slope(cur.g, dir, cur.z), 0) // what is positive is rounding
	ref := d.highest()
	tol := d.stepTol(decrease)
	for step, try := 1.0, 0; try < backtracks; try++ {
		pt, err := d.trial(ctx, target, append(L, cur.pt.L)[0], tol)
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
		if L, err = d.project(target); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// tol is the relative residual of a C step from cur.
func (d *descent) tol() float64 { return d.f.tolFor(d.cur.pt, d.f.share, d.goal) }

// stepTol is the relative residual for a step that is to lower the objective by
// the given amount.
func (d *descent) stepTol(decrease float64) float64 {
	if d.f.opt.InnerTol > 0 {
		return math.Max(d.tol(), innerTightest)
	}
	return forDecrease(d.tol(), decrease, d.t.inexactness(d.cur.pt), d.cur.pt.residual)
}

// trial performs and measures the C step at the vector z.
func (d *descent) trial(ctx context.Context, z []float64, L *linop.Spectral, tol float64) (*point, error) {
	eta := d.cur.pt.eta
	if d.model.m > 0 {
		eta = slices.Clone(z[:d.t.m])
	}
	if d.model.n == 0 {
		L = d.cur.pt.L
	}
	return d.try(ctx, eta, L, tol)
}

// try performs and measures the C step at (eta, L).
func (d *descent) try(ctx context.Context, eta []float64, L *linop.Spectral, tol float64) (*point, error) {
	pt := d.t.next(d.cur.pt, eta, L)
	if err := d.f.solve(ctx, pt, tol); err != nil {
		return nil, err
	}
	if err := d.f.measure(ctx, pt, d.active.idx); err != nil {
		return nil, err
	}
	pt.cert.objective = d.t.objective(pt)
	return pt, nil
}

// sharpen repeats the C step at cur more exactly, after which the model starts
// anew. It returns nil when that has been done to the limit.
func (d *descent) sharpen(ctx context.Context) (*iterate, error) {
	if d.f.share < sharpest || d.f.opt.InnerTol > 0 {
		return nil, nil
	}
	d.f.share /= 10
	pt, err := d.trial(ctx, d.cur.z, d.cur.pt.L, d.tol())
	if err != nil {
		return nil, err
	}
	return d.cur, d.restart(d.iterate(pt))
}

// certify certifies next, after measuring all kernels when the active ones meet
// the goal or a check is due, and lets kernels enter or leave.
func (d *descent) certify(ctx context.Context, next *iterate) error {
	pt := next.pt
	if err := d.f.certify(ctx, pt); err != nil {
		return err
	}
	if !pt.complete && (pt.meets(d.goal) || d.active.due()) {
		if err := d.f.measure(ctx, pt, d.t.all); err != nil {
			return err
		}
		if err := d.f.certify(ctx, pt); err != nil {
			return err
		}
		*next = *d.iterate(pt)
	}
	d.active.choose(next, d.model)
	d.count(pt.cert.objective, pt.cert.relative(), d.t.noise(pt))
	return d.f.accept(pt, d.goal)
}

// finished reports whether pt ends the descent.
func (d *descent) finished(pt *point) bool {
	if d.f.best.meets(d.goal) {
		d.extra++
	}
	return d.extra > 0 && (d.extra > extraSteps || pt.cert.relative() <= beyond*d.goal)
}

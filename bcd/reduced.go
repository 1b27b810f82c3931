package bcd

import (
	"context"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

// reduced minimises h(η, L) = λ⟨Y, C(η,L)⟩ + λω(η): closed forms while they make
// good progress, then a [descent] on the weights and L.
type reduced struct {
	*productModel
	warmed bool // closed forms have run
}

func (r *reduced) minimize(ctx context.Context, pt *point, goal float64) error {
	if r.t.data.loss.kinked() && !(r.t.fixEta && r.t.fixL) {
		return r.withoutKinks(ctx, pt, goal, r)
	}
	_, err := r.descend(ctx, pt, goal)
	return err
}

func (r *reduced) again(pt *point) *point {
	r.t.overL = bound{}
	return r.t.next(pt, pt.eta, pt.L)
}

func (r *reduced) sharpen(ctx context.Context, pt *point, fall float64) error {
	r.convex.newton.Sharpen(pt.X, fall)
	if !newOutputSteps(r.t).possible {
		return nil
	}
	// Output steps take all eigenvectors, and so may systems.
	sys := sylvester.System{K: r.t.form(ctx, pt.eta, false), Cells: r.t.data.cells}
	_, err := r.convex.systems.(sylvester.Decomposer).Decompose(ctx, sys)
	return err
}

// descend goes on from pt by closed forms, where they have not run, and descent on blocks, and returns where it ends.
func (r *reduced) descend(ctx context.Context, pt *point, goal float64) (*point, error) {
	if !r.warmed {
		r.warmed = true
		err := r.sketchStart(ctx, pt, r.tolFor(pt, warmUpShare, goal))
		if err == nil {
			pt, err = r.closedSteps(ctx, pt, goal, true)
		}
		if err != nil || r.ends(pt, goal) || r.t.fixEta && r.t.fixL {
			return pt, err
		}
	}
	d, err := newBlocks(r.productModel, pt, goal)
	if err != nil {
		return pt, err
	}
	err = d.minimize(ctx)
	return d.cur.pt, err
}

// blocks is the chart z = (η, vec L) of the product model, without blocks that are fixed or stay for a while.
type blocks struct {
	*descent
	p *productModel
	// Kernels that take part in steps. One leaves when its weight has reached 0 and the gradient keeps it there; every
	// checkEvery iterations, and before convergence is claimed, all kernels are measured and those that a projected
	// gradient step would raise come back.
	active  []int // in order
	outputs outputSteps
}

// newBlocks begins at a measured point.
func newBlocks(p *productModel, pt *point, goal float64) (*blocks, error) {
	f := p.fit
	d := &blocks{descent: &descent{fit: f, goal: goal, further: extraSteps}, p: p, active: f.t.all}
	d.chart, d.advance = d, d.inTurn
	if f.t.approximate() { // the bound over L is loose, and more iterations lower the objective little
		d.further = 0
	}
	d.outputs = newOutputSteps(f.t)
	d.outputs.model = newOutputModel(d)
	if d.outputs.possible && f.t.approximate() {
		d.afresh = func() error { return d.takeTurns(true) }
	}
	return d, d.begin(pt, !d.outputs.on)
}

// begin makes a new model at pt, of the weights, and jointly of L where that is asked for.
func (d *blocks) begin(pt *point, joint bool) error {
	d.q = &quasinewton.Model{Backend: d.t.be}
	if !d.t.fixEta {
		d.q.Weights = d.t.m
	}
	if joint && !d.t.fixL {
		d.q.Order = d.t.n
	}
	return d.restart(d.iterate(pt))
}

func (d *blocks) from(pt *point, z []float64, L []*linop.Spectral) *point {
	eta, one := pt.eta, pt.L
	if d.q.Weights > 0 {
		eta = slices.Clone(z[:d.q.Weights])
	}
	if d.q.Order > 0 {
		one = L[0]
	}
	return d.t.next(pt, eta, one)
}

func (d *blocks) taking() []int { return d.active }

// mask clears the entries of kernels that are not active.
func (d *blocks) mask(y []float64, _, _ *iterate) {
	for j := range d.q.Weights {
		if _, on := slices.BinarySearch(d.active, j); !on {
			y[j] = 0
		}
	}
}

// Project is that of a [quasinewton.Set] set; inactive weights stay 0.
func (d *blocks) Project(z []float64) ([]*linop.Spectral, error) {
	if d.q.Weights > 0 {
		d.projectWeights(z[:d.q.Weights])
	}
	if d.q.Order == 0 {
		return nil, nil
	}
	A := d.q.Kernels(z)[0]
	L, err := frankwolfe.ProjectSpectrahedron(d.t.be, A, d.t.tau)
	if err != nil {
		return nil, err
	}
	L.Dense(d.t.be, A)
	return []*linop.Spectral{L}, nil
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
func (d *blocks) weigh(pt *point) quasinewton.Weighing {
	return func(V blas.General, rho []float64) []blas.General {
		n, floor := len(rho), d.floors(pt, V)
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
func (d *blocks) floors(pt *point, V blas.General) []float64 {
	if !d.t.data.complete() {
		return slices.Repeat([]float64{d.t.floor(blas.Trace(pt.G), pt.cc)}, d.t.n)
	}
	_, sizes := d.t.along(pt.X, V)
	floors := blas.Forms(d.t.be, V, pt.G)
	for b := range floors {
		floors[b] = d.t.floor(floors[b], sizes[b])
	}
	return floors
}

// floor is μ/σ for the σ = seen/size of columns of C, and at least so much that the metric is finite.
func (t *task) floor(seen, size float64) float64 {
	if !(seen > 0) {
		return t.tau
	}
	return t.mu*size/seen + leastFloor*t.tau/float64(t.n)
}

// exactWeights reports whether the weights, where L stays, are moved with their exact second
// derivative: in sample space, for regularizers without a curvature of their own.
func (t *task) exactWeights() bool {
	_, lp := t.reg.(regularizer.Lp)
	N := t.space.Unknowns()
	return t.data.complete() && lp && !t.fixEta && N <= exactWeightsMost && t.m*N*t.n <= exactWeightsMemory
}

// prepareWeights gives a model of the weights alone the exact second derivative.
func (d *blocks) prepareWeights(ctx context.Context) (err error) {
	q := d.q
	q.H = blas.General{}
	if q.Order > 0 || q.Weights == 0 || !d.t.exactWeights() {
		return nil
	}
	A := d.t.form(ctx, d.cur.pt.eta, false)
	phase.Do(ctx, phase.Eta, func(ctx context.Context) { q.H, err = d.t.weightHessian(ctx, A, d.cur.pt, d.active) })
	if v := blas.Trace(q.H) / float64(q.Weights); positive(v) {
		q.Sigma = v
	}
	return err
}

// weightHessian is ∂²h/∂η_i∂η_j = 2λ⟨K_iCL, (K_η⊗L + μI)⁻¹K_jCL⟩ over the
// kernels of idx, at the C of pt; A is A_η there.
func (t *task) weightHessian(ctx context.Context, A linop.Operator, pt *point, idx []int) (blas.General, error) {
	U, sigma, err := t.eigenvectors(ctx, A, pt.eta)
	if err != nil {
		return blas.General{}, err
	}
	N, r, k := t.space.Unknowns(), pt.L.Rank(), len(idx)
	CL, T := blas.NewGeneral(N, r), blas.NewGeneral(N, r)
	if r == 0 {
		return blas.NewGeneral(t.m, t.m), nil
	}
	pt.L.Rotate(t.be, CL, pt.X)
	blas.ScaleColumns(CL, pt.L.S)
	Phi, one := blas.NewGeneral(k, N*r), make([]float64, t.m)
	for i, j := range idx {
		one[j] = 1
		t.system.at(one, false).Apply(T, CL)
		one[j] = 0
		F := blas.General{Rows: N, Cols: r, Stride: r, Data: blas.Row(Phi, i)}
		blas.Mul(t.be, F, true, false, U, T)
		for a, v := range sigma {
			row := blas.Row(F, a)
			for b, rho := range pt.L.S {
				row[b] /= math.Sqrt(math.Max(v, 0)*rho + t.mu)
			}
		}
	}
	part, H := blas.NewGeneral(k, k), blas.NewGeneral(t.m, t.m)
	blas.Gemm(t.be, false, true, 2*t.lambda, Phi, Phi, 0, part)
	for i, a := range idx {
		for j, b := range idx {
			H.Data[a*H.Stride+b] = part.Data[i*k+j]
		}
	}
	t.system.at(pt.eta, false)
	return H, nil
}

// oneBlock moves the block that has more to gain, where no joint step lowers the
// objective: L by the barrier method, the weights by their closed form. Both serve where
// ω is so curved that no gradient step does, as that of the elastic net is next to its
// bound. It returns nil where the objective does not fall by more than noise.
func (d *blocks) oneBlock(ctx context.Context) (next *iterate, err error) {
	t, pt := d.t, d.cur.pt
	switch {
	case pt.cert.gapL > pt.cert.gapEta:
		if t.rho > 0 || t.data.loss != nil || t.space.Unknowns() > outputStepsMost || d.outputs.on {
			return nil, nil
		}
		next, err = d.outputStep(ctx)
	case !t.fixEta:
		var moved *point
		if moved, err = d.try(ctx, t.next(pt, t.closedEta(pt.alpha2()), pt.L), d.tol()); err == nil {
			next = d.iterate(moved)
		}
	}
	if err != nil || next == nil || !(next.pt.cert.objective < pt.cert.objective-t.noise(next.pt)) {
		return nil, err
	}
	return next, nil
}

// choose sets the kernels that take part, active, at it: those of positive weight, and, when all were measured, those
// that a projected gradient step would raise. Without a complete measurement nothing enters. All stay where weights do,
// or where the regularizer is not one of some of the kernels.
func (d *blocks) choose(it *iterate) {
	if d.t.fixEta || !regularizer.Restricts(d.t.reg) {
		return
	}
	probe := slices.Clone(it.z[:d.q.Weights])
	for j := range probe {
		probe[j] -= it.g[j] / d.q.Sigma
	}
	d.t.reg.Project(probe)
	var idx []int
	for j, e := range it.pt.eta {
		_, on := slices.BinarySearch(d.active, j)
		if e > 0 || probe[j] > 0 && (it.pt.complete || on) {
			idx = append(idx, j)
		}
	}
	d.active = idx
}

// projectWeights applies the regularizer's projection to the active weights.
func (d *blocks) projectWeights(eta []float64) {
	part := make([]float64, len(d.active))
	for k, j := range d.active {
		part[k] = eta[j]
	}
	d.t.reg.Project(part)
	clear(eta)
	for k, j := range d.active {
		eta[j] = part[k]
	}
}

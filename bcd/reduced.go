// This file is the solver reduced, which minimizes over weights and output kernel with the coefficients eliminated.

package bcd

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/bcd/internal/quasinewton"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/frankwolfe"
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
	if r.t.space.inSamples().kinked() && !(r.t.fixEta && r.t.fixL) {
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
	sys := sylvester.System{K: r.t.form(ctx, pt.eta, false), Cells: r.t.space.inSamples().observed()}
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

func (d *blocks) at(pt *point) (z, g []float64) {
	q := d.q
	z, g = make([]float64, q.Weights+q.Order*q.Order), make([]float64, q.Weights+q.Order*q.Order)
	copy(z[:q.Weights], pt.eta)
	if q.Weights > 0 {
		d.t.reg.Gradient(g[:q.Weights], pt.eta)
		for j, c := range pt.c {
			g[j] = d.t.lambda * (g[j] - c)
		}
	}
	if q.Order > 0 {
		_, L := q.Split(z)
		pt.L.Dense(d.t.be, L)
		_, G := q.Split(g)
		blas.AddScaled(G, -d.t.lambda, pt.G)
	}
	return z, g
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

// Slope is ⟨grad, dir⟩. Near the optimum grad is almost −γ·I on L, and dir keeps
// the trace: what rounding leaves of tr(dir), times γ, would drown the rest, so
// it is taken out; likewise for weights on the simplex.
func (d *blocks) Slope(grad, dir, z []float64) float64 {
	s := blas.Dot(grad, dir)
	q := d.q
	if _, D := q.Split(dir); q.Order > 0 {
		_, G := q.Split(grad)
		_, L := q.Split(z)
		s += conserved(blas.Trace(D), blas.Trace(L), -blas.Inner(G, L))
	}
	if p, ok := d.t.reg.(regularizer.Lp); ok && p.P == 1 && q.Weights > 0 {
		s += conserved(floats.Sum(dir[:q.Weights]), floats.Sum(z[:q.Weights]),
			-blas.Dot(grad[:q.Weights], z[:q.Weights]))
	}
	return s
}

// Project is that of a [quasinewton.Set] set; inactive weights stay 0.
func (d *blocks) Project(z []float64) ([]*linop.Spectral, error) {
	if d.q.Weights > 0 {
		d.projectWeights(z[:d.q.Weights])
	}
	if d.q.Order == 0 {
		return nil, nil
	}
	_, A := d.q.Split(z)
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
	s := d.t.space.inSamples()
	if !s.complete() {
		return slices.Repeat([]float64{d.t.floor(blas.Trace(pt.G), pt.cc)}, d.t.n)
	}
	_, sizes := s.along(&d.t.work, pt.X, V)
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

// conserved is γ·change with γ = total/size when the change of a sum of the given
// size is of rounding level, else 0.
func conserved(change, size, total float64) float64 {
	if math.Abs(change) <= 0x1p-42*size {
		return total / size * change
	}
	return 0
}

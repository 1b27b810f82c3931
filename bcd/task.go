package bcd

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/sylvester"
)

// task is a problem as the methods see it, its outputs reduced and in units of its own.
// Only a growing basis of the outputs changes it.
type task struct {
	be                   blas.Backend
	seed                 uint64
	space                Space
	system               system
	data                 *data
	loss                 fidelity
	reg                  regularizer.Regularizer
	fixEta, fixL         bool
	lambda, tau, mu, rho float64 // ρ is 0 but for the solver okl
	l, n, m              int
	wide                 int   // see Problem
	all                  []int // 0 … m−1
	work                 work
	spectrum             spectrum
	overL                bound // where cells are missing
}

// config is what solvers of linear systems are built with.
func (t *task) config() sylvester.Config { return sylvester.Config{Backend: t.be, Seed: t.seed} }

// spectrum is the eigenvectors and ascending eigenvalues of A_η that were computed last.
type spectrum struct {
	eta []float64
	U   blas.General
	s   []float64
}

func newTask(p *Problem, opt Options, rho float64) *task {
	t := &task{
		be: blas.Or(opt.Backend), seed: opt.Seed, reg: p.Norm, fixEta: p.Model.fixEta(), fixL: p.Model.fixL(),
		lambda: p.Lambda, tau: p.Tau, mu: p.Lambda * float64(p.Space.Samples()), rho: rho,
		l: p.Space.Samples(), m: p.Space.Kernels(), all: upTo(p.Space.Kernels()), wide: p.wide,
	}
	t.setOutputs(p.Space)
	return t
}

// upTo are the numbers 0 … n−1.
func upTo(n int) []int {
	all := make([]int, n)
	for j := range all {
		all[j] = j
	}
	return all
}

// setOutputs makes space, which differs in its outputs only, that of the task.
func (t *task) setOutputs(space Space) {
	t.space, t.system, t.data, t.n = space, space.system(), space.shared(), space.Outputs()
	t.loss = t.data.fidelity()
	t.work = work{be: t.be}
}

// point is an iterate: weights and output kernel, or the output kernels of a sum, coefficients, and what was
// computed there.
type point struct {
	eta   []float64
	L     *linop.Spectral
	Ls    []*linop.Spectral // of a sum; nil for the product model
	X, AX blas.General      // the unknown, and A_η·X
	measures
	c        []float64 // c_j = tr(Cᵀ K_j C L), 0 where it was not measured
	top      []float64 // λ_max(G_j) of a sum, once certified
	residual float64   // of the C step, relative to its right side
	single   bool      // AX is the product with A_η in single precision
	rounded  bool      // the measures are those of a rounded loss
	cert     certificate
	complete bool // all kernels were measured
	covered  bool // gapL holds for all outputs, see basis
}

// kernels are L alone, or the L_j of a sum.
func (pt *point) kernels() []*linop.Spectral {
	if pt.Ls == nil {
		return []*linop.Spectral{pt.L}
	}
	return pt.Ls
}

// rank is that of the output kernels.
func (pt *point) rank() (sum int) {
	for _, L := range pt.kernels() {
		sum += L.Rank()
	}
	return sum
}

// weights are η, or those of a sum, (tr L_j)/τ.
func (t *task) weights(pt *point) []float64 {
	if pt.Ls == nil {
		return pt.eta
	}
	eta := make([]float64, len(pt.Ls))
	for j, L := range pt.Ls {
		eta[j] = L.Trace() / t.tau
	}
	return eta
}

// total is Σ_j L_j.
func (t *task) total(Ls []*linop.Spectral) *linop.Spectral {
	all, one := blas.NewGeneral(t.n, t.n), blas.NewGeneral(t.n, t.n)
	for _, L := range Ls {
		L.Dense(t.be, one)
		blas.AddScaled(all, 1, one)
	}
	sum, err := linop.NewSpectral(t.be, all, eigenDrop)
	if err != nil {
		return linop.ScaledIdentity(t.n, math.NaN())
	}
	return sum
}

// start is the point of C = 0 with its certificate. Neither needs a product with a kernel.
func (t *task) start(eta []float64, L *linop.Spectral) *point {
	N := t.space.Unknowns()
	pt := &point{
		eta: slices.Clone(eta), L: L,
		X: blas.NewGeneral(N, t.n), AX: blas.NewGeneral(N, t.n),
		residual: 1, complete: true,
	}
	if !t.fixEta && math.IsInf(t.reg.Omega(pt.eta), 1) {
		t.reg.Project(pt.eta)
	}
	pt.measures, pt.c = measures{fit: t.data.yy}, make([]float64, t.m)
	if !t.fixL {
		pt.G = blas.NewGeneral(t.n, t.n)
	}
	U := t.objective(pt)
	pt.cert = certificate{objective: U}
	if !t.fixEta { // the penalty of L, which stays, is a bound from below
		pt.cert.gapEta = pt.fit/float64(t.l) + t.lambda*t.omega(pt.eta)
	}
	switch {
	case !t.fixL:
		pt.cert.gapL = U
	case t.fixEta:
		pt.cert.gapL = pt.fit / float64(t.l) // as much as exact coefficients may gain
	}
	return pt
}

// zeroWeights are those for the function 0: eta, unless ω is less without any weight.
func (t *task) zeroWeights(eta []float64) []float64 {
	if none := make([]float64, t.m); t.omega(none) < t.omega(eta) {
		return none
	}
	return eta
}

// next is the point that the weights and output kernel lead to, with pt's coefficients
// as its start. pt stays as it is.
func (t *task) next(pt *point, eta []float64, L *linop.Spectral) *point {
	// whose gap sets the first tolerance
	next := &point{eta: eta, L: L, X: blas.Clone(pt.X), AX: blas.Like(pt.AX), residual: 1, cert: pt.cert}
	t.system.rebase(next.X, pt.eta, eta)
	next.c = make([]float64, t.m)
	return next
}

// form is A_η at eta.
func (t *task) form(ctx context.Context, eta []float64, single bool) (A linop.Operator) {
	t.data.until(ctx)
	phase.Do(ctx, phase.FormK, func(context.Context) { A = t.system.at(eta, single) })
	return A
}

// eigen are the eigenvectors and ascending eigenvalues of the symmetric a.
func (t *task) eigen(a blas.General) (V blas.General, w []float64, err error) {
	V, w = blas.Clone(a), make([]float64, a.Rows)
	return V, w, t.be.Syevd(V, w)
}

// eigenvectors are those of A, which is A_η, with ascending eigenvalues s. They are kept until η changes, beyond that
// where the model they are for is approximate, and must not be changed.
func (t *task) eigenvectors(ctx context.Context, A linop.Operator, eta []float64) (
	U blas.General, s []float64, err error,
) {
	k := &t.spectrum
	if k.eta != nil && (t.approximate() || slices.Equal(k.eta, eta)) {
		return k.U, k.s, nil
	}
	N := t.space.Unknowns()
	*k = spectrum{} // U may be a solver's, and must stay
	k.U, k.s = blas.NewGeneral(N, N), make([]float64, N)
	if err := linop.Dense(ctx, k.U, A); err != nil {
		return k.U, k.s, err
	}
	err = blas.Until(ctx, t.be).Syevd(k.U, k.s)
	if err = cmp.Or(ctx.Err(), err); err == nil {
		k.eta = slices.Clone(eta)
	}
	return k.U, k.s, err
}

// measure fills pt's measures, with c_j for the kernels of idx and 0 for the others. It reports kernels that cannot be
// positive semidefinite, and values that are not finite.
func (t *task) measure(pt *point, idx []int) error {
	part := make([]float64, len(idx))
	t.system.measure(t, pt, part, idx)
	clear(pt.c)
	for k, j := range idx {
		pt.c[j] = part[k]
	}
	pt.rounded = t.data.loss.rounded()
	pt.cert.objective = t.objective(pt)
	if v := pt.fit + pt.norm + pt.yc + pt.cc + floats.Sum(pt.c); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%w: the objective is not finite", ErrInput)
	}
	for j, v := range pt.c {
		if v < 0 {
			return fmt.Errorf("%w: kernel %d has tr(CᵀK_jCL) = %g", ErrNotPSD, j, v)
		}
	}
	return nil
}

// noise is how much of the objective at pt its inexact C, and rounding, may account for.
func (t *task) noise(pt *point) float64 {
	return 0.5*t.inexactness(pt) + 0x1p-46*math.Abs(pt.cert.objective) + t.data.rounding(pt.fit)/float64(t.l) +
		t.storage(pt)
}

// storage is what the rounding Δ of A_η moves the objective by where it is stored in single precision, which differs
// between weights: λ⟨Δ, CLCᵀ⟩, with entries of Δ of independent signs and a size of 2⁻²⁴ of the mean diagonal of A_η.
func (t *task) storage(pt *point) float64 {
	if !t.data.single || pt.L == nil || pt.L.Rank() == 0 {
		return 0
	}
	return 0x1p-24 * t.lambda * t.system.trace(pt.eta) / float64(t.space.Unknowns()) * pt.L.S[0] * pt.cc
}

// inexactness is U − λ(2⟨Y,C⟩ − μ‖C‖² − tr(CᵀK_ηCL) + ω(η)), or that of another loss, the part of the certificate
// that is due to the error of C: 0 at the exact C, and of second order in its error.
func (t *task) inexactness(pt *point) float64 {
	if pt.Ls != nil {
		return math.Max(0, pt.cert.objective-t.lambda*(pt.conjugate(t.mu, 1)-pt.form))
	}
	return math.Max(0, pt.fit/float64(t.l)+t.lambda*(pt.norm+pt.form-pt.conjugate(t.mu, 1)))
}

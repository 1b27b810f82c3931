package bcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/phase"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// point is an iterate: weights, output kernel, coefficients, and what was computed there.
type point struct {
	eta   []float64
	L     *linop.Spectral
	X, AX blas.General // the unknown, and A_η·X
	measures
	residual float64 // of the C step, relative to its right side
	single   bool    // AX is the product with A_η in single precision
	cert     certificate
	complete bool // c covers all kernels
	covered  bool // gapL holds for all outputs, see growing.go
}

// run is one call of Solve: the problem with its outputs reduced, the inner
// solver, scratch and counts.
type run struct {
	opt    Options
	be     blas.Backend
	space  Space
	reg    Regularizer
	P      blas.General // outputs = reduced outputs·Pᵀ; no Data when not reduced
	whole  Space        // the outputs that P has but a part of, nil when it has all
	grown  bool         // P
	all    []int        // 0 … m−1
	fixEta bool
	fixL   bool
	single bool      // C steps that may be rough take A_η in single precision
	traces []float64 // tr K_j, when single is set

	lambda, tau, mu, rho float64
	share                float64 // of the gap that a C step may leave open
	l, n, m              int

	solver    sylvester.Solver
	solverEta []float64 // the weights of the inner solver's last call
	lastInner string
	work      work
	quad      quadratic

	iter, solves, columns int
	best                  *point // the certified point to return
	stopped               error  // by Trace
	units                 units
	raised                float64 // the largest shift that took the place of μ in a C step, 0 for none
}

func newRun(p *Problem, opt Options) (*run, error) {
	r := &run{
		opt: opt, be: blas.Or(opt.Backend), space: p.Space, reg: p.Norm,
		fixEta: p.FixEta, fixL: p.FixL, lambda: p.Lambda, tau: p.Tau, share: innerShare,
		l: p.Space.Samples(), n: p.Space.Outputs(), m: p.Space.Kernels(),
		units: units{y: 1, x: 1, L: 1},
	}
	r.mu = r.lambda * float64(r.l)
	r.work = work{be: r.be, mu: r.mu, skipG: r.fixL}
	r.all = make([]int, r.m)
	for j := range r.all {
		r.all[j] = j
	}
	if err := r.newSolver(); err != nil {
		return nil, err
	}
	switch opt.Sylvester {
	case "auto", "nystrom", "rotated":
		r.traces = r.space.mixed()
		r.single = r.traces != nil
	}
	return r, nil
}

func (r *run) newSolver() (err error) {
	if r.solver, err = sylvester.New(r.opt.Sylvester, sylvester.Config{Backend: r.be, Seed: r.opt.Seed}); err != nil {
		err = fmt.Errorf("%w: %w", ErrInput, err)
	}
	return err
}

// begin makes the starting point and its certificate, which costs nothing: C = 0.
func (r *run) begin(eta []float64, L *linop.Spectral) *point {
	N := r.space.Unknowns()
	pt := &point{
		eta: slices.Clone(eta), L: L,
		X: blas.NewGeneral(N, r.n), AX: blas.NewGeneral(N, r.n),
		residual: 1, complete: true,
	}
	if !r.fixEta && math.IsInf(r.reg.Omega(pt.eta), 1) {
		r.reg.Project(pt.eta)
	}
	pt.measures = measures{fit: r.space.normY2(), c: make([]float64, r.m)}
	if !r.fixL {
		pt.G = blas.NewGeneral(r.n, r.n)
	}
	U := r.objective(pt)
	pt.cert = certificate{objective: U}
	if !r.fixEta {
		pt.cert.gapEta = U
	}
	if !r.fixL {
		pt.cert.gapL = U
	}
	r.best = pt
	return pt
}

// formFor forms A_η at pt for a C step to the relative residual tol, and reports
// whether single precision will do.
func (r *run) formFor(ctx context.Context, pt *point, tol float64) (single bool) {
	single = tol >= singleTol && r.single && r.tame(pt, tol)
	phase.Do(ctx, phase.FormK, func(context.Context) {
		r.space.setWeights(pt.eta)
		r.space.form(single)
	})
	return single
}

// system is the linear system of the C step at pt.
func (r *run) system(pt *point) sylvester.System {
	return sylvester.System{K: r.space.operator(), L: pt.L, Mu: r.mu}
}

// solve performs the C step at pt to the relative residual tol, starting from pt.X.
// A solver that cannot reach tol leaves what it reached; pt.residual tells.
func (r *run) solve(ctx context.Context, pt *point, tol float64) error {
	single := r.formFor(ctx, pt, tol)
	if r.solverEta != nil && !slices.Equal(pt.eta, r.solverEta) {
		r.solver.Invalidate()
	}
	r.solverEta = append(r.solverEta[:0], pt.eta...)
	var (
		res sylvester.Result
		err error
	)
	phase.Do(ctx, phase.CSolve, func(ctx context.Context) {
		res, err = r.solver.Solve(ctx, pt.X, r.system(pt), r.space.rhs(), sylvester.Options{Tol: tol, Single: single})
	})
	r.solves++
	r.columns += res.Columns
	r.lastInner = res.Solver
	pt.residual, pt.single = res.Residual, res.Single
	switch {
	case err == nil || errors.Is(err, sylvester.ErrNotConverged):
	case errors.Is(err, sylvester.ErrNotSPD):
		if res, err = r.solveRaised(ctx, pt, tol, err); err != nil {
			return err
		}
	default:
		return err
	}
	blas.Copy(pt.AX, res.KC)
	return nil
}

// measure fills pt's measures, with c_j for the kernels of idx and 0 for the others.
func (r *run) measure(ctx context.Context, pt *point, idx []int) error {
	phase.Do(ctx, phase.Certificate, func(context.Context) {
		full := pt.c
		pt.c = make([]float64, len(idx))
		r.space.measure(&pt.measures, &r.work, pt.eta, pt.X, pt.AX, pt.L, idx)
		part := pt.c
		pt.c = full
		clear(pt.c)
		for k, j := range idx {
			pt.c[j] = part[k]
		}
	})
	pt.complete = len(idx) == r.m
	r.columns += r.work.columns
	r.work.columns = 0
	return r.checkMeasures(pt)
}

// checkMeasures reports kernels that cannot be positive semidefinite, and values that are not finite.
func (r *run) checkMeasures(pt *point) error {
	if v := pt.fit + pt.norm + pt.yc + pt.cc + sumOf(pt.c); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%w: the objective at outer iteration %d is not finite", ErrInput, r.iter)
	}
	for j, v := range pt.c {
		if v < 0 {
			return fmt.Errorf("%w: kernel %d has tr(CᵀK_jCL) = %g", ErrNotPSD, j, v)
		}
	}
	return nil
}

// accept certifies pt over the kernels it was measured on, keeps it as the point
// to return when it is better than the one before, and shows it to Trace.
func (r *run) accept(ctx context.Context, pt *point) error {
	var err error
	phase.Do(ctx, phase.Certificate, func(context.Context) { err = r.certify(pt) })
	if err != nil {
		return err
	}
	if r.better(pt) {
		r.best = pt
	}
	r.collect()
	return r.trace(pt)
}

// better reports whether pt is to be returned rather than the best so far: a point
// that meets Tol beats one that does not, then the smaller gap counts, without
// Tol the lower objective.
func (r *run) better(pt *point) bool {
	if r.done(pt) != r.done(r.best) {
		return r.done(pt)
	}
	if r.done(pt) {
		return pt.cert.relative() <= r.best.cert.relative()
	}
	return !(r.best.cert.objective < pt.cert.objective)
}

// finish certifies the point to return over all kernels and in double precision.
func (r *run) finish() error {
	pt := r.best
	if pt.complete && !pt.single {
		return nil
	}
	if pt.single {
		r.space.setWeights(pt.eta)
		r.space.operator().Apply(pt.AX, pt.X)
		r.columns += pt.X.Cols
		pt.single = false
	}
	if err := r.measure(context.Background(), pt, r.all); err != nil {
		return err
	}
	return r.certify(pt)
}

func (r *run) trace(pt *point) error {
	if r.opt.Trace == nil {
		return nil
	}
	r.stopped = r.opt.Trace(Step{
		Iter: r.iter, Objective: r.units.value(pt.cert.objective),
		GapEta: r.units.value(pt.cert.gapEta), GapL: r.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Residual: pt.residual, SylvesterSolves: r.solves,
		KernelMultiplies: r.columns, Eta: pt.eta, Rank: pt.L.Rank(), run: r, pt: pt,
	})
	return r.stopped
}

// done reports whether pt meets Tol.
func (r *run) done(pt *point) bool {
	gap := pt.cert.relative()
	if pt.single {
		gap += singleSlack
	}
	return gap <= r.opt.Tol
}

// restore copies X and L of pt, mapped back to all outputs and to the caller's units.
func (r *run) restore(pt *point) (blas.General, *linop.Spectral) {
	if r.P.Data == nil {
		return r.units.restore(blas.Clone(pt.X), pt.L.Clone())
	}
	X := r.restoreX(pt)
	L := &linop.Spectral{V: blas.NewGeneral(r.P.Rows, pt.L.Rank()), S: slices.Clone(pt.L.S)}
	if pt.L.Rank() > 0 {
		blas.Mul(r.be, L.V, false, false, r.P, pt.L.V)
	}
	return r.units.restore(X, L)
}

// restoreX is X of pt for all outputs, X·Pᵀ + B(I − PPᵀ)/μ.
func (r *run) restoreX(pt *point) blas.General {
	X, part := blas.NewGeneral(pt.X.Rows, r.P.Rows), pt.X
	if r.whole != nil {
		r.whole.setWeights(pt.eta)
		r.space.setWeights(pt.eta)
		part = r.inside(pt.X)
		blas.AddScaled(X, 1/r.mu, r.whole.rhs())
	}
	blas.Gemm(r.be, false, true, 1, part, r.P, 1, X)
	return X
}

// basisRows is the number of rows of a product that handOver forms at a time.
const basisRows = 256

// handOver is restore for the end of a run: the memory of the basis of the
// outputs becomes that of the eigenvectors of L.
func (r *run) handOver(pt *point) (blas.General, *linop.Spectral) {
	P, V := r.P, pt.L.V
	if P.Data == nil || pt.L.Rank() == 0 {
		return r.restore(pt)
	}
	r.solver, r.work, r.quad = nil, work{}, quadratic{}
	pt.AX, pt.measures = blas.General{}, measures{}
	r.collect()
	X := r.restoreX(pt)
	n, k := P.Rows, V.Cols // k is at most P's number of columns, so rows move to the front
	strip := blas.NewGeneral(basisRows, k)
	for i := 0; i < n; i += basisRows {
		rows := blas.View(strip, 0, 0, min(basisRows, n-i), k)
		blas.Mul(r.be, rows, false, false, blas.View(P, i, 0, rows.Rows, P.Cols), V)
		copy(P.Data[i*k:], rows.Data)
	}
	r.P = blas.General{}
	return r.units.restore(X, &linop.Spectral{V: blas.General{Rows: n, Cols: k, Stride: k, Data: P.Data[:n*k]}, S: slices.Clone(pt.L.S)})
}

// largeBasis is the size in bytes of a basis of the outputs from which a run
// collects its own garbage: left to its pace, which goes by the size of what is in
// use, the collector would let as much pile up as the targets and the basis take.
const largeBasis = 64 << 20

// collect frees what the run no longer uses, when its basis of outputs is large.
func (r *run) collect() {
	if 8*len(r.P.Data) >= largeBasis {
		runtime.GC()
	}
}

// result describes the point to return and ends the run.
func (r *run) result() *Result {
	pt := r.best
	X, L := r.handOver(pt)
	return &Result{
		Eta: slices.Clone(pt.eta), L: L, C: X,
		Objective: r.units.value(pt.cert.objective),
		GapEta:    r.units.value(pt.cert.gapEta), GapL: r.units.value(pt.cert.gapL),
		RelativeGap: pt.cert.relative(), Converged: r.done(pt),
		OuterIterations: r.iter, SylvesterSolves: r.solves, KernelMultiplies: r.columns,
		Solver: r.opt.Solver, Sylvester: r.lastInner,
	}
}

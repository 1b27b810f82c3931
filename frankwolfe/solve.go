// The Frank–Wolfe iteration.

package frankwolfe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// Workspace is the scratch of Frank–Wolfe: 3n² + 3n floats and that of the
// eigenvector computation, kept between calls. It is ready at zero, must not be
// copied, and serves one goroutine. Steps allocate nothing after the first call of
// a size; certificates do.
type Workspace struct {
	_    [0]sync.Mutex // go vet reports copies
	M, G blas.General  // AᵀA·L and ∇g(L)
	v, w blas.General  // n×1: the vertex τvvᵀ, and AᵀA·v
	eig  lanczos.Workspace
	op   *linop.Matrix // ∇g(L)
}

// Solve is [Workspace.Solve] with scratch of its own.
func Solve(ctx context.Context, L blas.General, p *Problem, opt Options) (Result, error) {
	return new(Workspace).Solve(ctx, L, p, opt)
}

// Solve minimizes g over S(τ) by Frank–Wolfe. It reads the n×n L, a point of
// S(τ), as the start and overwrites it by the answer; no step increases g.
//
// Each step finds the unit eigenvector v of the smallest eigenvalue θ of ∇g by
// Lanczos, only as exactly as the gap needs, goes towards τvvᵀ (towards 0 when
// θ ≥ 0) by the exact minimizing length in [0,1], and updates AᵀA·L by a matrix of
// rank one: O(n²) beside the eigenvector. The error falls like 1/iterations. A nil
// error means that the gap met Options.Tol; it is 0 for n = 0. Errors are ErrNotConverged,
// ErrNotFinite, ErrInfeasible, that of ctx, and that of Trace. Jaggi, Revisiting Frank–Wolfe, ICML 2013.
func (w *Workspace) Solve(ctx context.Context, L blas.General, p *Problem, opt Options) (Result, error) {
	opt.Tol, opt.MaxIter, opt.Backend = cmp.Or(opt.Tol, 1e-6), cmp.Or(opt.MaxIter, 10000), blas.Or(opt.Backend)
	if err := p.check(L); err != nil {
		return Result{Value: math.NaN(), Gap: math.NaN()}, err
	}
	n := p.N()
	if n == 0 {
		return Result{Value: p.YY / p.Samples}, nil
	}
	w.M, w.G = blas.Reshape(w.M, n, n), blas.Reshape(w.G, n, n)
	w.v, w.w = blas.Reshape(w.v, n, 1), blas.Reshape(w.w, n, 1)
	w.op = linop.NewDense(w.G, opt.Backend)
	s := solve{Workspace: w, p: p, opt: opt, L: L}
	err := s.run(ctx)
	return s.res, err
}

// solve is one call of Solve.
type solve struct {
	*Workspace
	p     *Problem
	opt   Options
	L     blas.General
	res   Result
	gap   float64 // by the Lanczos value of the last step; +Inf before the first
	theta float64 // vᵀ∇g·v, the Lanczos value itself
	inner float64 // ⟨∇g, L⟩
	exact bool    // the next eigenvector is computed to rounding level
}

// run descends until the running gap claims convergence, then computes value and
// gap from their definitions, and goes on if these do not confirm it.
func (s *solve) run(ctx context.Context) error {
	if err := s.refresh(); err != nil {
		return s.close(ctx, err)
	}
	s.gap = math.Inf(1)
	if err := s.trace(math.NaN()); err != nil {
		return s.close(ctx, err)
	}
	for {
		before, exact := s.res.Iter, s.exact
		if err := s.descend(ctx); err != nil {
			return s.close(ctx, err)
		}
		if err := s.refresh(); err != nil {
			return s.close(ctx, err)
		}
		if err := s.close(ctx, nil); err != nil {
			return err
		}
		switch {
		case s.p.met(s.res.Value, s.res.Gap, s.opt.Tol):
			return nil
		case s.res.Iter >= s.opt.MaxIter:
			return fmt.Errorf("%w: gap %.3g at value %.6g after %d iterations", ErrNotConverged, s.res.Gap, s.res.Value,
				s.res.Iter)
		case s.res.Iter == before && exact:
			return fmt.Errorf("%w: gap %.3g at value %.6g is at rounding level", ErrNotConverged, s.res.Gap,
				s.res.Value)
		}
		s.exact = true // the running gap was too low: Lanczos met its tolerance at the wrong eigenvector
	}
}

// refresh recomputes AᵀA·L, the value and the gradient from L.
func (s *solve) refresh() error {
	blas.Mul(s.opt.Backend, s.M, false, false, s.p.AtA, s.L)
	return s.evaluate()
}

// evaluate computes value and gradient from L and M.
func (s *solve) evaluate() error {
	s.res.Value = s.p.value(s.L, s.M)
	s.p.gradient(s.G, s.M)
	s.inner = blas.Inner(s.G, s.L)
	if !finite(s.res.Value) || !finite(s.inner) {
		return fmt.Errorf("%w: in iteration %d g is %g and ⟨∇g, L⟩ is %g", ErrNotFinite, s.res.Iter, s.res.Value,
			s.inner)
	}
	return nil
}

// close fills the gap of the result for the current L and returns the reason.
func (s *solve) close(ctx context.Context, reason error) error {
	if reason != nil {
		ctx = context.Background() // a cancelled solve still says how good its L is
	}
	gap, err := s.p.certify(ctx, s.L, s.G, &s.eig, s.opt, &s.res.Applies)
	s.res.Gap = gap
	if reason != nil {
		return reason
	}
	return err
}

// descend takes steps until the running gap meets the tolerance, the iterations
// are spent, or no step descends any more.
func (s *solve) descend(ctx context.Context) error {
	for s.res.Iter < s.opt.MaxIter {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("frankwolfe: after %d iterations: %w", s.res.Iter, err)
		}
		if err := s.vertex(ctx); err != nil {
			return err
		}
		if s.p.met(s.res.Value, s.gap, s.opt.Tol) {
			return nil
		}
		if !s.step() {
			return nil
		}
		s.res.Iter++
		if err := s.evaluate(); err != nil {
			return err
		}
		if err := s.trace(s.gap); err != nil {
			return err
		}
	}
	return nil
}

// vertex finds the eigenvector v of the smallest eigenvalue of ∇g and with it the gap.
func (s *solve) vertex(ctx context.Context) error {
	opt := lanczos.Options{
		Which: lanczos.Smallest, Tol: 1e-3, Seed: s.opt.Seed + uint64(s.res.Iter), Backend: s.opt.Backend,
	}
	if s.exact {
		opt.Tol = 1e-12
	} else if !math.IsInf(s.gap, 1) && s.p.Tau > 0 {
		opt.Tol, opt.AbsTol = 1e-12, 0.05*s.gap/s.p.Tau
	}
	// Near the optimum the vertices of successive steps are different vectors of one
	// cluster, so the last one would be a bad start: each starts at random.
	e, err := s.eig.Eigs(ctx, s.op, opt)
	s.res.Applies += e.Applies
	if errors.Is(err, lanczos.ErrNotFinite) {
		return fmt.Errorf("%w: the gradient in iteration %d", ErrNotFinite, s.res.Iter)
	}
	if err != nil && len(e.Values) == 0 {
		return fmt.Errorf("frankwolfe: the smallest eigenvalue of the gradient: %w", err)
	}
	blas.Copy(s.v, e.Vectors)
	s.theta, s.exact = e.Values[0], false
	s.gap = s.inner - s.p.Tau*math.Min(0, s.theta-e.Residuals[0])
	if !finite(s.gap) {
		return fmt.Errorf("%w: the gap is %g in iteration %d", ErrNotFinite, s.gap, s.res.Iter)
	}
	return nil
}

// step moves L towards P + L = τvvᵀ, or 0 when θ ≥ 0, by the minimizing length
// γ = −½⟨∇g,P⟩ / (‖A·P‖²/l) clipped to [0,1], and M = AᵀA·L with it. It reports
// whether g can descend that way.
func (s *solve) step() bool {
	tau := s.p.Tau
	if s.theta >= 0 {
		tau = 0
	}
	slope := tau*s.theta - s.inner
	if !(slope < 0) {
		return false
	}
	n := s.p.N()
	s.opt.Backend.Dgemv(blas.NoTrans, n, n, 1, s.p.AtA.Data, s.p.AtA.Stride, s.v.Data, 1, 0, s.w.Data, 1)
	// ‖A(τvvᵀ − L)‖² = τ²·vᵀw − 2τ·wᵀLv + ⟨L, AᵀA·L⟩ with w = AᵀA·v.
	v, w := s.v.Data[:n], s.w.Data[:n]
	var wLv float64
	for i := range n {
		wLv += w[i] * blas.Dot(blas.Row(s.L, i), v)
	}
	curve := (tau*tau*blas.Dot(v, w) - 2*tau*wLv + blas.Inner(s.L, s.M)) / s.p.Samples
	gamma := 1.0
	if curve > 0 {
		gamma = math.Min(1, -slope/2/curve)
	}
	for i := range n {
		L, M := blas.Row(s.L, i), blas.Row(s.M, i)
		blas.Scal(1-gamma, L)
		blas.Axpy(gamma*tau*v[i], v, L)
		blas.Scal(1-gamma, M)
		blas.Axpy(gamma*tau*w[i], v, M)
	}
	return true
}

func (s *solve) trace(gap float64) error {
	if s.opt.Trace == nil {
		return nil
	}
	return s.opt.Trace(Step{Iter: s.res.Iter, Value: s.res.Value, Gap: gap, L: s.L})
}

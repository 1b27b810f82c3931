// This file is the accelerated projected gradient method.

package frankwolfe

import (
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
)

// gapEvery is how many projected steps pass between two computations of the gap.
const gapEvery = 10

// Projected minimizes g over S(τ) by the accelerated projected gradient method
// with restarts (Beck and Teboulle, doi:10.1137/080716542; O'Donoghue and Candès,
// doi:10.1007/s10208-013-9150-3). It reads the n×n L as the start, any symmetric
// matrix, and overwrites it by the answer. An iteration costs an
// eigendecomposition of order n; nothing is kept between calls.
//
// A nil error means that the gap met Options.Tol. Errors are ErrNotConverged,
// ErrNotFinite, that of ctx, and that of Trace.
func Projected(ctx context.Context, L blas.General, p *Problem, opt Options) (Result, error) {
	opt = opt.withDefaults()
	n := p.N()
	zero := blas.NewGeneral(n, n)
	if err := p.check(zero); err != nil {
		return Result{Value: math.NaN(), Gap: math.NaN()}, err
	}
	s := &projected{
		p: p, opt: opt, be: opt.Backend, L: L, M: zero, w: make([]float64, n),
		Y: blas.NewGeneral(n, n), MY: blas.NewGeneral(n, n), G: blas.NewGeneral(n, n),
		next: blas.NewGeneral(n, n), Mnext: blas.NewGeneral(n, n), v: blas.NewGeneral(n, n), vw: blas.NewGeneral(n, n),
	}
	err := s.run(ctx)
	return s.res, err
}

// projected is one call of Projected. L is the iterate, Y the extrapolated
// point; M and MY are AᵀA times them, next and Mnext the candidate and AᵀA times it.
type projected struct {
	p   *Problem
	opt Options
	be  blas.Backend
	eig lanczos.Workspace
	res Result

	L, M, Y, MY, next, Mnext, G, v, vw blas.General

	w    []float64
	step float64 // 1/(Lipschitz constant of ∇g)
	t    float64 // momentum
}

func (s *projected) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		s.res.Value, s.res.Gap = math.NaN(), math.NaN()
		return err
	}
	for {
		if s.res.Iter%gapEvery == 0 || s.res.Iter >= s.opt.MaxIter {
			s.p.gradient(s.G, s.M)
			var err error
			if s.res.Gap, err = s.p.certify(ctx, s.L, s.G, &s.eig, s.opt, &s.res.Applies); err != nil {
				return err
			}
		} else {
			s.res.Gap = math.NaN()
		}
		if err := s.traceAndStop(ctx); err != nil {
			return s.close(err)
		}
		if s.p.met(s.res.Value, s.res.Gap, s.opt.Tol) {
			return nil
		}
		if s.res.Iter >= s.opt.MaxIter {
			return fmt.Errorf("%w: gap %.3g at value %.6g after %d iterations", ErrNotConverged, s.res.Gap, s.res.Value,
				s.res.Iter)
		}
		if err := s.advance(); err != nil {
			return s.close(err)
		}
	}
}

// close computes the gap at the point where the solve was stopped for another reason.
func (s *projected) close(reason error) error {
	s.p.gradient(s.G, s.M)
	gap, err := s.p.certify(context.Background(), s.L, s.G, &s.eig, s.opt, &s.res.Applies)
	if err == nil {
		s.res.Gap = gap
	}
	return reason
}

func (s *projected) traceAndStop(ctx context.Context) error {
	if s.opt.Trace != nil {
		if err := s.opt.Trace(Step{Iter: s.res.Iter, Value: s.res.Value, Gap: s.res.Gap, L: s.L}); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("frankwolfe: after %d iterations: %w", s.res.Iter, err)
	}
	return nil
}

// begin projects the start and finds the Lipschitz constant (2/l)·λ_max(AᵀA).
func (s *projected) begin() error {
	r, err := project(s.be, s.L, s.v, s.w, s.p.Tau)
	if err != nil {
		return err
	}
	compose(s.be, s.L, s.v, s.vw, s.w, r)
	blas.Copy(s.Y, s.L)
	blas.Mul(s.be, s.M, false, false, s.p.AtA, s.L)
	blas.Copy(s.MY, s.M)
	s.res.Value, s.t = s.p.value(s.L, s.M), 1
	for i := range s.p.N() {
		for _, v := range blas.Row(s.p.AtA, i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: AᵀA has an element %g", ErrNotFinite, v)
			}
		}
	}
	if err := s.be.Syevals(blas.Clone(s.p.AtA), s.w); err != nil {
		return fmt.Errorf("frankwolfe: the largest eigenvalue of AᵀA: %w", err)
	}
	s.step = 1
	if top := s.w[len(s.w)-1]; top > 0 {
		s.step = s.p.Samples / (2 * top)
	} else if norm := blas.Frob(s.p.B) * s.p.Lambda; norm > 0 {
		s.step = s.p.Tau / norm // g is linear: any step descends
	}
	return nil
}

// advance takes one accelerated step. A step that would increase g is taken
// again without momentum.
func (s *projected) advance() error {
	if err := s.projectFrom(s.Y, s.MY); err != nil {
		return err
	}
	value := s.p.value(s.next, s.Mnext)
	if !(value <= s.res.Value) && s.t > 1 {
		s.t = 1
		if err := s.projectFrom(s.L, s.M); err != nil {
			return err
		}
		value = s.p.value(s.next, s.Mnext)
	}
	s.res.Iter++
	if !(value <= s.res.Value+s.p.floor()) {
		return fmt.Errorf("%w: g rises from %.17g to %.17g", ErrNotConverged, s.res.Value, value)
	}
	t := (1 + math.Sqrt(1+4*s.t*s.t)) / 2
	beta := (s.t - 1) / t
	if blas.Inner(s.Y, s.next)-blas.Inner(s.Y, s.L)-blas.Inner(s.next, s.next)+blas.Inner(s.next, s.L) > 0 {
		t, beta = 1, 0 // ⟨Y − next, next − L⟩ > 0: momentum points uphill
	}
	s.t = t
	extrapolate(s.Y, s.next, s.L, beta)
	extrapolate(s.MY, s.Mnext, s.M, beta)
	blas.Copy(s.L, s.next)
	blas.Copy(s.M, s.Mnext)
	s.res.Value = value
	return nil
}

// extrapolate computes y = a + beta·(a − b).
func extrapolate(y, a, b blas.General, beta float64) {
	blas.Copy(y, a)
	blas.AddScaled(y, beta, a)
	blas.AddScaled(y, -beta, b)
}

// projectFrom computes next = the projection of X − step·∇g(X), and Mnext.
func (s *projected) projectFrom(X, MX blas.General) error {
	s.p.gradient(s.G, MX)
	blas.Copy(s.next, X)
	blas.AddScaled(s.next, -s.step, s.G)
	r, err := project(s.be, s.next, s.v, s.w, s.p.Tau)
	if err != nil {
		return err
	}
	compose(s.be, s.next, s.v, s.vw, s.w, r)
	blas.Mul(s.be, s.Mnext, false, false, s.p.AtA, s.next)
	return nil
}

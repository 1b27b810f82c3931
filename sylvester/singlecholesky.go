// This file solves by conjugate gradients behind a factor of K in single precision.

package sylvester

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cg"
	"github.com/iokl/iokl/internal/memory"
	"github.com/iokl/iokl/linop"
)

// singleCholesky is conjugate gradients on the decoupled columns, preconditioned by a [blockFactor] of K + σI with
// σ ≥ μ/ρ₁: the method for a large K in single precision where a sketch leaves many iterations. The factor serves until
// K changes or a new one is predicted to be cheaper.
type singleCholesky struct {
	p      blockFactor
	stale  bool // K has changed since
	broken bool // this K has no factor in single precision
	work   cg.Workspace
	rho    []float64
	mu     float64
	K      linop.Operator
}

func (s *singleCholesky) Name() string { return "cholesky" }

func (s *singleCholesky) Invalidate() { s.stale, s.broken = true, false }

// kept is the factor's σ for a K of order l, 0 where there is none.
func (s *singleCholesky) kept(l int) float64 {
	if s.stale || s.p.l != l {
		return 0
	}
	return s.p.sigma
}

// fits reports whether memory holds a factor of K, whose elements are to be known, and none has broken down.
func (s *singleCholesky) fits(K linop.Operator) bool {
	_, ok := K.(rower)
	return ok && !s.broken && (s.p.l == K.Dim() || memory.Check("", factorBytes(K.Dim()), "") == nil)
}

// behind predicts the iterations behind a factor with σ: the eigenvalues of (ρK + μI)(K + σI)⁻¹/ρ lie between 1 and
// μ/(ρσ), and conjugate gradients of condition number κ gain the factor (√κ + 1)/(√κ − 1) in each.
func behind(sigma float64, L *linop.Spectral, mu, tol float64) float64 {
	lo, hi := 1., 1.
	for _, rho := range L.S {
		ratio := mu / (rho * sigma)
		lo, hi = math.Min(lo, ratio), math.Max(hi, ratio)
	}
	root := math.Sqrt(factorError * hi / lo)
	return 1 + math.Log(2/tol)/math.Log((root+1)/(root-1))
}

// plan predicts the cost of a solve, and whether it begins with a new factor.
func (s *singleCholesky) plan(c *costs, l int, L *linop.Spectral, mu, tol float64) (cost float64, anew bool) {
	fl, r := float64(l), float64(L.Rank())
	each := c.plain.total(1, r, fl, 0) + fl*fl*(c.single[1]+c.single[2]*r)
	old, shift := math.Inf(1), mu/L.S[0]
	if sigma := s.kept(l); sigma > 0 {
		old, shift = each*behind(sigma, L, mu, tol), shift+s.p.least
	}
	cost = c.single[0]*fl*fl*fl + each*behind(shift, L, mu, tol)
	return min(cost, old), cost < old
}

func (s *singleCholesky) prepare(ctx context.Context, f *frame) error {
	if err := f.iterative(); err != nil {
		return err
	}
	f.rotate()
	s.rho, s.mu, s.K = f.rho, f.mu, f.fast
	l := f.Y.Rows
	_, anew := s.plan(costsOf(f.be), l, f.sys.L, f.sys.Mu, f.opt.Tol)
	if !anew {
		return nil
	}
	s.p.be = f.be
	sigma := f.mu / f.rho[0]
	ok, err := s.p.factorize(ctx, f.fast.(rower), l, sigma)
	s.stale, s.broken = false, err == nil && !ok
	if s.broken {
		err = fmt.Errorf("%w: Cholesky's factorization in single precision breaks down at μ/ρ = %g", ErrNotSPD, sigma)
	}
	return err
}

func (s *singleCholesky) round(ctx context.Context, f *frame, _ int) error {
	blas.Zero(f.ct)
	if !f.cold {
		f.toColumns(f.ct, f.C, f.b/f.a)
	}
	f.rotate()
	_, err := f.conjugate(ctx, &s.work, f.ct.Data, s.system(), s.inverse(), f.yt.Data)
	f.restore()
	f.cold = false
	return cmp.Or(ctx.Err(), err)
}

// system is the map of columns x_j to (ρ_j·K + μI)·x_j.
func (s *singleCholesky) system() linop.Operator {
	return onMatrices(s.K.Dim(), len(s.rho), func(dst, x blas.General) {
		s.K.Apply(dst, x)
		blas.ScaleColumns(dst, s.rho)
		blas.AddScaled(dst, s.mu, x)
	})
}

// inverse is the map of columns x_j to (K + σI)⁻¹·x_j/ρ_j.
func (s *singleCholesky) inverse() linop.Operator {
	return onMatrices(s.K.Dim(), len(s.rho), func(dst, x blas.General) {
		for i := range x.Rows {
			out := blas.Row(dst, i)
			for j, v := range blas.Row(x, i) {
				out[j] = v / s.rho[j]
			}
		}
		s.p.solve(dst)
	})
}

// Package reml learns the variance components of a mixed model with several outputs by restricted maximum likelihood:
//
//	y_Ω ~ N(Hb, V),   V = (Σ_j K_j⊗L_j + I⊗diag(σ²))_ΩΩ,   −log p = ½(log|V| + log|HᵀV⁻¹H| + yᵀα + (N−n)·log 2π),
//
// with an intercept b_k of each output, N observed cells Ω, P = V⁻¹ − V⁻¹H(HᵀV⁻¹H)⁻¹HᵀV⁻¹ and α = Py. The likelihood is
// multiplied by an inverse Wishart density of each L_j,
//
//	−log p(L_j) = ½ν(log|L_j| + mode·tr L_j⁻¹) + const.,   mode = priorVariance/m,   ν = 2(n + 1),
//
// for outputs of variance 1. This prior is the default of BGLR for several outputs (Pérez-Rodríguez and de los Campos
// 2022) without correlations. It counts as much as 2(n + 1) samples, and keeps L_j positive definite.
//
// The unknowns are σ and triangular A_j with L_j = A_jA_jᵀ. The steps are those of Newton's method with the average
// information ½αᵀ(∂V)P(∂V)α in place of the second derivatives with respect to V (Gilmour, Thompson and Cullis 1995),
// damped so that each increases the product. A step costs N³ flops and takes 16N² bytes.
//
// Predictions are those of a sum of separable kernels: [Fit] returns a [bcd.Result].
package reml

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// The prior, and the damping of Newton's steps relative to the mean diagonal of the average information. The share of
// the prior is chosen in docs/decisions/2026-11-22-likelihood-prior.md. The damping changes the steps to the maximum,
// not where it is: docs/decisions/2026-11-27-constants.md.
const (
	priorVariance = 0.5 // share of the variance that all kernels have at the mode of the prior
	dampingStart  = 1e-2
	dampingLeast  = 1e-3 // of a step that is damped because one before it failed
	dampingMost   = 1e6
	flatDirection = 1e-8  // relative to the largest: second derivatives below it count as it
	eigenDrop     = 1e-15 // eigenvalues of L_j below this part of the largest are rounding
)

// Options of [Fit]. The zero value is useful.
type Options struct {
	Tol      float64      // stop when a further step would raise the logarithm by Tol at most; 0 means 1e-4
	MaxIter  int          // steps; 0 means 1000
	Backend  blas.Backend `json:"-"` // nil means blas.Active()
	MaxBytes int64        // memory that may be taken; 0 means what is available, negative no limit
	// Trace sees every point before the step from it; an error from it stops the fit and is returned.
	Trace func(bcd.Step) error `json:"-"`
}

// Components are the estimates of a mixed model beside its output kernels L_j.
type Components struct {
	LogLikelihood float64 `json:"log_likelihood"` // restricted, of the observed cells
	// what a further step would raise it and the logarithm of the prior by, to second order
	Gain      float64   `json:"gain"`
	Noise     []float64 `json:"noise"`     // residual variance σ_k² of each output
	Intercept []float64 `json:"intercept"` // of each output, by generalised least squares
	// Shares holds for each kernel, and last for the residuals, the share of the variance of each
	// output: κ_j·(L_j)_kk and σ_k² over their sum, with κ_j the mean diagonal of K_j.
	Shares [][]float64 `json:"shares"`
}

// Fit learns the L_j, the residual variances and the intercepts for the kernels K and the targets Y (l×n), NaN where
// missing. In the result, Eta is (tr L_j)/n, C is α, and Objective is −log of likelihood times prior. This is not
// convex in the L_j: GapL and RelativeGap are no bounds, but the decrease that the next step is expected to make. A nil
// error means that it is at most what [bcd.Tolerance] allows. Data without a likelihood are [bcd.ErrInput] or
// [bcd.ErrNotPSD], with no result.
func Fit(ctx context.Context, K linop.Separate, Y blas.General, opt Options) (*bcd.Result, *Components, error) {
	tol, most := bcd.Tolerance(opt.Tol)
	opt.Tol, opt.MaxIter = tol, cmp.Or(opt.MaxIter, 1000)
	f, err := newMixed(K, Y, opt)
	if err != nil {
		return nil, nil, err
	}
	N := len(f.y)
	a := &ascent{mixed: f, opt: opt, spare: blas.NewGeneral(N, N), damping: dampingStart, gain: math.Inf(1)}
	if a.pt = f.evaluate(f.start(), blas.NewGeneral(N, N)); a.pt == nil {
		return nil, nil, fmt.Errorf("%w: the covariance of the observed cells has no Cholesky factor", bcd.ErrNotPSD)
	}
	err = a.run(ctx)
	res, c, failed := f.result(a.pt)
	if failed != nil {
		return nil, nil, failed
	}
	c.Gain, res.GapL, res.RelativeGap, res.OuterIterations = a.gain, a.gain, a.gain, a.iter
	if res.Converged = a.gain <= opt.Tol; err == nil && !(a.gain <= most) {
		err = fmt.Errorf("%w: after %d steps the next would raise the log-likelihood by %.3g, wanted %.3g",
			bcd.ErrNotConverged, a.iter, a.gain, opt.Tol)
	}
	return res, c, err
}

// ascent is the iteration of damped Newton steps.
type ascent struct {
	*mixed
	opt     Options
	pt      *point
	spare   blas.General // N×N, the memory that pt does not hold
	damping float64
	iter    int
	gain    float64 // that the next step from pt expects
}

// run takes steps until the gain is at most the tolerance, none raises the product, or the steps are spent.
func (a *ascent) run(ctx context.Context) error {
	for ; ; a.iter++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		g, information, curvature := a.derivatives(a.pt, a.spare)
		n, err := newNewton(a.be, g, information, curvature)
		if err != nil {
			return err
		}
		a.gain = n.gain
		if a.opt.Trace != nil {
			step := bcd.Step{
				Iter: a.iter, Objective: a.pt.value, GapL: a.gain, RelativeGap: a.gain, Eta: a.weights(a.pt), Rank: a.n,
			}
			if err := a.opt.Trace(step); err != nil {
				return err
			}
		}
		if a.gain <= a.opt.Tol || a.iter == a.opt.MaxIter || !a.advance(n) {
			return nil
		}
	}
}

// advance moves to where the least damping that does leads to a lower value, and reports false where none does.
func (a *ascent) advance(n *newton) bool {
	for ; a.damping < dampingMost; a.damping = math.Max(a.damping, dampingLeast) * 8 {
		x, dx := slices.Clone(a.pt.x), n.step(a.damping)
		blas.Axpy(1, dx, x)
		next := a.evaluate(x, a.spare)
		if next == nil || !(next.value < a.pt.value) {
			continue
		}
		expected := -blas.Dot(n.g, dx) / 2
		switch rise := a.pt.value - next.value; {
		case rise > expected/2:
			a.damping /= 5
		case rise < expected/5:
			a.damping *= 4
		}
		a.pt, a.spare = next, a.pt.V
		return true
	}
	return false
}

// newton is the eigendecomposition of the second derivatives and the gradient g along its vectors.
type newton struct {
	be       blas.Backend
	g        []float64
	U, along blas.General
	w        []float64 // absolute eigenvalues
	unit     float64   // mean diagonal of the information
	gain     float64   // what the objective falls by, to second order, without damping
}

// newNewton prepares steps against the gradient g by the second derivatives information +
// curvature, which it overwrites.
func newNewton(be blas.Backend, g []float64, information, curvature blas.General) (*newton, error) {
	n := &newton{be: be, g: g, U: curvature, along: blas.NewGeneral(len(g), 1), w: make([]float64, len(g))}
	n.unit = blas.Trace(information) / float64(len(g))
	blas.AddScaled(n.U, 1, information)
	if err := be.Syevd(n.U, n.w); err != nil {
		return nil, err
	}
	top := math.Max(math.Abs(n.w[0]), math.Abs(n.w[len(g)-1]))
	blas.Mul(be, n.along, true, false, n.U, blas.Vector(g))
	for i, v := range n.w {
		n.w[i] = math.Max(math.Abs(v), flatDirection*top)
		n.gain += n.along.Data[i] * n.along.Data[i] / n.w[i] / 2
	}
	return n, nil
}

// step is the damped step.
func (n *newton) step(damping float64) []float64 {
	t, dx := blas.Clone(n.along), blas.NewGeneral(len(n.g), 1)
	for i, v := range n.w {
		t.Data[i] /= -(v + damping*n.unit)
	}
	blas.Mul(n.be, dx, false, false, n.U, t)
	return dx.Data
}

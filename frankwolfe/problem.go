// Package frankwolfe minimizes a convex quadratic over the spectrahedron
//
//	S(τ) = { L symmetric positive semidefinite, tr L ≤ τ },
//
// the output kernel step of vector-valued learning:
//
//	g(L) = ‖A·L − Y‖²_F/l + λ·tr(Bᵀ·L).
//
// Frank–Wolfe ([Workspace.Solve]) solves it with a certified gap; its linear subproblem is
// one extremal eigenvector. The exact projections on the simplex, the capped simplex and S(τ) stand alone.
package frankwolfe

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// Problem is the minimization of g over S(Tau), with A and Y given by their products.
type Problem struct {
	AtA, AtY blas.General // AᵀA and AᵀY, n×n
	B        blas.General // n×n; its symmetric part is what matters
	YY       float64      // ‖Y‖²_F
	Samples  float64      // l > 0
	Lambda   float64      // λ
	Tau      float64      // τ ≥ 0
}

// Options of a solve. The zero value is useful.
type Options struct {
	Tol     float64          // stop when the gap is at most Tol·g(L), or rounding, 64·2⁻⁵³·‖Y‖²/l; 0 means 1e-6
	MaxIter int              // iterations; 0 means 10000
	Seed    uint64           // of the random part of the eigenvector computation
	Backend blas.Backend     `json:"-"` // nil means the active one
	Trace   func(Step) error `json:"-"` // sees the start and every iteration; an error stops the solve and is returned
}

// Step is what Trace sees; L is valid during the call only.
type Step struct {
	Iter  int
	Value float64 // g(L)
	Gap   float64 // bounds g(L) − min g from above; NaN where the method has not computed it
	L     blas.General
}

// Result describes a solve. Value and Gap are computed from their definitions at the returned L.
type Result struct {
	Value   float64 // g(L)
	Gap     float64 // ⟨∇g, L⟩ − τ·min(0, λ_min(∇g)) ≥ g(L) − min g
	Iter    int
	Applies int // columns multiplied by ∇g for eigenvectors
}

var (
	// ErrNotConverged says that MaxIter was spent, or rounding errors forbid further progress, before Tol was met.
	// It wraps linop.ErrNotConverged.
	ErrNotConverged = fmt.Errorf("frankwolfe: %w", linop.ErrNotConverged)
	// ErrNotFinite says that the problem or the start has an element that is NaN or infinite, or that g or its
	// gradient overflows.
	ErrNotFinite = errors.New("frankwolfe: not finite")
	// ErrInfeasible says that the start is not in S(τ).
	ErrInfeasible = errors.New("frankwolfe: the start is not in the spectrahedron")
)

// N is n, the order of the unknown.
func (p *Problem) N() int { return p.AtA.Rows }

// check panics on shapes and reports data that no solver can use.
func (p *Problem) check(L blas.General) error {
	n := p.N()
	for _, a := range []blas.General{p.AtA, p.AtY, p.B, L} {
		if a.Rows != n || a.Cols != n {
			panic("frankwolfe: shape mismatch")
		}
	}
	for _, a := range []struct {
		name string
		of   blas.General
	}{
		{"AᵀA", p.AtA},
		{"AᵀY", p.AtY},
		{"B", p.B},
		{"the start", L},
		{"‖Y‖², λ, l, τ", blas.Vector([]float64{p.YY, p.Lambda, p.Samples, p.Tau})},
	} {
		for i := range a.of.Rows {
			for _, v := range blas.Row(a.of, i) {
				if !finite(v) {
					return fmt.Errorf("%w: %s holds %g", ErrNotFinite, a.name, v)
				}
			}
		}
	}
	if !(p.Samples > 0) || !(p.Tau >= 0) {
		return fmt.Errorf("%w: %g samples, trace bound %g", ErrNotFinite, p.Samples, p.Tau)
	}
	var trace float64
	for i := range n {
		d := L.Data[i*L.Stride+i]
		if d < 0 {
			return fmt.Errorf("%w: diagonal element %d is %g", ErrInfeasible, i, d)
		}
		trace += d
	}
	if trace > p.Tau*(1+1e-9) {
		return fmt.Errorf("%w: trace %g above %g", ErrInfeasible, trace, p.Tau)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// met is the stopping test: a gap of tol·|g(L)| at most, or what rounding errors of g leave.
func (p *Problem) met(value, gap, tol float64) bool {
	return gap <= math.Max(tol*math.Abs(value), 64*0x1p-53*p.YY/p.Samples)
}

// value is g(L), given M = AᵀA·L.
func (p *Problem) value(L, M blas.General) float64 {
	return (p.YY-2*blas.Inner(p.AtY, L)+blas.Inner(L, M))/p.Samples + p.Lambda*blas.Inner(p.B, L)
}

// gradient computes dst = sym( (2/l)·(AᵀA·L − AᵀY) + λB ), given M = AᵀA·L.
func (p *Problem) gradient(dst, M blas.General) {
	for i := range p.N() {
		ay, b, out := blas.Row(p.AtY, i), blas.Row(p.B, i), blas.Row(dst, i)
		for j, v := range blas.Row(M, i) {
			out[j] = 2/p.Samples*(v-ay[j]) + p.Lambda*b[j]
		}
	}
	blas.Symmetrize(dst)
}

// Value is g(L). It allocates an n×n matrix.
func (p *Problem) Value(be blas.Backend, L blas.General) float64 {
	return p.value(L, blas.Product(blas.Or(be), false, false, p.AtA, L))
}

// denseGap is the order up to which the closing certificate takes all eigenvalues.
const denseGap = 256

// certify returns ⟨∇g, L⟩ − τ·min(0, λ_min) for the gradient G. For n ≤ 256
// λ_min comes from all eigenvalues; above that it is the Lanczos value less its
// residual norm. The multiplications spent are added to applies.
func (p *Problem) certify(
	ctx context.Context, L, G blas.General, eig *lanczos.Workspace, opt Options, applies *int,
) (float64, error) {
	inner := blas.Inner(G, L)
	if v := blas.Frob(G); !finite(v) {
		return math.NaN(), fmt.Errorf("%w: the gradient has norm %g", ErrNotFinite, v)
	}
	low, err := 0.0, error(nil)
	if p.N() <= denseGap {
		w := make([]float64, p.N())
		if err = opt.Backend.Syevals(blas.Clone(G), w); err == nil {
			low = w[0]
		}
	} else {
		size := math.Max(math.Abs(inner), p.YY/p.Samples*1e-6) // of g
		var e lanczos.Result
		e, err = eig.Eigs(ctx, linop.NewDense(G, opt.Backend), lanczos.Options{
			Which: lanczos.Smallest, Tol: 1e-12,
			AbsTol: 0.01 * opt.Tol * size / math.Max(p.Tau, 1e-300), Seed: opt.Seed, Backend: opt.Backend,
		})
		*applies += e.Applies
		if len(e.Values) > 0 {
			low = e.Values[0] - e.Residuals[0]
		}
	}
	if err != nil {
		return math.NaN(), fmt.Errorf("frankwolfe: the smallest eigenvalue of the gradient: %w", err)
	}
	return inner - p.Tau*math.Min(0, low), nil
}

// This file approximates the inverse on the observed cells by inverses on the full grid.

package sylvester

import (
	"context"
	"errors"
	"math"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// missingCells approximates the inverse of P·(K⊗L)·P/μ + I, P = diag(√w) for weights w ≤ 1, the system of the
// observed cells in units of μ, by Ā⁻¹ on the full grid, Ā = K⊗L/μ + I. A weight below 1 is
// the full one with 1/w − 1 more on the diagonal of Ā, a missing cell infinitely much more. With Q = diag(√(1−w))
// that is Ā⁻¹ with other right sides ξ, which conjugate gradients find by one application of Ā⁻¹ an iteration:
//
//	x = Ā⁻¹(P·b + Q·ξ),   (Q·Ā⁻¹·Q + P²)·ξ = Q·(P·b − Ā⁻¹·P·b),   result P·(x − Q·ξ) + Q²·b.
//
// With weights 0 and 1 these are the values ξ of the missing cells for which x is 0 there. The residual r
// leaves P·(K⊗L/μ)·Q·r of b. They stop on its norm, or on the norm of Q·r in the metric of Ā. The eigenvalues
// of Q·Ā⁻¹·Q + P² = I − Q·(I − Ā⁻¹)·Q lie in (0, 1], most of them near 1 where the
// eigenvalues of K and L fall fast, so that few iterations do (mathematics.md §11).
//
// Where weights are small in the mean, w̄, these eigenvalues gather about w̄ and 1. With (K⊗L/μ) = U·diag(t)·Uᵀ and
// UᵀQ²U ≈ (1−w̄)I, which holds for weights that vary without regard to U, the inverse is near
//
//	I + Q·U·diag(t/(1 + w̄t))·Uᵀ·Q,
//
// which then preconditions, for two products more an iteration.
//
// As it stops early, it is no linear map: it preconditions flexible iterations, as the operator that within makes.
// Scratch: 6·l·n floats.
type missingCells struct {
	cells *linop.Cells // nil for a complete grid
	grid  *spectralGrid
	mu    float64
	tol   float64 // stop when ‖P·(K⊗L/μ)·Q·r‖ is at most this, or
	rel   float64 // ‖Q·r‖ in the metric of Ā at most this part of √⟨b, result⟩
	limit int     // applications of Ā⁻¹ in all

	solves   int     // applications of Ā⁻¹ so far
	share    float64 // w̄, 1 where it is not small
	err      error
	x, p, u  blas.General
	rhs, xi  blas.General // P·b and ξ
	stripped blas.General // x − Q·ξ, or Q times another vector
}

// errLimit says that the applications of Ā⁻¹ are spent.
var errLimit = errors.New("sylvester: the full-grid solves are spent")

// sparse is the mean weight below which the correction pays: iterations fall by more than half. It and missingPatience
// change the work alone; figures in docs/decisions/2026-11-27-constants.md.
const sparse = 0.2

// missingPatience is how many iterations may pass without a lower residual.
const missingPatience = 20

func (s *missingCells) shape(l, n int) {
	s.x = blas.Reshape(s.x, l, n)
	if s.cells != nil {
		for _, a := range []*blas.General{&s.p, &s.u, &s.rhs, &s.xi, &s.stripped} {
			*a = blas.Reshape(*a, l, n)
		}
	}
}

// within is the preconditioner whose applications end with ctx.
func (s *missingCells) within(ctx context.Context) linop.Operator {
	return onMatrices(s.x.Rows, s.x.Cols, func(dst, b blas.General) { s.apply(ctx, dst, b) })
}

// apply computes out ≈ (P·(K⊗L)·P + μI)⁻¹·R for an R that is zero outside Ω. After an error, which is kept in err, and
// where rounding leaves no positive ⟨R, out⟩, it is the identity over μ.
func (s *missingCells) apply(ctx context.Context, out, R blas.General) {
	if s.err == nil {
		s.err = s.solve(ctx, R)
	}
	if s.cells == nil {
		blas.Copy(out, s.x)
	} else {
		s.result(out, R)
	}
	if s.err != nil || !(blas.Inner(R, out) > 0) {
		blas.Copy(out, R)
	}
	blas.Scal(1/s.mu, out.Data)
}

// result computes dst = P·(x − Q·ξ) + Q²·b.
func (s *missingCells) result(dst, b blas.General) {
	s.cells.ProjectMissing(s.stripped, s.xi)
	blas.Scal(-1, s.stripped.Data)
	blas.AddScaled(s.stripped, 1, s.x)
	s.cells.Project(s.stripped, s.stripped)
	s.cells.Keep(dst, b)
	s.cells.ProjectMissing(dst, dst)
	s.cells.ProjectMissing(dst, dst)
	blas.AddScaled(dst, 1, s.stripped)
}

// residual computes u = −r = Q·(x − P·b) + P²·ξ.
func (s *missingCells) residual() {
	blas.Copy(s.u, s.x)
	blas.AddScaled(s.u, -1, s.rhs)
	s.cells.ProjectMissing(s.u, s.u)
	s.cells.Project(s.stripped, s.xi)
	s.cells.Project(s.stripped, s.stripped)
	blas.AddScaled(s.u, 1, s.stripped)
}

// solve finds x and ξ for b.
func (s *missingCells) solve(ctx context.Context, b blas.General) error {
	if err := s.count(ctx); err != nil {
		return err
	}
	if s.cells == nil {
		s.grid.begin(s.x, b)
		return nil
	}
	s.cells.Project(s.rhs, b)
	blas.Zero(s.xi)
	s.grid.begin(s.x, s.rhs)
	lowest, idle := math.Inf(1), 0
	var rz, beta float64
	for first := true; ; first = false {
		s.residual()
		before := rz
		rr := blas.Inner(s.u, s.u)
		s.cells.ProjectMissing(s.stripped, s.u)
		size, energy := s.grid.residual(s.stripped)
		if !(rr > 0) || !(size > s.tol) || energy+rr <= square(s.rel)*s.form(b) {
			return nil
		}
		corrected := s.share < sparse && s.grid.correct(s.stripped, s.share)
		if rz = rr; corrected {
			s.cells.ProjectMissing(s.stripped, s.stripped)
			rz += blas.Inner(s.u, s.stripped)
			blas.AddScaled(s.u, 1, s.stripped)
		}
		if idle++; size < lowest {
			lowest, idle = size, 0
		}
		if idle >= missingPatience {
			return nil
		}
		if beta = 0; !first {
			beta = rz / before
		}
		blas.Scal(beta, s.p.Data)
		blas.AddScaled(s.p, 1, s.u)
		if err := s.count(ctx); err != nil {
			return err
		}
		s.cells.ProjectMissing(s.stripped, s.p)
		if corrected {
			s.grid.residual(s.stripped)
			beta = 0
		}
		s.grid.advance(s.u, s.stripped, beta)
		pu := blas.Inner(s.stripped, s.u) // pᵀ(Q·Ā⁻¹·Q + P²)p
		s.cells.Project(s.stripped, s.p)
		pu += blas.Inner(s.stripped, s.stripped)
		if !(pu > 0) {
			return nil // at rounding level
		}
		blas.AddScaled(s.x, -rz/pu, s.u) // p has the sign of −r
		blas.AddScaled(s.xi, -rz/pu, s.p)
	}
}

// form is ⟨b, result⟩; 0 where no part of it is asked for.
func (s *missingCells) form(b blas.General) float64 {
	if s.rel == 0 {
		return 0
	}
	s.cells.ProjectMissing(s.stripped, s.xi)
	form := blas.Inner(s.rhs, s.x) - blas.Inner(s.rhs, s.stripped)
	s.cells.Keep(s.stripped, b)
	s.cells.ProjectMissing(s.stripped, s.stripped)
	return form + blas.Inner(s.stripped, s.stripped)
}

// count looks at the context and the limit before an application of Ā⁻¹.
func (s *missingCells) count(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.solves >= s.limit {
		return errLimit
	}
	s.solves++
	return nil
}

// spectralGrid is what [missingCells] needs of Ā⁻¹, the inverse of Ā = K⊗L/μ + I on the full grid of l×n cells, by a
// decomposition of K and one of L = V·diag(ρ)·Vᵀ:
//
//	Ā⁻¹·R = R + T·(D∘(Tᵀ·R·V))·Vᵀ,   d_ij = 1/(σ_i·ρ_j/μ + 1) − 1,
//
// 4·l·q·r flops and 4·l·n·r for the rotations. Where T and V are square, R itself
// cancels and is left out. Scratch: l·r + 3·q·r floats.
type spectralGrid struct {
	be    blas.Backend
	dec   *Decomposition
	L     *linop.Spectral
	mu    float64
	rt    blas.General // l×r
	b     blas.General // Tᵀ·R·V, q×r, for b and for the residual
	p, du blas.General // the same for the direction, and D∘p
}

// ratio is σ_i·ρ/μ; an eigenvalue that rounding has made negative counts as 0.
func (g *spectralGrid) ratio(i int, rho float64) float64 {
	return max(g.dec.Sigma[i], 0) * (rho / g.mu)
}

// rotate computes b = Tᵀ·R·V.
func (g *spectralGrid) rotate(R blas.General) {
	q, r := len(g.dec.Sigma), g.L.Rank()
	g.b, g.rt = blas.Reshape(g.b, q, r), blas.Reshape(g.rt, R.Rows, r)
	g.L.Rotate(g.be, g.rt, R)
	blas.Mul(g.be, g.b, true, false, g.dec.T, g.rt)
}

// expand computes dst = Ā⁻¹·R from c = Tᵀ·R·V.
func (g *spectralGrid) expand(dst, R, c blas.General) {
	q, r := c.Rows, c.Cols
	if q == 0 || r == 0 {
		blas.Copy(dst, R)
		return
	}
	if g.dec.whole() && r == R.Cols {
		g.filter(c, func(t float64) float64 { return 1 / (t + 1) })
		blas.Mul(g.be, dst, false, true, g.rt, g.L.V)
		return
	}
	g.filter(c, func(t float64) float64 { return -t / (t + 1) })
	blas.Copy(dst, R)
	blas.Gemm(g.be, false, true, 1, g.rt, g.L.V, 1, dst)
}

// filter computes rt = T·(D∘c), d_ij = f(σ_i·ρ_j/μ).
func (g *spectralGrid) filter(c blas.General, f func(ratio float64) float64) {
	g.du = blas.Reshape(g.du, c.Rows, c.Cols)
	for i := range c.Rows {
		out := blas.Row(g.du, i)
		for j, v := range blas.Row(c, i) {
			out[j] = v * f(g.ratio(i, g.L.S[j]))
		}
	}
	blas.Mul(g.be, g.rt, false, false, g.dec.T, g.du)
}

// correct computes dst = (K⊗L/μ)·(I + share·K⊗L/μ)⁻¹·r for the r of the last residual, or reports false.
func (g *spectralGrid) correct(dst blas.General, share float64) bool {
	if g.b.Rows == 0 || g.b.Cols == 0 {
		return false
	}
	g.filter(g.b, func(t float64) float64 { return t / (1 + share*t) })
	blas.Mul(g.be, dst, false, true, g.rt, g.L.V)
	return true
}

// begin computes dst = Ā⁻¹·b.
func (g *spectralGrid) begin(dst, b blas.General) {
	g.rotate(b)
	g.expand(dst, b, g.b)
}

// residual takes hold of r. It bounds the norm of P·(K⊗L/μ)·r, and computes ⟨r, (K⊗L/μ)·r⟩.
func (g *spectralGrid) residual(r blas.General) (size, energy float64) {
	g.rotate(r)
	for i := range g.b.Rows {
		for j, v := range blas.Row(g.b, i) {
			t := g.ratio(i, g.L.S[j])
			size += square(v * t)
			energy += v * v * t
		}
	}
	return math.Sqrt(size), energy
}

// advance computes u = Ā⁻¹·p for p = r + beta·p′, with p′ of the call before.
func (g *spectralGrid) advance(u, p blas.General, beta float64) {
	g.p = blas.Reshape(g.p, g.b.Rows, g.b.Cols)
	blas.Scal(beta, g.p.Data)
	blas.AddScaled(g.p, 1, g.b)
	g.expand(u, p, g.p)
}

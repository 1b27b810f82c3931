package sylvester

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// meanField solves P·(K·(P·B)·L) + μ·B = Y on Ω, P = diag(√w), by conjugate gradients in the inner product of K. With
// L = V·Vᵀ for the n×r V, and E·A = P∘(A·Vᵀ), it is
//
//	μ·A + Eᵀ·E·K·A = Eᵀ·Y,   B = (Y − E·K·A)/μ,   A = Eᵀ·B,
//
// a system of l×r numbers that a product with K makes symmetric and positive definite. Its preconditioner is the
// inverse of A ↦ μ·A + K·A·Λ on leading eigenvectors of K, where Λ = Vᵀ·diag(w̄)·V with the mean weight w̄ of each
// column, and V is turned so that Λ is diagonal. On the cells themselves such an inverse would not be positive
// definite. An iteration multiplies K and q eigenvectors by r columns: 2·l²·r + 4·l·q·r + 4·l·n·r flops.
//
// Of cells that are balanced ([linop.Cells.Balanced]) the system is that between projections,
// Q·P·(K·(P·B)·L) + μ·B = Q·Y, whose solution has sums Σ_i √w·B of 0.
//
// Scratch: 8·l·r + l·n floats.
type meanField struct {
	be      blas.Backend
	cells   *linop.Cells
	mu      float64
	K       linop.Operator
	V       blas.General
	lambda  []float64 // Λ
	leading lowRank   // of K

	KA, R, KR, before blas.General // K times the iterate, the residual, its product with K, and the one before it
	Z, KZ, P, KP      blas.General // the preconditioned residual, the direction, and their products with K
	coordinates       blas.General
	PF                blas.General // P∘F, l×n
	measured          bool         // KR is of the solution
}

// idleIterations is how many iterations may pass without a lower residual.
const idleIterations = 20

// set is for a system. The caller gives it the leading pairs of K.
func (m *meanField) set(be blas.Backend, t *cellSystem) error {
	m.be, m.cells, m.mu, m.K = be, t.cells, t.near.Mu, t.near.K
	l, n, r := t.near.K.Dim(), t.near.L.Dim(), t.near.L.Rank()
	mean := make([]float64, n)
	t.cells.Each(func(_, j int, root float64) { mean[j] += root * root / float64(l) })
	V, weighted := t.near.L.Factor(), blas.NewGeneral(n, r)
	blas.ScaleRows(weighted, mean, V)
	Q := blas.Product(be, true, false, V, weighted)
	blas.Symmetrize(Q)
	m.lambda = make([]float64, r)
	if err := be.Syevd(Q, m.lambda); err != nil {
		return err
	}
	for b, v := range m.lambda {
		m.lambda[b] = max(v, 0) // negative by rounding
	}
	m.V = blas.Product(be, false, false, V, Q)
	for _, a := range []*blas.General{&m.KA, &m.R, &m.KR, &m.before, &m.Z, &m.KZ, &m.P, &m.KP} {
		*a = blas.Reshape(*a, l, r)
	}
	m.PF = blas.Reshape(m.PF, l, n)
	return nil
}

// spread computes PF = Q·P∘(G·Vᵀ), which is E·G.
func (m *meanField) spread(G blas.General) {
	blas.Mul(m.be, m.PF, false, true, G, m.V)
	m.cells.Project(m.PF, m.PF)
	m.cells.Balance(m.PF)
}

// gather computes dst = (P∘X)·V, which is Eᵀ·X for an X that Q leaves as it is. PF is overwritten, and may be X.
func (m *meanField) gather(dst, X blas.General) {
	m.cells.Project(m.PF, X)
	blas.Mul(m.be, dst, false, false, m.PF, m.V)
}

// solve improves B for the right side Y until the residual is at most opt.Tol. Each check of that recomputes it by its
// definition, and leaves K·EᵀB in KR. sure says that the leading pairs are those of the present K. pace is the number
// of iterations for each factor e of √⟨R, K·M⁻¹R⟩, 0 where that has not fallen by one.
func (m *meanField) solve(ctx context.Context, B, Y blas.General, sure bool, opt Options, res *Result) (
	iterations int, pace float64, err error,
) {
	aim, done, err := m.start(B, Y, opt, res)
	if done || err != nil {
		return 0, 0, err
	}
	var first, previous float64
	lowest, idle := math.Inf(1), 0
	flat := false // the curvature of a direction is within rounding of 0
	for iter := 1; ; iter++ {
		m.leading.guess(m.be, m.Z, m.R, &m.coordinates, m.lambda, m.mu)
		m.multiply(m.KZ, m.Z, res)
		energy := blas.Inner(m.R, m.KZ)
		if !finite(energy) {
			return iter, pace, fmt.Errorf("%w: a product with K", ErrNotFinite)
		}
		beta := 0.0
		if iter > 1 {
			beta = (energy - blas.Inner(m.before, m.KZ)) / previous
		} else if first = energy; sure && m.negative(energy, m.R, m.Z, m.KZ) {
			return iter, pace, fmt.Errorf("%w: ⟨R, K·R⟩ = %g", ErrNotSPD, energy)
		}
		if folds := math.Log(first/energy) / 2; folds > 1 {
			pace = float64(iter) / folds
		}
		if idle++; energy < lowest {
			lowest, idle = energy, 0
		}
		spent := iter > opt.MaxIter || idle > idleIterations || !(energy > 0) || flat
		if spent || energy <= square(aim)*first {
			m.solution(B, Y)
			switch m.measure(B, Y, res); {
			case res.Residual <= opt.Tol:
				return iter, pace, nil
			case spent:
				return iter, pace, notConverged(res, opt.Tol)
			}
			aim = 0.5 * opt.Tol / res.Residual * math.Sqrt(energy/first)
		}
		if err := ctx.Err(); err != nil {
			m.solution(B, Y)
			return iter, pace, err
		}
		if opt.Trace != nil {
			estimate := Step{Iter: res.Iter, Residual: math.Sqrt(energy / first), Columns: res.Columns}
			if err := opt.Trace(estimate); err != nil {
				m.solution(B, Y)
				m.measure(B, Y, res)
				return iter, pace, err
			}
		}
		previous = energy
		blas.Copy(m.before, m.R)
		blas.Scal(beta, m.P.Data)
		blas.Scal(beta, m.KP.Data)
		blas.AddScaled(m.P, 1, m.Z)
		blas.AddScaled(m.KP, 1, m.KZ)
		if flat, err = m.advance(); err != nil {
			return iter, pace, err
		}
	}
}

// start takes the best multiple of B, and returns the part of the energy, as a square root, at which the residual is
// to be computed, or that B is a solution.
func (m *meanField) start(B, Y blas.General, opt Options, res *Result) (aim float64, done bool, err error) {
	blas.Zero(m.KA)
	m.gather(m.P, B)
	m.gather(m.R, Y)
	if blas.Frob(m.P) == 0 {
		return opt.Tol, false, nil
	}
	m.multiply(m.KP, m.P, res)
	if _, err := m.advance(); err != nil {
		return 0, false, err
	}
	m.solution(B, Y)
	if m.measure(B, Y, res); res.Residual <= opt.Tol {
		return 0, true, nil
	}
	return 0.5 * opt.Tol / res.Residual, false, nil
}

// multiply computes dst = K·A.
func (m *meanField) multiply(dst, A blas.General, res *Result) {
	m.K.Apply(dst, A)
	res.Iter++
	res.Columns += A.Cols
}

// advance takes the step along P, and reports whether rounding leaves none. Z is overwritten.
func (m *meanField) advance() (flat bool, err error) {
	m.spread(m.KP)
	m.gather(m.Z, m.PF)
	blas.AddScaled(m.Z, m.mu, m.P)
	curvature := blas.Inner(m.KP, m.Z)
	if !(curvature > 0) {
		if m.negative(curvature, m.Z, m.P, m.KP) {
			return true, notPositive(curvature, "a direction of curvature %g", curvature)
		}
		return true, nil
	}
	step := blas.Inner(m.R, m.KP) / curvature
	blas.AddScaled(m.KA, step, m.KP)
	blas.AddScaled(m.R, -step, m.Z)
	return false, nil
}

// negative reports whether v = ⟨x, K·y⟩, which no negative eigenvalue makes negative, is so by more than rounding: of
// the product Ky, and of entries of K that may be given in single precision.
func (m *meanField) negative(v float64, x, y, Ky blas.General) bool {
	size := blas.Frob(Ky)
	if len(m.leading.s) > 0 {
		size = max(size, floats.Max(m.leading.s)*blas.Frob(y))
	}
	return math.IsNaN(v) || v < -0x1p-22*size*blas.Frob(x)
}

// solution computes B = (Y − E·K·A)/μ.
func (m *meanField) solution(B, Y blas.General) {
	m.spread(m.KA)
	blas.Copy(B, Y)
	blas.AddScaled(B, -1, m.PF)
	blas.Scal(1/m.mu, B.Data)
}

// measure computes the residual of B, and leaves it in PF with the other sign, and K·EᵀB in KR. before is overwritten.
func (m *meanField) measure(B, Y blas.General, res *Result) {
	m.gather(m.before, B)
	m.multiply(m.KR, m.before, res)
	m.measured = true
	m.spread(m.KR)
	blas.AddScaled(m.PF, m.mu, B)
	blas.AddScaled(m.PF, -1, Y)
	res.Residual = relative(blas.Frob(m.PF), blas.Frob(Y))
}

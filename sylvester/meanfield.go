package sylvester

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
)

// meanField solves P·𝒦(P·B) + μ·B = Y on Ω, P = diag(√w), by conjugate gradients in the inner product of 𝒦, the map
// C ↦ K·C·L or a sum of such. With E·A = P∘(A·Vᵀ), for L = V·Vᵀ with the n×r V or, for a sum, V = I, it is
//
//	μ·A + Eᵀ·E·𝒦A = Eᵀ·Y,   B = (Y − E·𝒦A)/μ,   A = Eᵀ·B,
//
// with 𝒦A = K·A for one term: a system that a product with 𝒦 makes symmetric and positive definite. Its preconditioner
// is the inverse of A ↦ μ·A + w̄∘(K·A·L) with the mean weight w̄ of each column, on leading eigenvectors of K. On the
// cells themselves such an inverse would not be positive definite. An iteration multiplies 𝒦 once, and q eigenvectors
// by r columns: 4·l·q·r + 4·l·n·r flops beside the product.
//
// Of cells that are balanced ([linop.Cells.Balanced]) the system is that between projections,
// Q·P·𝒦(P·B) + μ·B = Q·Y, whose solution has sums Σ_i √w·B of 0.
//
// Scratch: eight blocks of the size of A, and one of that of B.
type meanField struct {
	be      blas.Backend
	cells   *linop.Cells // nil for all, of weight 1
	mu      float64
	apply   func(dst, A blas.General) // 𝒦
	columns int                       // that it multiplies by any K

	V       blas.General // without rows for V = I
	lambda  []float64    // of the mean weights, one for each column of F
	leading lowRank      // of K
	F, H    blas.General // n×r: Fᵀ·diag(w̄)·F = Λ, and diag(w̄)·F·Λ⁻¹; unless V is F

	KA, R, KR, before  blas.General // 𝒦 times the iterate, the residual, and that before it
	Z, KZ, P, KP       blas.General // the preconditioned residual, the direction, and their products with 𝒦
	coordinates, AF, G blas.General
	PF                 blas.General // P∘F, l×n
	measured           bool         // KR is of the solution
}

// idleIterations is how many iterations may pass without a lower residual.
const idleIterations = 20

// set is for a system. The caller gives it the leading pairs of K.
func (m *meanField) set(be blas.Backend, t *cellSystem) (err error) {
	m.be, m.cells, m.mu, m.apply, m.columns = be, t.cells, t.near.Mu, t.apply, t.columns
	mean := make([]float64, t.near.L.Dim())
	l := t.near.K.Dim()
	if t.cells == nil {
		for j := range mean {
			mean[j] = 1
		}
	} else {
		t.cells.Each(func(_, j int, root float64) { mean[j] += root * root / float64(l) })
	}
	if m.F, m.lambda, err = turned(be, t.near.L, mean); err != nil {
		return err
	}
	columns := len(m.lambda)
	if m.V, m.H = m.F, (blas.General{}); !t.same || t.cells == nil {
		m.V, columns = blas.General{}, len(mean)
		m.inverse(mean)
	}
	for _, a := range []*blas.General{&m.KA, &m.R, &m.KR, &m.before, &m.Z, &m.KZ, &m.P, &m.KP} {
		*a = blas.Reshape(*a, t.near.K.Dim(), columns)
	}
	m.PF = blas.Reshape(m.PF, t.near.K.Dim(), len(mean))
	return nil
}

// inverse makes H.
func (m *meanField) inverse(mean []float64) {
	m.H = blas.Like(m.F)
	blas.ScaleRows(m.H, mean, m.F)
	inverse := make([]float64, len(m.lambda))
	for b, v := range m.lambda {
		if inverse[b] = 1 / v; !(v > 0x1p-50*floats.Max(m.lambda)) { // by rounding
			inverse[b] = 0
		}
	}
	blas.ScaleColumns(m.H, inverse)
}

// turned is the n×r F with L = F·Fᵀ for which Fᵀ·diag(mean)·F is diagonal, and that diagonal.
func turned(be blas.Backend, L *linop.Spectral, mean []float64) (F blas.General, lambda []float64, err error) {
	V, weighted := L.Factor(), blas.NewGeneral(L.Dim(), L.Rank())
	blas.ScaleRows(weighted, mean, V)
	Q := blas.Product(be, true, false, V, weighted)
	blas.Symmetrize(Q)
	lambda = make([]float64, L.Rank())
	if err := be.Syevd(Q, lambda); err != nil {
		return F, nil, err
	}
	for b, v := range lambda {
		lambda[b] = max(v, 0) // negative by rounding
	}
	return blas.Product(be, false, false, V, Q), lambda, nil
}

// precondition computes dst ≈ (μ·I + Eᵀ·E·𝒦)⁻¹·R. For a sum, with a the solution for R·F by the leading pairs of K, it
// is (R − (R·F − μ·a)·Hᵀ)/μ.
func (m *meanField) precondition(dst, R blas.General) {
	if m.H.Rows == 0 {
		m.leading.guess(m.be, dst, R, &m.coordinates, m.lambda, m.mu)
		return
	}
	m.AF, m.G = blas.Reshape(m.AF, R.Rows, m.F.Cols), blas.Reshape(m.G, R.Rows, m.F.Cols)
	blas.Mul(m.be, m.AF, false, false, R, m.F)
	m.leading.guess(m.be, m.G, m.AF, &m.coordinates, m.lambda, m.mu)
	blas.AddScaled(m.AF, -m.mu, m.G)
	blas.Copy(dst, R)
	blas.Gemm(m.be, false, true, -1, m.AF, m.H, 1, dst)
	blas.Scal(1/m.mu, dst.Data)
}

// spread computes PF = Q·P∘(G·Vᵀ), which is E·G.
func (m *meanField) spread(G blas.General) {
	if m.V.Rows == 0 {
		blas.Copy(m.PF, G)
	} else {
		blas.Mul(m.be, m.PF, false, true, G, m.V)
	}
	m.cells.Project(m.PF, m.PF)
	m.cells.Balance(m.PF)
}

// gather computes dst = (P∘X)·V, which is Eᵀ·X for an X that Q leaves as it is. PF is overwritten, and may be X.
func (m *meanField) gather(dst, X blas.General) {
	m.cells.Project(m.PF, X)
	if m.V.Rows == 0 {
		blas.Copy(dst, m.PF)
		return
	}
	blas.Mul(m.be, dst, false, false, m.PF, m.V)
}

// solve improves B for the right side Y until the residual is at most opt.Tol. Each check of that recomputes it by its
// definition, and leaves 𝒦EᵀB in KR. sure says that the leading pairs are those of the present K. pace is the number of
// iterations for each factor e of √⟨R, 𝒦M⁻¹R⟩, 0 where that has not fallen by one.
func (m *meanField) solve(ctx context.Context, B, Y blas.General, sure bool, opt Options, res *Result) (
	iterations int, pace float64, err error,
) {
	blas.Zero(m.KA)
	m.gather(m.P, B)
	m.gather(m.R, Y)
	aim := opt.Tol // the part of the first energy at which the residual is computed
	if blas.Frob(m.P) > 0 {
		m.multiply(m.KP, m.P, res)
		if _, err := m.advance(); err != nil {
			return 0, 0, err
		}
		m.solution(B, Y)
		if m.measure(B, Y, res); res.Residual <= opt.Tol {
			return 0, 0, nil
		}
		aim = 0.5 * opt.Tol / res.Residual
	}
	var first, previous float64
	lowest, idle := math.Inf(1), 0
	flat := false // the curvature of a direction is within rounding of 0
	for iter := 1; ; iter++ {
		m.precondition(m.Z, m.R)
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

// multiply computes dst = 𝒦A.
func (m *meanField) multiply(dst, A blas.General, res *Result) {
	m.apply(dst, A)
	res.Iter++
	res.Columns += m.columns
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

// solution computes B = (Y − E·𝒦A)/μ.
func (m *meanField) solution(B, Y blas.General) {
	m.spread(m.KA)
	blas.Copy(B, Y)
	blas.AddScaled(B, -1, m.PF)
	blas.Scal(1/m.mu, B.Data)
}

// measure computes the residual of B, and leaves it in PF with the other sign, and 𝒦EᵀB in KR. before is overwritten.
func (m *meanField) measure(B, Y blas.General, res *Result) {
	m.gather(m.before, B)
	m.multiply(m.KR, m.before, res)
	m.measured = true
	m.spread(m.KR)
	blas.AddScaled(m.PF, m.mu, B)
	blas.AddScaled(m.PF, -1, Y)
	res.Residual = relative(blas.Frob(m.PF), blas.Frob(Y))
}

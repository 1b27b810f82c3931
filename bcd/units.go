// This file changes the units of a problem whose numbers would leave the range of float64.

package bcd

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
)

// units is the change of variables in which a fit computes where targets, kernels, τ
// or λ are so large or so small that products of a few of them leave the range of
// float64. Primes mark the new variables:
//
//	Y = y·Y′,  K_j = k·K′_j,  C = (y/b)·C′,  L = (b/k)·L′,  η = η′,  λ = b·λ′,  τ = (b/k)·τ′.
//
// Then K_ηCL = y·K′_ηC′L′ and μC = y·μ′C′, so that C′ solves K′_ηC′L′ + μ′C′ = Y′, and
//
//	‖K_ηCL − Y‖²/l = y²·‖K′_ηC′L′ − Y′‖²/l,   λ·tr(CᵀK_ηCL) = y²·λ′·tr(C′ᵀK′_ηC′L′).
//
// The objective is y² times that of the new problem when also λω = y²λ′ω′ and
// ρ‖L‖² = y²ρ′‖L′‖², that is
//
//	ω′ = s·ω with s = b/y²,   ω′*(c) = sup ⟨η,c⟩ − sω(η) = s·ω*(c/s),   ρ′ = (b/(k·y))²·ρ,
//
// and the minimiser of Σ α′_j²/η_j + sω(η) is that of Σ (α′_j²/s)/η_j + ω(η). The l_p
// norms, whose ω is an indicator, stay as they are. y is a power of two, k and b are
// powers of four, so no step of this rounds, and square roots scale exactly too.
type units struct {
	y float64 // of the targets; its square is that of the objective and the gaps
	x float64 // of the unknown X: y/b for C; Z_j = √k·Z′_j makes it √k·y/b for W = Z_ηᵀC
	L float64 // b/k
	b float64
}

// unitRange is the size of numbers, above and below 1, that needs no change of units:
// what is computed takes at most their sixth power.
const unitRange = 0x1p64

// unitOf is the power of base, 2 or 4, next to size where that is out of range, else 1.
func unitOf(size, base float64) float64 {
	if !positive(size) || size <= unitRange && size >= 1/unitRange {
		return 1
	}
	return math.Pow(base, math.Round(math.Log2(size)/math.Log2(base)))
}

// inUnits is p, and ρ, in units in which targets and kernels are of ordinary size,
// and τ′ and μ′ of opposite ones.
func (p *Problem) inUnits(rho float64) (*Problem, units, float64) {
	y, k := p.Space.sizes()
	y, k = unitOf(y, 2), unitOf(k, 4)
	tau := p.Tau
	if p.Model.fixL() && p.L != nil {
		tau = floats.Sum(p.L.S)
	}
	b := unitOf(math.Sqrt(k)*math.Sqrt(tau)*math.Sqrt(p.Lambda*float64(p.Space.Samples())), 4)
	u := units{y: y, x: y / b, L: b / k, b: b}
	if y == 1 && k == 1 && b == 1 {
		return p, u, rho
	}
	q := *p
	if y != 1 || k != 1 {
		var root float64
		q.Space, root = p.Space.inUnits(y, k)
		u.x *= root
	}
	q.Lambda /= b
	q.Tau /= u.L
	if q.L != nil {
		q.L = &linop.Spectral{V: q.L.V, S: slices.Clone(q.L.S)}
		blas.Scal(1/u.L, q.L.S)
	}
	if _, scaleFree := q.Norm.(regularizer.Lp); !scaleFree {
		q.Norm = regularizer.InUnits{Regularizer: q.Norm, Y: y, B: b}
	}
	rho = rho * (u.L / y) * (u.L / y)
	return &q, u, rho
}

// restore turns the unknown and the output kernel into the caller's units, in place.
func (u units) restore(X blas.General, L *linop.Spectral) (blas.General, *linop.Spectral) {
	if u.x != 1 {
		blas.Scal(u.x, X.Data)
	}
	if u.L != 1 {
		blas.Scal(u.L, L.S)
	}
	return X, L
}

// value turns a value of the objective, or a difference of two, into the caller's units.
func (u units) value(v float64) float64 { return v * u.y * u.y }

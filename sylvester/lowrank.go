// This file preconditions shifted systems by a low-rank approximation of K.

package sylvester

import "github.com/iokl/iokl/blas"

// lowRank is an approximation K ≈ U·diag(s)·Uᵀ with orthonormal columns of U and
// s > 0 in descending order. As a preconditioner of every shifted system it is
//
//	P_j⁻¹ = I + U·diag(d_j)·Uᵀ,   d_ij = (ρ_j·s_q + μ)/(ρ_j·s_i + μ) − 1
//
// (mathematics.md §5.2; Frangella, Tropp, Udell, arXiv:2110.02820): it maps the
// eigenvalues it knows to ρ_j·s_q + μ and leaves the others alone.
type lowRank struct {
	U blas.General // l×q
	s []float64
}

// rank is q.
func (p *lowRank) rank() int { return len(p.s) }

// weigh turns W = Uᵀ·R into diag(d_j)·Uᵀ·r_j, column by column, and writes
// r_jᵀ·P_j⁻¹·r_j to rz, given rr_j = ‖r_j‖². The part of r_j outside the range of
// U is taken as rr_j − ‖Uᵀr_j‖², which keeps the sum positive. inside is scratch.
func (p *lowRank) weigh(W blas.General, rho []float64, mu float64, rr, rz, inside []float64) {
	clear(rz)
	clear(inside)
	low := p.s[len(p.s)-1]
	for i, s := range p.s {
		row := blas.Row(W, i)
		for a, w := range row {
			ratio := (rho[a]*low + mu) / (rho[a]*s + mu)
			inside[a] += w * w
			rz[a] += ratio * w * w
			row[a] = (ratio - 1) * w
		}
	}
	for a, sq := range inside {
		rz[a] += max(rr[a]-sq, 0)
	}
}

// guess writes to X0 the solutions of the systems with U·diag(s)·Uᵀ in the place
// of K:
//
//	x_j = b_j/μ + U·diag(1/(ρ_j·s + μ) − 1/μ)·Uᵀ·b_j
//
// W is scratch of q×r.
func (p *lowRank) guess(be blas.Backend, X0, B, W blas.General, rho []float64, mu float64) {
	blas.CopyScaled(X0, 1/mu, B)
	if p.rank() == 0 {
		return
	}
	blas.Mul(be, W, true, false, p.U, B)
	for i, s := range p.s {
		row := blas.Row(W, i)
		for j := range row {
			row[j] *= -rho[j] * s / (mu * (rho[j]*s + mu))
		}
	}
	blas.Gemm(be, false, false, 1, p.U, W, 1, X0)
}

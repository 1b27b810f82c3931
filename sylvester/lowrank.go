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

// project computes W = Uᵀ·R.
func (p *lowRank) project(be blas.Backend, W, R blas.General) {
	blas.Mul(be, W, true, false, p.U, R)
}

// weigh turns column a of W = Uᵀ·r into diag(d)·Uᵀ·r and returns rᵀ·P⁻¹·r, given
// rr = ‖r‖². The part of r outside the range of U is taken as rr − ‖Uᵀr‖², which
// keeps the sum positive.
func (p *lowRank) weigh(W blas.General, a int, rho, mu, rr float64) float64 {
	floor := rho*p.s[len(p.s)-1] + mu
	var inside, weighted float64
	for i, s := range p.s {
		w := &W.Data[i*W.Stride+a]
		ratio := floor / (rho*s + mu)
		sq := *w * *w
		inside += sq
		weighted += ratio * sq
		*w *= ratio - 1
	}
	return max(rr-inside, 0) + weighted
}

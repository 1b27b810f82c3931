// Package bcd learns input kernel, output kernel and function together:
//
//	minimise over C, L ∈ S(τ), η ≥ 0:  (1/l)‖K_η C L − Y‖²_F + λ·tr(Cᵀ K_η C L) + λ·ω(η)
//
// with K_η = Σ_j η_j K_j and S(τ) the positive semidefinite matrices of trace at
// most τ. The result carries a certificate: two rigorous bounds of what could
// still be gained by moving η or L, valid however inexactly C was computed.
//
// The problem comes in two spaces, [NewSamples] and [NewFeatures], and every
// solver runs in both:
//
//   - reduced (the default) minimises h(η, L) = λ⟨Y, (K_η⊗L + μI)⁻¹Y⟩ to a given
//     certified gap;
//   - closed alternates C steps with closed forms for η and L: fast at first, no
//     solver on the boundary of S(τ);
//   - paper is the block coordinate descent of Sindhwani, Minh and Lozano with its
//     formulas corrected;
//   - okl is the output kernel learning of Dinuzzo et al. with its penalty ρ‖L‖²_F.
package bcd

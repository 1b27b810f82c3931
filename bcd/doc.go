// Package bcd fits a vector-valued regression with kernels. Beside the coefficients C it learns the weight η_j of each
// kernel on the inputs and the output kernel matrix L, which couples the outputs:
//
//	minimise over C, L ∈ S(τ), η ≥ 0:  (1/l)‖K_η C L − Y‖²_F + λ·tr(Cᵀ K_η C L) + λ·ω(η)
//
// with K_η = Σ_j η_j K_j and S(τ) the positive semidefinite matrices of trace at most τ. The result carries a
// certificate: upper bounds of what moving η, or L, could still lower the objective by. They hold however inexactly C
// was computed.
//
// The problem has two forms, [NewSamples] with Gram matrices and [NewFeatures] with sums over features, and every
// solver takes both:
//
//   - reduced (the default) minimises h(η, L) = λ⟨Y, (K_η⊗L + μI)⁻¹Y⟩ until the certified gap meets the tolerance.
//   - closed alternates C steps with closed forms for η and L. It is fast at first, but may stop on the boundary of
//     S(τ) at a point that is not optimal.
//   - paper is the block coordinate descent of Sindhwani, Minh and Lozano with its formulas corrected.
//   - okl is the output kernel learning of Dinuzzo et al. with its penalty ρ‖L‖²_F.
//
// # Certificates
//
// GapEta and GapL hold for any coefficients. In sample space GapL is minimised over C and all C·T with T diagonal in
// the eigenvectors of G = CᵀK_ηC. Near the boundary of S(τ) this makes it smaller than the Frank–Wolfe gap by orders of
// magnitude. In feature space, where Y is not stored, it is minimised over multiples of C.
//
// In feature space ZᵀC = (H − Γ·S·W·L)/μ, with S = diag(√η), is a difference whose rounding error grows with
// ‖K_η‖·‖L‖/μ. The gaps there include a bound of that error, 2⁻⁵² times the magnitudes of the terms, so that a gap
// below rounding is reported as the bound. With [NewFeaturesOperator] the magnitudes of the terms of Γ are not known,
// and those of the sums are taken.
//
// # The solver reduced
//
// If the inner solver begins with a sketch of K_η, L is first minimised for the sketch. Steps by closed forms,
// over-relaxed for l_p weights, follow while each lowers the objective by 3 % or more. Then a projected quasi-Newton
// method moves η and L jointly. Each of its steps costs one C step, and its metric on L is that of the majorant of the
// closed form. With many outputs, or where joint steps make no progress, η and L move in turn: L is minimised for η by
// an interior point method in the eigenvectors of A_η, and η takes Newton steps where the second derivative is cheap.
// docs/decisions compares the alternatives.
//
// # Sums
//
// In the model [Sum] every kernel has an output kernel of its own. That problem is convex. Its gap bounds the distance
// to the minimum over all sums, and therefore to the minimum over all products of weights and L. The start is the
// product model. The method of reduced then moves all L_j, after a few closed forms; where few cells are observed a
// primal–dual interior point method does. Memory beside the kernels: about (3·pairs + 10)·m·n² floats. In feature space
// at most D rows stand for the samples, see [NewPatterns]: 7D² floats, and 9D³ flops once.
//
// # Many outputs
//
// The range of L lies in the range of Yᵀ. With more outputs than the rank of Y, they are reduced by a thin
// factorization first. From a rank of 4096 on, L = P·L_q·Pᵀ for a basis P of some directions of outputs, which grows
// until the certificate over all directions meets Tol. No square array of order 4096 or more is made, except by a
// [Sum]. If the optimal L has a rank of thousands, the basis stops growing before the tolerance is met, and the result
// has the gap that is left.
//
// # Limits
//
// A fit needs C steps with a relative residual of about the square root of its relative gap. No solver reaches it where
// λl is below the rounding of K_η·L, and the error is [ErrLambdaTooSmall]. Block norms and the elastic net meet this
// limit at ordinary λ with targets of 1e10 and more, because their weights grow with the targets.
//
// When its context ends, a fit ends within one product with K, one step on matrices of the outputs, or one
// decomposition: the singular values of Y at the start, and the eigenvectors of A_η, of order 3000 at most, before L is
// minimised alone.
package bcd

// Package bcd fits one regression to many outputs, and learns with it how much each kernel on the inputs counts (the
// input kernel) and how the outputs go together (the output kernel):
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
//   - closed alternates C steps with closed forms for η and L: fast at first, but it
//     may stop on the boundary of S(τ) at a point that is not optimal;
//   - paper is the block coordinate descent of Sindhwani, Minh and Lozano with its
//     formulas corrected;
//   - okl is the output kernel learning of Dinuzzo et al. with its penalty ρ‖L‖²_F.
//
// # Certificates
//
// GapEta and GapL hold for any coefficients. In sample space GapL uses, beside C,
// all C·T with T diagonal in the eigenvectors of G = CᵀK_ηC, which makes it
// smaller than the Frank–Wolfe gap by orders of magnitude near the boundary of S(τ);
// feature space, which does not hold Y, scales C by one number.
//
// In feature space ZᵀC = (H − Γ·S·W·L)/μ, with S = diag(√η), is a difference whose
// rounding grows with ‖K_η‖·‖L‖/μ. The gaps there include it, to 2⁻⁵² of the sizes of
// the terms that are added up: a gap that rounding hides is reported as large as it may
// be. A Γ known by its products only, [NewFeaturesOperator], does not tell the sizes of
// its terms; those of the sums serve.
//
// # The method of reduced
//
// Where the inner solver begins with a sketch of K_η, L first moves to its best for the
// sketch. Closed forms, those of l_p weights over-relaxed, run while they lower the
// objective by 3 % a step. Then a projected quasi-Newton method takes over, each of
// whose steps costs one C step; its metric on L is that of the closed form's majorant.
// Where there are many outputs, or the joint steps make no progress, L and η move in turn: L
// to its best for η by an interior point method that knows A_η by its eigenvectors, η by
// steps of its own, with the exact second derivative where that is cheap. How the
// alternatives compared is in docs/decisions.
//
// # Sums
//
// The model [Sum] gives every kernel an output kernel of its own. That problem is convex: its
// one gap bounds the distance from the best of all sums, and so from the best product of
// weights and L. It starts from the product model. The method of reduced moves all L_j,
// after a few closed forms. Where few cells are observed, a primal–dual interior point
// method takes its place. Memory beside the kernels: some (3·pairs + 10)·m·n² floats. In feature
// space at most D rows stand for the samples, see [NewPatterns]: 7D² floats and 9D³ flops, once.
//
// # Many outputs
//
// L lives in the range of Yᵀ: with more outputs than its rank they are reduced by a
// thin factorization first. From a rank of 4096 on, L = P·L_q·Pᵀ for a basis P of
// some directions of outputs, which grows until the certificate, taken with all of
// them, meets Tol. No square array of the order of 4096 outputs or more is made, but by a [Sum]. Where
// the optimal L is of a rank of thousands, the directions run out first: the result
// then says what gap is left.
//
// # Limits
//
// A fit needs C steps to a residual of about the square root of its relative gap. Where
// λl is below the rounding of K_η·L no solver reaches one, and the error is
// [ErrLambdaTooSmall]; block norms and the elastic net get there with targets of 1e10
// and more at ordinary λ, because their weights grow with the targets.
//
// The context ends a fit within one product with K, one step on matrices of the outputs,
// or one decomposition: the singular values of Y at the start, and the eigenvectors of
// A_η, of order 3000 at most, before L moves on its own.
package bcd

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
//
// # Certificates
//
// GapEta and GapL hold for any coefficients. In sample space GapL uses, beside C,
// all C·T with T diagonal in the eigenvectors of G = CᵀK_ηC, which makes it
// smaller than the Frank–Wolfe gap by orders of magnitude near the boundary of S(τ);
// feature space, which does not hold Y, scales C by one number.
//
// # The method of reduced
//
// Where the inner solver sketches K_η before it solves, L first moves to its best
// for the sketch, see sketchStart. Closed forms, those of l_p weights over-relaxed,
// run while they lower the objective by 3 % a step; their C steps take K_η in
// single precision where that is exact enough. On 3060 samples, 102 outputs and 10
// kernels two C steps come within 0.1 % of the optimum, in 0.45 s on two AVX-512
// cores, where double precision, closed forms from the identity and weights not
// over-relaxed took three and 0.98 s, and an eigendecomposition for every C step
// takes 9 s. Then a projected
// quasi-Newton method takes over, each of whose steps costs one C step. C steps
// to a certified relative gap, eigendecomposition as inner solver, with the
// Frank–Wolfe gap as certificate:
//
//	case (gap)                     closed   spectral  quasi-Newton   the same with
//	                               forms    gradient  20 pairs       metric on L
//	golden p=1, 1.3 (1e-8)         frozen   36, 40    20, 23         18, 16
//	golden p=1.7, 2 (1e-8)         frozen   42, 64    stalled        19, 21
//	golden, fixed weights (1e-8)   frozen   37        22             17
//	30 classes, 10 views (1e-6)                       21             12
//	130 near-collinear, p=1 (1e-6)          >1000     80             152
//
// (Fewer pairs cost more on the last: 342 C steps with 10 pairs, 487 with 5. The
// metric loses there, where L is 5×5 and easy, and wins where L matters.) The
// metric is that of the closed form's majorant, see quasiNewton; weighing η the
// same way was slower. With the certificate above, the golden cases take 12 to 18.
//
// The metric gives every pair of eigenvectors of L a weight of its own, see
// quasiNewton. Full size, 102 classes, auto as inner solver: 6 C steps to 1e-6
// where one floor for all pairs took 7, in half the time.
//
// Many outputs at a small λ were the hardest: L then has many eigenvalues that
// matter little each, and neither projected steps nor any diagonal metric see the
// curvature between them. There η and L now move in turn, see outputSteps: L to its
// best for η by an interior point method that knows A_η by its eigenvectors, see
// barrier, η by steps of its own, with the exact second derivative where that is
// cheap, see weightHessian. C steps, final gap and seconds (two cores, Tol 1e-6),
// samples × outputs; the first and the fifth were stopped after 60 steps:
//
//	case                       joint quasi-Newton   in turn
//	200×200, λ = 1e-4          61  7.5e-4  5.5 s    7   1e-8  0.31 s
//	400×100, λ = 1e-4          34  6.5e-7  1.7 s    6   4e-8  0.23 s
//	100×60, λ = 1e-4           16  6e-8    0.39 s   7   4e-9  0.04 s
//	100×60, λ = 1e-6           7   3e-10   0.19 s   6   2e-8  0.04 s
//	1500×150, λ = 1e-4         62  1.4e-5  6.5 s    14  3e-8  2.6 s (from step 6 on)
//	130 kernels, λ = 1e-2      29  8e-8    0.12 s   27  5e-8  0.11 s (from step 6 on)
//	130 kernels, λ = 1e-3      81  3e-8    0.45 s   27  1e-7  0.16 s (from step 6 on)
//
// With fifty projected steps in place of eight, the joint model of the first took 40
// C steps to less than 60 had given, in three times the time; with the diagonal of
// the second derivative in place of the whole, Newton steps for L were no better than
// that; with a sketch of A_η in place of its eigenvectors, the steps on 1020 samples
// of 102 classes took 7 C steps where the joint method takes 5. Easy fits end within
// the first five steps, which remain joint. The 130 kernels are near-collinear ones
// of 200 samples and 5 outputs: taken in turn from the start they take 20 and 24 C
// steps, in the same time at the larger λ and half as much again at the smaller.
//
// # Many outputs
//
// L lives in the range of Yᵀ: with more outputs than its rank they are reduced by a
// thin factorization first. From a rank of 4096 on, L = P·L_q·Pᵀ for a basis P of
// some directions of outputs, which grows until the certificate, taken with all of
// them, meets Tol, see maxOutputs. No square array of the order of 4096 outputs or
// more is made. Two cores: 50 000 outputs on 1000 samples (rank 1000) in 1.4 GiB,
// three arrays of the size of Y; 4500 outputs on 4500 samples with 30 latent ones
// to a gap of 1e-4 in 3 s where L has rank 5 in the end and in 5 s for rank 30.
// Where the optimal L is of a rank of thousands, the directions run out first: the
// result then says what gap is left.
package bcd

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
// Many outputs at a small λ remain the hardest: L then has many eigenvalues that
// matter little each. 60 outputs on 100 samples at λ = 1e-4, 1e-6 take 19 and 7 C
// steps to 1e-6, where a metric of condition 10 took 27 and 11. 200 outputs on 200
// samples at λ = 1e-4 take 61 to a gap of 2e-4 and 100 to 3e-5, the objective
// being within 3e-4 of its end after 30; each costs 0.2 s, most of it projections of L.
//
// The metric now gives every pair of eigenvectors of L a weight of its own, see
// quasiNewton. Full size, 102 classes and the sparse problem of 130 kernels, auto
// as inner solver, C steps to 1e-6 and below: 6 where one floor for all took 7, in
// half the time, and 35. On the 60 outputs above, 16 and 7. The 200 gain nothing (a
// gap of 6e-4 after 61), since 8 steps do not minimise the model: with 50, 40 C steps
// come nearer than 60 did, in three times the time.
package bcd

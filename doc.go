// Package iokl learns vector-valued functions f(x) = L Cᵀ k_η(x): from inputs X
// (l×d) and targets Y (l×n) it finds, together,
//
//   - the weights η of a dictionary of scalar input kernels, k_η = Σ_j η_j k_j,
//   - the output kernel L, an n×n positive semidefinite matrix that couples the outputs,
//   - the coefficients C (l×n),
//
// as a minimiser of
//
//	(1/l)‖K_η C L − Y‖²_F + λ tr(Cᵀ K_η C L) + λ ω(η),   tr L ≤ τ, η ≥ 0,
//
// and says how far from the minimum it stopped.
//
// [Fit] with zero [Options] standardises the data, makes a dictionary of
// Gaussian kernels and a linear one, chooses λ and the norm on η by
// cross-validation, and returns a [Model] that predicts, scores, explains itself
// and can be saved. [FitGram] starts from Gram matrices, [FitClasses] from class
// labels, [FitStream] from rows that are read in blocks, and [CrossValidate] compares settings. [Start] begins any of
// these fits in the background, as a [Job] that shows its progress and can be stopped with its best model so far.
//
// # Stability
//
// Packages are of two tiers.
//
//   - Stable: this package, blas, linop, cg, lanczos, frankwolfe, sylvester, kernel, rff, bcd and granger. What they
//     export keeps its meaning within a major version; the changelog names what changes before version 1.
//   - Experimental: stream, loss, regularizer, reml, schema, formula, blas/accelerate and the backends. They serve
//     the stable packages and may change in any version, but for the types that functions of stable packages take
//     or return.
//
// The solvers are usable alone. Errors of iterations that end before they meet their tolerance are [ErrNotConverged] in
// all of them.
package iokl

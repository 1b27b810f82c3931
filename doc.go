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
// labels, and [CrossValidate] compares settings.
//
// The solvers beneath, each usable alone, are in the packages bcd, sylvester,
// frankwolfe, lanczos, cg, linop, kernel and blas.
package iokl

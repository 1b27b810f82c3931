// Package rff makes random Fourier features and other explicit feature maps z: ℝᵈ → ℝᴰ.
// Their inner products give or approximate a kernel, z(x)ᵀz(x') ≈ k(x,x'), so that the
// learning problem can be solved in feature space, in memory free of the number of samples.
//
//   - Random Fourier features (Rahimi and Recht 2007) for kernels of x−x', with
//     frequencies drawn from the kernel's spectral density: pairs
//     cos(ω_iᵀx)/√n, sin(ω_iᵀx)/√n, n = D/2, or √(2/D)·cos(ω_iᵀx + b_i) with
//     random phases b_i. Their error falls as D^{-1/2}.
//   - Nyström features from landmarks, for any kernel.
//   - Exact features of linear, cosine and polynomial kernels.
//
// # Frequencies
//
//	gaussian    N(0, I/σ²)
//	matern ν    multivariate t with 2ν degrees of freedom and scale 1/σ
//	laplacian   independent Cauchy coordinates of scale 1/σ
//	cauchy      independent Laplace coordinates of scale 1/σ
//
// All come from rows g ~ N(0, I_d): a Matérn frequency is g·√(2ν/χ²_{2ν})/σ, and
// the coordinates of the last two are quantile functions of Φ(g_f). So every
// sampler of Gaussian rows serves every kernel, and whatever the dependence
// between rows, each row has exactly the right distribution and the features
// are unbiased:
//
//   - auto (the default): orthogonal or hadamard, by their cost; see
//     [kernel.Approximation.Cheapest].
//   - orthogonal: within blocks of d, the rows are orthogonal, of
//     Haar-random direction and χ_d-distributed length (Yu et al. 2016, with the
//     lengths that make them unbiased). For the Gaussian kernel the error is
//     smaller than that of independent rows.
//   - mc: independent rows.
//   - qmc: Φ⁻¹ of a Halton sequence whose digits are randomly permuted, for up
//     to some 20 features.
//   - hadamard: √d'·H D₁ H D₂ H D₃ with random signs D and Hadamard H of order
//     d' = 2^⌈log₂ d⌉, at O(log d) instead of O(d) operations a feature. Rows are
//     Gaussian only in the limit of large d: for gaussian and matern kernels on
//     several hundred features.
//
// # Pairs or phases
//
// At equal D, pairs (the default) have half as many frequencies and half the cost of the transform, and come nearer to
// the kernel: for the Gaussian kernel with orthogonal directions 2 times and more, for the Laplacian about as near.
// Twice as many frequencies, with phases that are spread evenly over the circle and each uniform, give a fit more
// functions to choose from: its error on new samples is smaller on smooth functions, and may be a little larger
// elsewhere. Figures in docs/decisions/2026-11-27-constants.md.
//
// # Memory and reproducibility
//
// A [Map] of random features is described by its kernel, its number of features
// and a seed; its JSON takes a few hundred bytes, and the frequencies are drawn
// again when it is first used. Nyström maps carry their landmarks.
package rff

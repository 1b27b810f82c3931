// Package sylvester solves K·C·L + μ·C = Y for C, with K and L symmetric
// positive semidefinite and μ > 0: the linear system at the heart of
// vector-valued ridge regression with a separable kernel. K is l×l and given as
// an operator, L = V·diag(ρ)·Vᵀ is n×n and kept in factors, so that no n×n array
// exists when its rank r is small.
//
// In the eigenvector coordinates of L the columns decouple into
// (ρ_j·K + μI)·c̃_j = ỹ_j. The solvers, by the names that [New] takes:
//
//   - nystrom: conjugate gradients on all columns side by side, each with its own
//     steps, converged columns leaving the block; one randomized Nyström
//     preconditioner serves all shifts and is kept while K changes little; from
//     order 1000 on it takes K in single precision where that is exact enough;
//   - rotated: the same without a preconditioner;
//   - krylov: Galerkin projection on one block Krylov space for all columns and
//     every L, kept until K changes; fewest multiplications by K, but O(l·d²)
//     for orthogonality;
//   - cg: the paper's conjugate gradients on the joint system of l·n unknowns;
//   - tridiagonal, eigen, cholesky: direct methods, O(l³) until K changes, then
//     O(l²·r) a solve; cholesky factors for every distinct ρ_j;
//   - bartels-stewart: by the real Schur forms of K and L, as if they were not
//     symmetric, for comparison;
//   - auto: the one predicted to be fastest.
//
// Every solver multiplies by K once more and computes ‖Y − K·C·L − μC‖_F from its
// definition before it reports success. When that misses the tolerance, another
// round corrects C from the residual: conjugate gradients go on, direct methods solve
// with the factors they have. [Tridiagonal] is K reduced once, for solves with many
// shifts; [BartelsStewart] solves the equation with general square matrices.
//
// Beside that equation: [NewMasked] solves it where cells of Y are missing, [Sum] solves
// Σ_j K_j·C·L_j + μ·C = Y, and [LeaveOut] tells what the solution would be without each
// row, all from a [Decomposition] of K, or what a sketch knows of one.
//
// Measured with the native backend on two AVX-512 cores, Gaussian kernel of 10
// inputs with γ = .05, ρ_j ∝ 0.7^j, μ = λ·l, relative residual 1e-6, set-up
// included; in brackets a second solve for a nearby L from the first solution
// (BenchmarkSolvers):
//
//	l = 3060, n = 102   λ = 1e-3            λ = 1e-5
//	eigen               2.5 s    (0.07 s)   2.9 s    (0.07 s)
//	tridiagonal         1.3 s    (0.6 s)    1.3 s    (0.5 s)
//	cg                  6.0 s    (4.3 s)
//	rotated             0.3 s    (0.2 s)    2.1 s    (1.5 s)
//	krylov              0.7 s    (0.4 s)    3.3 s    (0.7 s)
//	nystrom             0.17 s   (0.08 s)   0.9 s    (0.6 s)
//	auto                0.20 s   (0.09 s)   0.9 s    (0.6 s)
//
// docs/decisions/2026-11-21-auto.md says how auto was measured against all others.
package sylvester

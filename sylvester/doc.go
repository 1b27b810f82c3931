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
//   - a large K in single precision, which auto alone meets, has one factor in
//     single precision, that preconditions conjugate gradients and is named
//     cholesky too (blockFactor);
//   - bartels-stewart: eigen by the name of the method for general matrices, since
//     the Schur form of a symmetric matrix is its eigendecomposition;
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
// docs/performance.md compares the solvers in seconds; docs/decisions/2026-11-21-auto.md
// says how auto was measured against all others.
package sylvester

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
//   - tridiagonal, eigen, cholesky: direct methods, O(l³) once, then O(l²·r);
//     cholesky factors once for every distinct ρ_j;
//   - bartels-stewart, hessenberg-schur: by the real Schur form of L and that of
//     K, or its Hessenberg form, as if they were not symmetric, for comparison;
//   - auto: the one predicted to be fastest.
//
// Every solver recomputes ‖Y − K·C·L − μC‖_F from its definition before it
// reports success. [BartelsStewart] and [HessenbergSchur] solve the equation
// with general square matrices.
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
// Backward-error ratios of all exact solvers stay below 4 on random, graded,
// clustered and singular matrices of order 2000 (BenchmarkBackwardError).
//
// In 210 systems of order 250 to 4000 (λ of 1e-2, 1e-4 and 1e-6; L with decaying
// eigenvalues, the identity, and of rank 5; n from 1 to 1000, to 100 at order 2000 and
// 300 at 4000), measured in turns with the solvers that come near the fastest, auto
// came within 1.3 times the fastest of all in 197, or lost less than 2 ms, in 200; it
// took 1.1 times as long on average and 1.8 times at worst, and chose the fastest
// method in 164. Its costs were fitted on systems like these. It loses most where L
// has a rank of 5, and on solves of a few milliseconds, where finding out costs a
// fifth of solving. Trials of plain iterations, which have since been left out where
// they are dear, were behind most of that: 45 systems of order 1000 to 4000, among
// them all that it lost there, are now within 1.25. krylov is not among its choices:
// at rank 5 it takes from 0.7 to 7 times as long as nystrom, depending on when its
// space stops helping, and what it gains the sketch that would tell costs again. With OpenBLAS auto was within these
// bounds in 33 of 36 systems to order 1000. The case sylvester of mklbench measures
// it anew; docs/performance.md says which solver wins where.
package sylvester

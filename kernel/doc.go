// Package kernel holds scalar kernels, dictionaries of them, and their Gram and
// cross-Gram matrices.
//
// # Kernels
//
// With r = ‖x−z‖₂ over the kernel's features and width σ:
//
//	linear     xᵀz
//	poly       (γ·xᵀz + c)^q                          γ = 1/d, c = 1 by default
//	cosine     xᵀz/(‖x‖‖z‖)                            0 when x or z is 0
//	gaussian   exp(−r²/(2σ²))
//	laplacian  exp(−‖x−z‖₁/σ)
//	matern12   exp(−r/σ)
//	matern32   (1 + √3·r/σ)·exp(−√3·r/σ)
//	matern52   (1 + √5·r/σ + 5r²/(3σ²))·exp(−√5·r/σ)
//	matern     2^{1−ν}/Γ(ν)·t^ν·K_ν(t), t = √(2ν)·r/σ      of order ν; slower
//	rational   (1 + r²/(2ασ²))^(−α)                    a mixture of Gaussians; slower
//	cauchy     Π_f 1/(1 + (x_f−z_f)²/σ²)
//	chi2       exp(−χ²/σ), χ² = Σ_f (x_f−z_f)²/(x_f+z_f)   features ≥ 0, 0/0 = 0
//	precomputed                                       a Gram matrix of the caller's
//
// # SPEC strings
//
// [Kind.On] builds a SPEC in a program. [Parse] reads
//
//	SPEC     = SUM [":" FEATURES [":" WIDTHS]] OPTIONS
//	         | "linear" [":" FEATURES] OPTIONS
//	         | "cosine" [":" FEATURES] OPTIONS
//	         | "matern" ":" ORDER [":" FEATURES [":" WIDTHS]] OPTIONS
//	         | "rational" ":" ALPHA [":" FEATURES [":" WIDTHS]] OPTIONS
//	         | "poly" ":" DEGREE [":" FEATURES [":" OFFSET [":" GAMMA]]] OPTIONS
//	         | "precomputed" [":" NAME]
//	         | "rff" ":" SPEC ":" COUNT [":" SAMPLER] [":" FORM]
//	         | "nystrom" ":" SPEC ":" COUNT [":" LANDMARKS]
//	SUM      = KIND {"+" (KIND | "linear")}
//	KIND     = "gaussian" | "laplacian" | "matern12" | "matern32" | "matern52" | "cauchy" | "chi2"
//	ORDER    = ν from 0.25 to 50
//	ALPHA    = α from 0.01 to 1000
//	FEATURES = "all" | "each" | "groups" | name of a group | INDEX {"," INDEX}
//	INDEX    = i | i "-" j                            columns, counted from 0, both ends included
//	WIDTHS   = "median" | "median*" LIST | LIST
//	LIST     = ITEM {"," ITEM}
//	ITEM     = number | b "^" k | b "^" k ".." b "^" k    every integer power from the first to the last
//	OPTIONS  = {":unit" | ":center"}
//	SAMPLER  = "auto" | "orthogonal" | "mc" | "qmc" | "hadamard"
//	FORM     = "pairs" | "phases"
//	LANDMARKS = "kmeans" | "uniform"
//
// A group may come with a factor for each of its columns, with values that they are ranked
// among, or with linear combinations of them (directions), which kernels then see in place of the columns. Package iokl
// has four such groups: "ranks", and "relevant", "directions" and "ard", which it learns from the targets.
//
// "ard" is all columns, and ranks beside columns with long tails, each divided by a length that is learned for the
// kind of kernel: gaussian, laplacian, matern12, matern32 or matern52. WIDTHS multiply these lengths:
// gaussian:ard:median takes them as they are, gaussian:ard:median*0.5,1,2 is three kernels, and a width without
// median is an error. "directions" are the same with lengths along linear combinations of the columns, for each kind
// but laplacian, where the data ask for these.
//
// A sum of kinds is a kernel of each on the same features. gaussian+gaussian+matern12:ard is three kernels whose
// lengths are learned together, with their weights: they part a target that is a sum of functions of few columns each.
// linear in a sum is xᵀz/d of the standardised columns, in its exact features after "rff" and "nystrom".
//
// "each" makes one kernel of every column, "groups" one of every named group,
// and several widths one kernel of each width: gaussian:each:2^-6..2^6 is 13
// kernels for each column. FEATURES defaults to all and WIDTHS to median.
// "median*0.5,1,2" multiplies the median by each of the three numbers. SAMPLER
// defaults to auto, see [Approximation.Cheapest]; FORM to pairs, of cosine and sine.
//
// # The median heuristic
//
// The median is that of the kernel's own distance between two different samples: L1 for laplacian, χ² for chi2, and
// Euclidean for the others. So gaussian:all:median is exp(−r²/(2·med r²)), the width at which σ² is the median squared
// distance; the convention exp(−r²/med r²) is median*0.70710678. It is taken over all pairs when there are at most
// 16,384 of them, and else over that many drawn at random by the seed. Of an even number of pairs the upper of the two
// in the middle is taken, so that the median of r² is the square of that of r. Where more than half of the pairs
// coincide the median is over those that do not; data in which all coincide are an error.
//
// # Options
//
// unit replaces k(x,z) by k(x,z)/√(k(x,x)k(z,z)), 0 where either is 0. center
// replaces it by the inner product of centred features, ⟨φ(x)−φ̄, φ(z)−φ̄⟩ with φ̄
// the training mean, after unit; the training means it needs for new points are
// kept in the [Kernel] by Gram.
//
// # Adding a kernel
//
// A kernel is one value in one new file of this package: an init function calls register with the name and a
// definition, which says which metric of two samples the kernel is a function of, which parameters it has beside its
// width, and how a row of metric values becomes a row of kernel values, as in families.go. SPECs, help, error texts,
// Gram and cross-Gram matrices, the median heuristic, model files, Nyström features and TestKinds, which checks what is
// promised of every kernel, follow from the definition; random Fourier features too, where it says how frequencies are
// drawn.
package kernel

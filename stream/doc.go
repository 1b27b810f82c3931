// Package stream turns data of any length into the sums that the learning
// problem in feature space needs (docs/mathematics.md §5.5), in one pass and
// bounded memory: with features Z = Z(X) (l×D) and targets Y (l×n),
//
//	Γ = ZᵀZ,  H = ZᵀY,  ‖Y‖²,
//
// and the column sums of Z and Y, by which targets can be centred and scaled
// afterwards. Every later cost is free of l. With weights W = diag(w) of the rows they are
// ZᵀWZ, ZᵀWY and so on.
//
// An [Accumulator] takes row blocks from a [Source] of the caller's: matrices in
// memory, files, sockets. It keeps K sums apart when asked for K folds, so that
// cross-validation, or leaving out one group at a time, costs one pass and not K; and apart for
// each set of targets that rows have, where some lack targets.
// Its state can be written in the middle of a pass and read back later. Ranks of a
// parallel job accumulate rows of their own and add up their sums with
// [Accumulator.Reduce]: all that they exchange for each fold is n + 1 numbers, for the
// mean of all targets, and then D(D+1)/2 + Dn + D + 2n + 2.
//
// The pass costs D² + 2Dn flops a row (a symmetric rank-k update and a product)
// beside the transform, and K·(8D² + 8Dn) + 8·BlockRows·(D + K·(d+n+1)) bytes.
// Where D² numbers do not fit, [Gram] multiplies by Γ from the rows again and
// again, in O(Dk) memory and 4lDk flops and a pass for each multiply.
//
// The sums do not depend on the number of threads, nor on how the source cuts
// its rows into blocks, nor on interruptions; they depend on BlockRows, and on
// how rows are spread over ranks, by rounding only.
package stream

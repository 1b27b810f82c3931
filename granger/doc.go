// Package granger finds who drives whom in grouped multivariate time series,
// nonlinearly: for each node i it regresses the node's present on the past of all
// nodes, with one kernel for every source node and kernel shape, linear and Gaussian by default,
//
//	x^i_t = Σ_j Σ_s f^i_{j,s}( x^j_{t-1}, …, x^j_{t-lag} ),
//
// and a norm that is sparse in the kernels. The weights give the graph
//
//	G_ij = Σ_s η^i_{j,s},   the strength of j → i: row = target, column = source.
//
// A node of several series also learns the output kernel L^i, which shows the
// structure inside it.
//
// # Own history
//
// A node's own past is always part of its model. By default its linear part, and
// the mean, are left unpenalized: targets and kernels are projected on what they
// do not explain, so that the penalized kernels compete for what the node's own
// past cannot tell. G_ii is then 1, the whole budget Σ η = 1 of the other
// kernels, plus the weight of the node's own kernels.
//
// # Sources that act together
//
// A sum over sources misses what they do by products. Where no kernels are named and
// every node is one series, a kernel on the past of all nodes, whose metric follows the
// slopes of its own fit, adds to the strengths what it explains beyond ridge regression and
// beyond doubt: see [Result].Joint.
//
// # Replicates that relax
//
// Replicates that start from different states and return to a common one are often measured with noise, which a
// regression on values one step back has in its target and in its inputs. Where no kernels are named, regressions on
// past values filtered by the decay of the target, with at most two sources and with or without an unseen stage between
// source and target, are averaged by their likelihoods. Where they leave much less of the targets than regressions on
// the last values do, three quarters of a strength are the probability of the edge in them: see [Result].Relaxing.
//
// # Three ways to fit
//
// Kernels with explicit features (rff:, nystrom:, and linear ones on much fewer
// columns than there are samples) are fitted in feature space: one pass over the
// samples leaves sums whose size does not depend on their number, and every node
// is a problem of package bcd on them. This is the way for long series.
//
// Otherwise, with one series in every node and p = 1 all targets are fitted together: the kernels lie in memory once,
// in single precision, and both the sums K_η of all targets and all the forms cᵀK_j c are matrix products over tiles of
// that memory. Otherwise each node is a problem of package bcd, and the nodes are fitted in parallel.
//
// # Ranks
//
// The nodes may be spread over the processes of a parallel job, [Options].Ranks, and
// the rounds of a resampling: each process fits its share, then all have all models.
// All results are then those of one process in every bit, with a backend whose
// products do not depend on how many rows share a call, as native; with another one the fits
// end within their gaps of those of one process.
package granger

// Package granger finds which of several time series drive which others, by kernel regressions that are not linear.
//
// A node is a series or a named group of series. For each node i the values of its series at time t are regressed
// on the past of all nodes, with one kernel for every source node j and kernel shape s, by default a linear and a
// Gaussian one:
//
//	x^i_t = Σ_j Σ_s f^i_{j,s}( x^j_{t-1}, …, x^j_{t-lag} ).
//
// A norm that is sparse in the kernels leaves few of them with a positive weight η. The weights are the graph:
//
//	G_ij = Σ_s η^i_{j,s},   the strength of j → i: row = target, column = source.
//
// A node of several series also learns an output kernel L^i, which shows how its series go together.
//
// [Infer] returns the graph. A [Study] also answers how sure its edges are ([Study.Stability], [Study.Null],
// [Study.Improvement]), how they act ([Study.Responses]), what the series violate ([Study.Doubts],
// [Study.Simultaneous]), and what follows ([Study.Forecast]).
//
// # Own history
//
// A node's own past is always part of its model. Its linear part, and the mean, are left unpenalized where there
// are ten samples for each past value: targets and kernels are projected off the span of these, and the penalized
// kernels compete for what is left. G_ii is then 1, the sum of the weights of all kernels, plus the weights of the
// node's own kernels.
//
// # Sources that act together
//
// A sum of functions of single sources misses what two of them do by their product. Where no kernels are named and
// every node is one series, another regression has one kernel on the past of all nodes, with a metric that follows
// the slopes of its fit. What it explains beyond ridge regression is divided among the sources and added to the
// strengths: [Result].Joint.
//
// # Replicates that relax
//
// Replicates that start from different states and return to a common one are often measured with noise. In a
// regression on values one step back the noise is in the target and in the inputs. Where no kernels are named, the
// package compares such regressions with linear models of relaxation, dx_i/dt = d·(c + Σ_j β_j·p_j − x_i), whose
// inputs are filtered by the decay d of the target. Where relaxations leave much less of the targets,
// [Result].Relaxing is true, and edges have a probability beside their strength: that of the models with the edge,
// when models with at most two sources are averaged by their likelihoods. Half of the prior is the same for all
// sources, and half follows the strengths.
//
// # Computation
//
// Every node is a problem of package bcd, and nodes are fitted in parallel. Kernels with explicit features (rff:,
// nystrom:, and linear ones on much fewer columns than there are samples) are fitted in feature space: one pass
// over the samples leaves sums whose size does not depend on their number. Other kernels are kept for all samples,
// as factors where Gram matrices have a low rank and as Gram matrices in single precision where not.
//
// The nodes may be shared by the processes of a parallel job, [Options].Ranks, and so may the rounds of a
// resampling. In the end all processes have all results. These are those of one process in every bit if the
// products of the backend do not depend on how many rows share a call, as those of native do not; otherwise they
// agree within the gaps of the fits.
package granger

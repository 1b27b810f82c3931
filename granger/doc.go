// Package granger finds which of several time series drive which others, by nonlinear kernel regressions.
//
// A node is a series or a named group of series. For each node i the values of its series at time t are regressed on
// the past of all nodes, with one kernel for every source node j and kernel shape s, by default a linear and a Gaussian
// one:
//
//	x^i_t = Σ_j Σ_s f^i_{j,s}( x^j_{t-1}, …, x^j_{t-lag} ).
//
// A norm that is sparse in the kernels leaves few of them with a positive weight η. The weights are the graph:
//
//	G_ij = Σ_s η^i_{j,s},   the strength of j → i: row = target, column = source.
//
// For a node of several series an output kernel L^i is learned too, which shows how the series depend on each other.
//
// [Infer] returns the graph. A [Study] also tests edges ([Study.Stability], [Study.Null], [Study.Improvement]),
// describes the effect of a source ([Study.Responses]), tests the assumptions ([Study.Doubts], [Study.Simultaneous]),
// and forecasts ([Study.Forecast]).
//
// # Own history
//
// The past of a node itself is always part of its model. If there are at least ten samples for each past value, its
// linear part and the mean are not penalized: targets and kernels are projected on the orthogonal complement of their
// span, and the penalized kernels explain the rest. G_ii is then the sum of the weights of the node's own kernels plus
// 1, the sum of the weights of all kernels.
//
// # Interactions of sources
//
// A sum of functions of single sources cannot represent a product of two sources. If no kernels are named and every
// node is one series, a second regression has one kernel on the past of all nodes, with a metric that follows the
// gradients of its fit. What it explains beyond ridge regression is divided among the sources and added to the
// strengths: [Result.Joint].
//
// # Replicates that relax
//
// Replicates may start from different states, return to a common one, and be measured with noise. In a regression on
// values one step back the noise is then in the target and in the inputs. If no kernels are named, such regressions are
// compared with linear models of relaxation, dx_i/dt = d·(c + Σ_j β_j·p_j − x_i), whose inputs are filtered by the
// decay d of the target. If relaxations leave much less of the targets unexplained, Result.Relaxing is true, and every
// edge has a probability beside its strength: the posterior probability of the models with the edge, among the models
// with at most two sources. Half of the prior is uniform over sources, and half is proportional to the strengths.
//
// # Computation
//
// Every node is a problem of package bcd, and nodes are fitted in parallel. Kernels with explicit features (rff:,
// nystrom:, and linear ones on much fewer columns than there are samples) are fitted in feature space: one pass over
// the samples computes sums whose size does not depend on their number. Other kernels are stored for all samples, as
// factors if their Gram matrices have a low rank, and otherwise as Gram matrices in single precision.
//
// The processes of a parallel job, Options.Ranks, share the nodes, and the rounds of a resampling. At the end every
// process has all results. They have the same bits as those of one process if products of the backend do not depend on
// how many rows share a call, as with the backend native; otherwise they agree within the gaps of the fits.
package granger

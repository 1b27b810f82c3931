// This file is the case figures: the paper's first two figures, on plant leaves.

package learning

import (
	"context"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/regularizer"
)

func init() {
	bench.Register(bench.Case{
		Name:     "figures",
		Does:     "plant leaves at the paper's settings: its figures 1 and 2, objective and accuracy against time",
		Run:      runFigures,
		Minutes:  2.5,
		Conclude: concludeTarget,
		Paper:    func(group []bench.Result) []bench.Evidence { return curvesOfApproaches(group, "plant leaves") },
	})
}

// runFigures follows objective and test accuracy over time as the paper's first
// two figures do: its block coordinate descent at three degrees of inexactness and
// with exact subproblems, OKL, and ours; λ and norm are the paper's. Plant leaves
// stand in for Caltech-101, whose kernels are not at hand: as many classes, and
// twelve kernels from three views.
func runFigures(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	s := *leaves(env)
	s.lambda, s.norm = 1e-3, regularizer.Lp{P: 1.7}
	t, err := s.task(ctx, env)
	if err != nil {
		return nil, err
	}
	all := paperApproaches(1e-6)
	for i := range all {
		all[i].budget = bench.Duration(bench.Pick(env, 0.7, 30))
	}
	results, err := fitAll(ctx, env, t, all)
	timeToTarget(results)
	return lines(results), err
}

// paperApproaches are the settings of the paper's figures beside exact methods and ours.
func paperApproaches(tol float64) []approach {
	paper := func(cg float64, sdp int) bcd.Options {
		return bcd.Options{Tol: tol, Solver: "paper", Sylvester: "cg", Schedule: []bcd.Inexact{{CG: cg, SDP: sdp}}}
	}
	return []approach{
		{name: "paper, eigendecomposition", opt: bcd.Options{
			Tol: tol, Solver: "paper", Sylvester: "eigen", Schedule: []bcd.Inexact{{CG: 1e-6, SDP: 3000}},
		}},
		{name: "paper, CG 0.1 × 100", opt: paper(0.1, 100)},
		{name: "paper, CG 0.01 × 1000", opt: paper(0.01, 1000)},
		{name: "paper, CG 1e-6 × 3000", opt: paper(1e-6, 3000)},
		{name: "closed form, eigendecomposition", opt: bcd.Options{Tol: tol, Solver: "closed", Sylvester: "eigen"}},
		{name: "reduced, eigendecomposition", opt: bcd.Options{Tol: tol, Sylvester: "eigen"}},
		{name: "reduced, fast", opt: bcd.Options{Tol: tol}},
		{
			name: "OKL, eigendecomposition", opt: bcd.Options{Tol: tol, Solver: "okl", Sylvester: "eigen"},
			model: bcd.Output,
		},
	}
}

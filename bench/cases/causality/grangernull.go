// This file is the case granger-null: how often the permutation null calls an edge significant where there is none.

package causality

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/par"
)

func init() {
	bench.Register(bench.Case{
		Name:     "granger-null",
		Does:     "edges found where there are none, against the level of the permutation null",
		Run:      runGrangerNull,
		Minutes:  3,
		Conclude: concludeNull,
	})
}

// nullSystem is a kind of systems without some kind of edges, and the question asked of them.
type nullSystem struct {
	name      string
	nonlinear bool // look for edges beyond the linear ones: none is true
	make      func(seed uint64) granger.Generated
}

const nullNodes, nullRows = 5, 100

// varOf is a linear VAR with so many drivers of each node.
func varOf(drivers int) func(seed uint64) granger.Generated {
	return func(seed uint64) granger.Generated {
		return granger.LinearVAR(nullNodes, nullRows, 1, drivers, 1, seed)
	}
}

// independent has nodes whose next value is what step makes of its past values, newest first,
// and a normal number. Then spoil changes what is observed.
func independent(
	step func(rng *rand.Rand, t int, past []float64) float64, spoil func(rng *rand.Rand, X blas.General),
) func(seed uint64) granger.Generated {
	return func(seed uint64) granger.Generated {
		const burn, memory = 50, 3
		rng := rand.New(rand.NewPCG(seed, 1969))
		g := granger.Generated{
			Data:  granger.Data{X: blas.NewGeneral(nullRows, nullNodes)},
			Truth: blas.NewGeneral(nullNodes, nullNodes),
		}
		for j := range nullNodes {
			g.Data.Names = append(g.Data.Names, fmt.Sprintf("x%d", j+1))
			past := make([]float64, memory)
			for t := range burn + nullRows {
				v := step(rng, t-burn, past)
				copy(past[1:], past)
				past[0] = v
				if t >= burn {
					g.Data.X.Data[(t-burn)*nullNodes+j] = v
				}
			}
		}
		if spoil != nil {
			spoil(rng, g.Data.X)
		}
		return g
	}
}

// autoregression is x_t = 0.6·x_{t−1} + ε.
func autoregression(rng *rand.Rand, _ int, past []float64) float64 {
	return 0.6*past[0] + rng.NormFloat64()
}

// nullSystems are the plain ones, and one without any edge for each violation of the
// assumptions behind the p-values.
var nullSystems = []nullSystem{
	{"independent", false, varOf(0)},
	{"independent, nonlinear edges", true, varOf(0)},
	{"linear VAR, between unconnected nodes", false, varOf(1)},
	{"linear VAR, nonlinear edges", true, varOf(1)},
	{"nonlinear VAR, between unconnected nodes", false, func(seed uint64) granger.Generated {
		return nonlinearVAR(nullNodes, nullRows, true, seed)
	}},
	{
		"measurement noise of the size of the signal", false,
		independent(autoregression, func(rng *rand.Rand, X blas.General) {
			for k := range X.Data {
				X.Data[k] += rng.NormFloat64()
			}
		}),
	},
	{"hidden driver of all nodes", false, independent(autoregression, func(rng *rand.Rand, X blas.General) {
		h := rng.NormFloat64()
		for t := range X.Rows {
			row := blas.Row(X, t)
			for j := range row {
				row[j] += h
			}
			h = autoregression(rng, t, []float64{h})
		}
	})},
	{"random walks", false, independent(func(rng *rand.Rand, _ int, past []float64) float64 {
		return past[0] + rng.NormFloat64()
	}, nil)},
	{"own lags 1 to 3, one fitted", false, independent(func(rng *rand.Rand, _ int, past []float64) float64 {
		return 0.3*past[0] + 0.2*past[1] + 0.3*past[2] + rng.NormFloat64()
	}, nil)},
	{
		"spread that grows fivefold, at five scales", false,
		independent(func(rng *rand.Rand, t int, past []float64) float64 {
			return 0.6*past[0] + rng.NormFloat64()*(1+4*math.Max(0, float64(t))/nullRows)
		}, func(_ *rand.Rand, X blas.General) {
			for k := range X.Data {
				X.Data[k] *= math.Pow(100, float64(k%X.Cols)-2)
			}
		}),
	},
	{"3 % of the cells missing", false, independent(autoregression, func(rng *rand.Rand, X blas.General) {
		for k := range X.Data {
			if rng.Float64() < 0.03 {
				X.Data[k] = math.NaN()
			}
		}
	})},
}

// runGrangerNull counts the edges that the permutation null calls significant
// where there are none, over many simulated systems, and how often the output names a violation.
func runGrangerNull(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	const rounds, level = 19, 0.05
	runs := bench.Pick(env, 4, 60)
	var results []bench.Result
	for _, s := range nullSystems {
		start := time.Now()
		outcomes, errs := make([]nullOutcome, runs), make([]error, runs)
		par.For(runs, func(k int) { outcomes[k], errs[k] = s.run(ctx, env, env.Seed+uint64(k), rounds, level) })
		if err := cmp.Or(errs...); err != nil {
			return results, fmt.Errorf("%s: %w", s.name, err)
		}
		r := bench.Result{Name: s.name, Params: map[string]any{
			"nodes": nullNodes, "rows": nullRows, "runs": runs, "rounds": rounds, "level": level,
		}}
		r.Time([]float64{time.Since(start).Seconds()})
		recordNull(&r, outcomes)
		results = append(results, r)
	}
	return results, nil
}

// run tests all edges of one system.
func (s *nullSystem) run(
	ctx context.Context, env *bench.Env, seed uint64, rounds int, level float64,
) (o nullOutcome, err error) {
	g := s.make(seed)
	study, err := granger.NewStudy(ctx, &g.Data, granger.Options{
		HoldOut: -1, Nonlinear: s.nonlinear, Seed: seed, Backend: env.Backend,
	})
	if err != nil {
		return o, err
	}
	c, err := study.Null(ctx, granger.Rounds{To: rounds})
	if err != nil {
		return o, err
	}
	o = s.judge(g.Truth.Data, c.PValues().Data, nullNodes, level)
	doubts, err := study.Doubts(ctx, level)
	if len(doubts) > 0 {
		o.named = 1
	}
	return o, err
}

// nullOutcome counts, of one system, the entries without and with an edge and those of them that are significant. named
// is 1 where the output names a violation of the assumptions.
type nullOutcome struct{ none, wrong, edges, found, named float64 }

func (s *nullSystem) judge(truth, p []float64, nodes int, level float64) (o nullOutcome) {
	for k, v := range p {
		if k%(nodes+1) == 0 {
			continue // the node's own past
		}
		all, low := &o.none, &o.wrong
		if truth[k] != 0 && !s.nonlinear {
			all, low = &o.edges, &o.found
		}
		*all++
		if v <= level {
			*low++
		}
	}
	return o
}

// recordNull notes the rates. The entries of one system are correlated, those of
// different ones are not: the standard error is that of the mean over the systems.
func recordNull(r *bench.Result, outcomes []nullOutcome) {
	var sum nullOutcome
	for _, o := range outcomes {
		sum.none, sum.wrong = sum.none+o.none, sum.wrong+o.wrong
		sum.edges, sum.found, sum.named = sum.edges+o.edges, sum.found+o.found, sum.named+o.named
	}
	rate, n, ss := sum.wrong/sum.none, float64(len(outcomes)), 0.0
	for _, o := range outcomes {
		d := (o.wrong - rate*o.none) * n / sum.none
		ss += d * d
	}
	r.Metric("false_positive_rate", rate)
	r.Metric("standard_error", math.Sqrt(ss)/n)
	r.Metric("named", sum.named/n)
	r.Metric("true_positive_rate", sum.found/sum.edges) // no number without edges
}

var concludeNull = bench.Say(`
{{range .}}{{.Name}}: {{value "false_positive_rate" . | mul 100.0 | printf "%.2f"}} % ±
{{value "standard_error" . | mul 100.0 | printf "%.2f"}} % of the entries without an edge are significant at the level
of
{{.Number "level" | mul 100.0 | printf "%.3g"}} %, in {{.Param "runs"}} systems; in
{{value "named" . | mul 100.0 | printf "%.0f"}} % of them the output names a violation.
{{end}}`)

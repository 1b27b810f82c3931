package causality

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/par"
)

func init() {
	bench.Register(bench.Case{
		Name:     "granger-null",
		Does:     "edges found where there are none, against the level of the permutation null",
		Run:      runGrangerNull,
		Minutes:  1,
		Conclude: concludeNull,
	})
}

// nullSystem is a kind of systems without some kind of edges, and the question asked of them.
type nullSystem struct {
	name      string
	drivers   int  // of each variable
	nonlinear bool // look for edges beyond the linear ones: none is true
}

var nullSystems = []nullSystem{
	{"independent", 0, false},
	{"independent, nonlinear edges", 0, true},
	{"linear VAR, between unconnected nodes", 1, false},
	{"linear VAR, nonlinear edges", 1, true},
}

// runGrangerNull counts the edges that the permutation null calls significant
// where there are none, over many simulated systems.
func runGrangerNull(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	const nodes, rows, rounds, level = 5, 100, 19, 0.05
	runs := bench.Pick(env, 6, 200)
	var results []bench.Result
	for _, s := range nullSystems {
		start := time.Now()
		outcomes, errs := make([]nullOutcome, runs), make([]error, runs)
		par.For(runs, func(k int) {
			g := granger.LinearVAR(nodes, rows, 1, s.drivers, 1, env.Seed+uint64(k))
			opt := granger.Options{HoldOut: -1, Nonlinear: s.nonlinear, Seed: env.Seed + uint64(k), Backend: env.Backend}
			study, err := granger.NewStudy(ctx, &g.Data, opt)
			if errs[k] = err; err != nil {
				return
			}
			c, err := study.Null(ctx, granger.Rounds{To: rounds})
			if errs[k] = err; err == nil {
				outcomes[k] = s.judge(g.Truth.Data, c.PValues().Data, nodes, level)
			}
		})
		for _, err := range errs {
			if err != nil {
				return results, err
			}
		}
		r := bench.Result{Name: s.name, Params: map[string]any{"nodes": nodes, "rows": rows, "runs": runs, "rounds": rounds, "level": level}}
		r.Time([]float64{time.Since(start).Seconds()})
		recordNull(&r, outcomes)
		results = append(results, r)
	}
	return results, nil
}

// nullOutcome counts, of one system, the entries without and with an edge and
// those of them that are significant.
type nullOutcome struct{ none, wrong, edges, found float64 }

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

// recordNull notes the rates. The entries of one system hang together, those of
// different ones do not: the standard error is that of the mean over the systems.
func recordNull(r *bench.Result, outcomes []nullOutcome) {
	var sum nullOutcome
	for _, o := range outcomes {
		sum.none, sum.wrong = sum.none+o.none, sum.wrong+o.wrong
		sum.edges, sum.found = sum.edges+o.edges, sum.found+o.found
	}
	rate, n, ss := sum.wrong/sum.none, float64(len(outcomes)), 0.0
	for _, o := range outcomes {
		d := (o.wrong - rate*o.none) * n / sum.none
		ss += d * d
	}
	r.Metric("false_positive_rate", rate)
	r.Metric("standard_error", math.Sqrt(ss)/n)
	r.Metric("true_positive_rate", sum.found/sum.edges) // no number without edges
}

func concludeNull(group []bench.Result) []string {
	var out []string
	for _, r := range group {
		rate, se := r.Metrics["false_positive_rate"], r.Metrics["standard_error"]
		level, verdict := r.Number("level"), "within"
		if rate > level+2*se {
			verdict = "above"
		}
		out = append(out, fmt.Sprintf("%s: %.2f %% ± %.2f %% of the entries without an edge are significant at the level of %.3g %%, %s it, in %s systems.",
			r.Name, 100*rate, 100*se, 100*level, verdict, r.Param("runs")))
	}
	return out
}

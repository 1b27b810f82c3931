package causality

import (
	"context"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/granger"
)

func init() {
	bench.Register(bench.Case{
		Name: "granger-large",
		Does: "a causal graph of 100 nodes from 200 kernels on 1000 samples: time and memory",
		Run:  runGrangerLarge,
	})
}

// runGrangerLarge infers the graph of a linear system with many nodes from kernels of
// two widths: what time and memory it takes.
func runGrangerLarge(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	nodes, samples := bench.Pick(env, 20, 100), bench.Pick(env, 200, 1000)
	g := granger.LinearVAR(nodes, samples+1, 1, 3, 1, env.Seed)
	w := network{"linear VAR", g.Data, g.Truth}
	start := time.Now()
	graph, err := inferred([]string{"gaussian:groups:median*0.5,1"})(ctx, env, &w.data)
	if err != nil {
		return nil, err
	}
	r := w.result("two widths", graph, time.Since(start).Seconds())
	r.Params["samples"], r.Params["kernels"] = samples, 2*nodes
	return []bench.Result{r}, nil
}

package bench

import (
	"context"
	"time"

	"github.com/iokl/iokl/granger"
)

// runGrangerLarge infers the graph of a linear system with many nodes from kernels of
// two widths: what time and memory it takes.
func runGrangerLarge(ctx context.Context, env *Env) ([]Result, error) {
	nodes, samples := pick(env, 20, 100), pick(env, 200, 1000)
	g := granger.LinearVAR(nodes, samples+1, 1, 3, 1, env.Seed)
	w := network{"linear VAR", g.Data, g.Truth}
	start := time.Now()
	graph, err := inferred([]string{"gaussian:groups:median*0.5,1"})(ctx, env, &w.data)
	if err != nil {
		return nil, err
	}
	r := w.result("two widths", graph, time.Since(start).Seconds())
	r.Params["samples"], r.Params["kernels"] = samples, 2*nodes
	return []Result{r}, nil
}

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// runDrosophila follows the paper's gene experiment: groups of genes of one
// function through the fly's life cycle, lag 7, λ = 1e-3; linear or nonlinear
// kernels, the output kernel learned or the identity.
func runDrosophila(ctx context.Context, env *Env) ([]Result, error) {
	d, err := lifeCycle(env, pick(env, 3, 66))
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, c := range []struct {
		name, kernels string
		fixL          bool
	}{
		{"linear, L = I", "linear:groups", true},
		{"linear, L learned", "linear:groups", false},
		{"nonlinear, L = I", "gaussian:groups:median", true},
		{"nonlinear, L learned", "gaussian:groups:median", false},
	} {
		start := time.Now()
		res, err := granger.Infer(ctx, d, granger.Options{
			Lag: 7, Kernels: []string{c.kernels}, Lambda: 1e-3, FixL: c.fixL, HoldOut: 0.2, Seed: env.Seed, Backend: env.Backend,
		})
		if err != nil {
			return results, err
		}
		r := Result{Name: c.name, Params: map[string]any{"groups": len(d.Nodes), "genes": d.X.Cols, "lag": 7, "lambda": 1e-3}}
		r.time([]float64{time.Since(start).Seconds()})
		recordGroups(&r, res)
		results = append(results, r)
	}
	return results, nil
}

// recordGroups notes the hold-out error of each group beside that of its mean
// over the time fitted to, and how strongly it drives the others: the sum of its
// column of the graph without the diagonal. Groups are too large for their own
// linear past to be left unpenalized.
func recordGroups(r *Result, res *granger.Result) {
	var rmse, mean []float64
	for k, f := range res.Fits {
		rmse, mean = append(rmse, f.RMSE), append(mean, f.RMSEOwn)
		r.metric("rmse of "+f.Node, f.RMSE)
		var out float64
		for i := range res.Graph.Rows {
			if i != k {
				out += res.Graph.Data[i*res.Graph.Stride+k]
			}
		}
		r.metric(outStrength+f.Node, out)
	}
	r.metric("mean_rmse", average(rmse))
	r.metric("mean_rmse_constant", average(mean))
}

const outStrength = "out-strength of "

// mostCentral are the groups that drive the others most, the strongest first.
func mostCentral(r *Result, count int) []string {
	var groups []string
	for key := range r.Metrics {
		if g, ok := strings.CutPrefix(key, outStrength); ok {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Metrics[outStrength+b], r.Metrics[outStrength+a]), cmp.Compare(a, b))
	})
	return groups[:min(count, len(groups))]
}

// groupFigures shows the hold-out error of each group for every setting, the
// groups in the order of their error in the first.
func groupFigures(group []Result) []figure {
	const prefix = "rmse of "
	fig := figure{
		name: "drosophila-groups", title: "fruit fly: hold-out error of each group of genes",
		xLabel: "group, in the order of the first setting's error", yLabel: "RMSE (standard deviations)",
	}
	var order []string
	for key := range group[0].Metrics {
		if strings.HasPrefix(key, prefix) {
			order = append(order, key)
		}
	}
	first := group[0].Metrics
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a, b)) })
	if len(order) < 2 {
		return nil
	}
	for _, r := range group {
		c := curve{name: r.Name}
		for i, key := range order {
			if v, ok := r.Metrics[key]; ok {
				c.xy = append(c.xy, plotter.XY{X: float64(i + 1), Y: v})
			}
		}
		if len(c.xy) > 0 {
			fig.curves = append(fig.curves, c)
		}
	}
	return []figure{fig}
}

// lifeCycle reads the genes of the first groups, in the order of time, without
// the unfertilised egg.
func lifeCycle(env *Env, groups int) (*granger.Data, error) {
	expression, err := env.readText("drosophila", "arbeitman_4028x67.csv")
	if err != nil {
		return nil, err
	}
	members, err := env.readText("drosophila", "go_bp_groups_min25.csv")
	if err != nil {
		return nil, err
	}
	var chosen []string
	var genes [][2]string
	for _, m := range members[1:] {
		if !slices.Contains(chosen, m[0]) {
			if len(chosen) == groups {
				continue
			}
			chosen = append(chosen, m[0])
		}
		genes = append(genes, [2]string{m[1], m[0]})
	}
	rows := map[string][]string{}
	for _, e := range expression[1:] {
		rows[e[0]] = e[2:]
	}
	return assemble(genes, rows)
}

// assemble makes a node of each group; a gene in several groups is a series in each.
func assemble(genes [][2]string, expression map[string][]string) (*granger.Data, error) {
	times := 0
	for _, e := range expression {
		times = len(e)
	}
	d := &granger.Data{X: blas.NewGeneral(times, len(genes))}
	var pairs [][2]string
	for j, g := range genes {
		values, ok := expression[g[0]]
		if !ok {
			return nil, fmt.Errorf("drosophila: gene %s has no expression", g[0])
		}
		name := g[0] + "@" + g[1]
		d.Names = append(d.Names, name)
		pairs = append(pairs, [2]string{name, g[1]})
		for i, text := range values {
			var v float64
			if _, err := fmt.Sscan(strings.TrimSpace(text), &v); err != nil {
				return nil, fmt.Errorf("drosophila: gene %s: %w", g[0], err)
			}
			d.X.Data[i*d.X.Stride+j] = v
		}
	}
	var err error
	d.Nodes, err = granger.Group(d.Names, pairs)
	return d, err
}

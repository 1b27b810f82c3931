// This file is the case drosophila: causal graphs of groups of genes at the settings of the paper.

package causality

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

func init() {
	bench.Register(bench.Case{
		Name:      "drosophila",
		Topic:     bench.Learning,
		Does:      "groups of genes through the life cycle of the fly: the paper's figures 3 and 4",
		Run:       runDrosophila,
		Published: genesTable,
	})
}

// The settings of the paper that have names in its figures.
const (
	genesLinear    = "linear, L learned"
	genesNonlinear = "nonlinear, L learned"
)

// runDrosophila follows the paper's gene experiment: groups of genes of one function through the fly's life cycle,
// lag 7, λ = 1e-3; linear or nonlinear kernels, the output kernel learned or the identity.
func runDrosophila(ctx context.Context, env *bench.Env) error {
	d, err := lifeCycle(env, bench.Pick(env, 3, 66))
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name, kernels string
		fixL          bool
	}{
		{"linear, L = I", "linear:groups", true},
		{genesLinear, "linear:groups", false},
		{"nonlinear, L = I", "gaussian:groups:median", true},
		{genesNonlinear, "gaussian:groups:median", false},
	} {
		start := time.Now()
		res, err := granger.Infer(ctx, d, granger.Options{
			Lag: 7, Kernels: []string{c.kernels}, Lambda: 1e-3, FixL: c.fixL, HoldOut: 0.2, Seed: env.Seed,
			Backend: env.Backend,
		})
		if err != nil {
			return err
		}
		var central []string
		for _, node := range res.Central(0)[:min(3, len(res.Nodes))] {
			central = append(central, node.Node)
		}
		r := bench.Result{Name: c.name, Params: map[string]any{
			"groups": len(d.Nodes), "genes": d.X.Cols, "central": strings.Join(central, ", "),
		}}
		r.Time([]float64{time.Since(start).Seconds()})
		var rmse, own []float64
		for _, f := range res.Fits {
			rmse, own = append(rmse, f.RMSE), append(own, f.RMSEOwn)
		}
		r.Metric("mean_rmse", stat.Mean(rmse, nil))
		r.Metric("mean_rmse_constant", stat.Mean(own, nil)) // groups are too large for a past of their own
		env.Add(r)
	}
	return nil
}

// lifeCycle reads the genes of the first groups, in the order of time. A gene in several groups is a series in each.
func lifeCycle(env *bench.Env, groups int) (*granger.Data, error) {
	tables := map[string][][]string{}
	for _, name := range []string{"arbeitman_4028x67.csv", "go_bp_groups_min25.csv", "go_bp_terms.csv"} {
		t, err := data.ReadText(env, "drosophila", name)
		if err != nil {
			return nil, err
		}
		tables[name] = t[1:]
	}
	titles, levels := map[string]string{}, map[string][]string{}
	for _, row := range tables["go_bp_terms.csv"] {
		titles[row[0]] = row[1]
	}
	for _, row := range tables["arbeitman_4028x67.csv"] {
		levels[row[0]] = row[2:] // without the unfertilised egg
	}
	d := &granger.Data{}
	var pairs [][2]string // of series and group
	chosen := map[string]bool{}
	var genes [][]string
	for _, m := range tables["go_bp_groups_min25.csv"] {
		if !chosen[m[0]] && len(chosen) == groups {
			continue
		}
		chosen[m[0]] = true
		series := m[1] + "@" + m[0]
		d.Names, pairs = append(d.Names, series), append(pairs, [2]string{series, cmp.Or(titles[m[0]], m[0])})
		genes = append(genes, levels[m[1]])
	}
	d.X = blas.NewGeneral(len(genes[0]), len(genes))
	for j, texts := range genes {
		for i := range d.X.Rows {
			v, err := strconv.ParseFloat(strings.TrimSpace(texts[i]), 64)
			if err != nil {
				return nil, fmt.Errorf("drosophila: %s: %w", d.Names[j], err)
			}
			blas.Row(d.X, i)[j] = v
		}
	}
	var err error
	d.Nodes, err = granger.Group(d.Names, pairs)
	return d, err
}

// genesTable sets what the paper says of its figures beside what was measured. Its curves are not at hand as numbers.
func genesTable(group []bench.Result) *bench.Table {
	t := &bench.Table{
		Head: []string{"in the paper", "published", "measured here"}, Words: true,
		Source: "V. Sindhwani, H. Q. Minh, A. C. Lozano, UAI 2013.",
	}
	var errors []string
	for _, r := range group {
		errors = append(errors, fmt.Sprintf("%s %.3f", r.Name, r.Metrics["mean_rmse"]))
	}
	t.Rows = [][]string{{
		"Figure 3, error of groups of genes on held-out times", genesNonlinear + ", is best",
		strings.Join(errors, "; "),
	}}
	for _, c := range [][2]string{
		{genesLinear, "lipid binding, GTPase activity"}, {genesNonlinear, "helicase activity"},
	} {
		if r := bench.Lookup(group, c[0]); r != nil {
			t.Rows = append(t.Rows, []string{"Figure 4, central groups, " + c[0], c[1], r.Param("central")})
		}
	}
	return t
}

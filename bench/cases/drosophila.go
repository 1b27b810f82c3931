package cases

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
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
		{"linear, L learned", "linear:groups", false},
		{"nonlinear, L = I", "gaussian:groups:median", true},
		{"nonlinear, L learned", "gaussian:groups:median", false},
	} {
		var res *granger.Result
		r, err := env.Time(c.name, map[string]any{"groups": len(d.Nodes), "genes": d.X.Cols}, func() (err error) {
			res, err = granger.Infer(ctx, d, granger.Options{
				Lag: 7, Kernels: []string{c.kernels}, Lambda: 1e-3, FixL: c.fixL, HoldOut: 0.2, Seed: env.Seed,
				Backend: env.Backend,
			})
			return err
		})
		if err != nil {
			return err
		}
		var central []string
		for _, node := range res.Central(0)[:min(3, len(res.Nodes))] {
			central = append(central, node.Node)
		}
		r.Params["central"] = strings.Join(central, ", ")
		var rmse, own []float64
		for _, f := range res.Fits {
			rmse, own = append(rmse, f.RMSE), append(own, f.RMSEOwn)
		}
		r.Metric("mean_rmse", stat.Mean(rmse, nil))
		r.Metric("mean_rmse_constant", stat.Mean(own, nil)) // groups are too large for a past of their own
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

// This file sets the paper's figures about genes beside what is measured here.

package causality

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// foldingGroup is the biological process nearest to "unfolded protein binding", the
// group whose output kernel the paper draws.
const foldingGroup = "protein folding"

// paperGenes are figures 3, 4 and 5 of the paper.
func paperGenes(group []bench.Result) []bench.Evidence {
	chart := groupChart(group)
	chart.Title = "As figure 3: error of each group of genes"
	out := []bench.Evidence{{
		Item:      "Figure 3, hold-out RMSE of groups of genes: best of four settings",
		Published: "nonlinear L (nonlinear kernels, L learned)",
		Measured:  strings.Join(geneErrors(group), " "), Figures: chart.Figures("drosophila-rmse"),
	}}
	for _, kind := range []struct {
		name, central string
	}{{"linear", "lipid binding, GTPase activity"}, {"nonlinear", "helicase activity"}} {
		r := bench.Lookup(group, kind.name+", L learned")
		if r == nil {
			continue
		}
		e := bench.Evidence{
			Item: fmt.Sprintf("Figure 4, central groups of the %s graph", kind.name), Published: kind.central,
			Measured: strings.Join(mostCentral(r, 3), ", "),
		}
		if r.Graph != nil {
			h := graphHeat(r)
			h.Title = "As figure 4: strength of source → target, " + r.Name
			e.Figures = []picture.Figure{h.Figure("drosophila-" + kind.name), strongestEdges(r, h)}
		}
		out = append(out, e)
	}
	if o := foldingKernel(group); o != nil {
		h := outputHeat(o)
		h.Title = "As figure 5: output kernel of " + o.Node + ", as correlation"
		out = append(out, bench.Evidence{
			Item:      "Figure 5, dependencies between the genes of one group",
			Published: "drawn for unfolded protein binding, without numbers",
			Measured:  strongestPairs(o, 5), Figures: []picture.Figure{h.Figure("drosophila-output")},
		})
	}
	return out
}

// foldingKernel is the L of the paper's group where it was learned, or else of another group.
func foldingKernel(group []bench.Result) *bench.OutputKernel {
	r := bench.Lookup(group, "nonlinear, L learned")
	if r == nil || len(r.Outputs) == 0 {
		return nil
	}
	return &r.Outputs[0]
}

// strongestPairs are the series that an output kernel ties most.
func strongestPairs(o *bench.OutputKernel, count int) string {
	type pair struct{ i, j int }
	var pairs []pair
	for i := range o.Correlation {
		for j := range i {
			pairs = append(pairs, pair{i, j})
		}
	}
	strength := func(p pair) float64 { return math.Abs(o.Correlation[p.i][p.j]) }
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(strength(b), strength(a)) })
	var parts []string
	for _, p := range pairs[:min(count, len(pairs))] {
		parts = append(parts, fmt.Sprintf("%s and %s %.2f", o.Series[p.j], o.Series[p.i], o.Correlation[p.i][p.j]))
	}
	which := "the nearest group of ours"
	if o.Node != foldingGroup {
		which = foldingGroup + " is not in this run"
	}
	return fmt.Sprintf("%s, %d genes (%s); strongest correlations: %s", o.Node, len(o.Series), which,
		strings.Join(parts, ", "))
}

// geneErrors lists the settings, the best first.
var geneErrors = bench.Say(`
{{with ordered "mean_rmse" .}}best: {{(index . 0).Name}} ({{range $i, $r := .}}{{if $i}}, {{end}}{{.Name}}
{{value "mean_rmse" . | printf "%.3f"}}{{end}}; {{(index . 0).Param "groups"}} groups, {{(index . 0).Param "genes"}}
series)
{{end}}`)

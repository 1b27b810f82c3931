// This file draws groups of genes, and sets the paper's figures about them beside what is measured here.

package causality

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
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
		R := mat.NewSymDense(len(o.Series), matrixOf(o.Correlation).Data)
		h := picture.Correlations("As figure 5: output kernel of "+o.Node+", as correlation", o.Series, R)
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

// recordGraph keeps the graph, and the output kernel of foldingGroup or else of the most central node.
func recordGraph(r *bench.Result, res *granger.Result, d *granger.Data, names []string) {
	r.Graph = &bench.Graph{Nodes: res.Nodes}
	for i := range res.Graph.Rows {
		r.Graph.Strength = append(r.Graph.Strength, blas.Row(res.Graph, i))
	}
	shown := mostCentral(r, 1)
	if slices.Contains(res.Nodes, foldingGroup) {
		shown = []string{foldingGroup}
	}
	for _, node := range shown {
		k := slices.Index(res.Nodes, node)
		if k < 0 {
			continue
		}
		L := res.Fits[k].L
		if L == nil || slices.Max(L.S)-slices.Min(L.S) <= 1e-9*slices.Max(L.S) && len(L.S) == L.Dim() {
			continue // the identity
		}
		n := L.Dim()
		a := blas.NewGeneral(n, n)
		L.Dense(blas.Active(), a)
		o := bench.OutputKernel{Node: node}
		for i := range n {
			o.Series = append(o.Series, names[d.Nodes[k].Series[i]])
			row := make([]float64, n)
			for j := range row {
				if s := math.Sqrt(a.Data[i*n+i] * a.Data[j*n+j]); s > 0 {
					row[j] = a.Data[i*n+j] / s
				}
			}
			o.Correlation = append(o.Correlation, row)
		}
		r.Outputs = append(r.Outputs, o)
	}
}

const groupError = "rmse of "

// groupOrder lists the groups in the order of their hold-out error.
func groupOrder(r bench.Result) []string { return byMetric(&r, groupError, 1) }

// groupChart shows the hold-out error of each group for every setting, the groups
// in the order of their error in the first.
func groupChart(group []bench.Result) picture.Chart {
	c := picture.Chart{
		Title: "fruit fly: hold-out error of each group of genes",
		X:     "group, in the order of the first setting's error", Y: "RMSE (standard deviations)",
	}
	if len(group) == 0 || len(groupOrder(group[0])) < 2 {
		return c
	}
	for _, r := range paperSettings(group) {
		for i, name := range groupOrder(group[0]) {
			if v, ok := r.Metrics[groupError+name]; ok {
				c.Point(r.Name, float64(i+1), v)
			}
		}
	}
	return c
}

// graphHeat is the causal graph without its diagonal: row = target, column = source.
func graphHeat(r *bench.Result) *picture.Heat {
	names := make([]string, len(r.Graph.Nodes))
	for i, name := range r.Graph.Nodes {
		names[i] = picture.Short(name, 36)
	}
	h := &picture.Heat{X: "source", Y: "target", Matrix: matrixOf(r.Graph.Strength), Rows: names, Cols: names}
	for i := range names {
		h.Matrix.Data[i*h.Matrix.Stride+i] = 0
	}
	h.Max = cmp.Or(slices.Max(h.Matrix.Data), 1)
	return h
}

func matrixOf(rows [][]float64) blas.General {
	a := blas.NewGeneral(len(rows), len(rows))
	for i, row := range rows {
		copy(blas.Row(a, i), row)
	}
	return a
}

// strongestEdges draws the strongest edges of a graph, as many as nodes: more would be a tangle of long names.
func strongestEdges(r *bench.Result, h *picture.Heat) picture.Figure {
	net := picture.Network{Title: "fruit fly: which groups of genes drive which (" + r.Name + ")", Nodes: h.Rows}
	for i := range h.Matrix.Rows {
		for j, v := range blas.Row(h.Matrix, i) {
			if v > 0 {
				net.Edges = append(net.Edges, picture.Edge{From: j, To: i, Strength: v})
			}
		}
	}
	slices.SortStableFunc(net.Edges, func(a, b picture.Edge) int { return cmp.Compare(b.Strength, a.Strength) })
	net.Edges = net.Edges[:min(len(net.Edges), len(net.Nodes))]
	return net.Figure("drosophila-" + strings.Split(r.Name, ",")[0] + "-graph")
}

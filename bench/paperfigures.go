package bench

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
)

// foldingGroup is the biological process nearest to "unfolded protein binding", the
// group whose output kernel the paper draws.
const foldingGroup = "protein folding"

// paperFigures are our counterparts of the paper's figures.
func paperFigures(group map[string][]Result) []template.HTML {
	var out []template.HTML
	add := func(number int, what string, f figure) {
		f.title = fmt.Sprintf("As figure %d: %s", number, what)
		out = append(out, f.inline())
	}
	for number, suffix := range []string{1: "excess", 2: "accuracy"} {
		for _, c := range [][2]string{{"convergence", "the shape of Caltech-101"}, {"figures", "plant leaves"}} {
			for _, f := range traceFigures(group[c[0]]) {
				if suffix != "" && f.name == c[0]+"-"+suffix {
					add(number, f.what+", "+c[1], f)
				}
			}
		}
	}
	genes := group["drosophila"]
	for _, f := range groupFigures(genes) {
		add(3, "error of each group of genes", f)
	}
	for _, name := range []string{"linear, L learned", "nonlinear, L learned"} {
		r := lookup(genes, name)
		if r == nil || r.Graph == nil {
			continue
		}
		h := graphHeat(r)
		h.title = "As figure 4: strength of source → target, " + name
		out = append(out, h.inline())
	}
	if o := foldingKernel(genes); o != nil {
		h := outputHeat(o)
		h.title = "As figure 5: output kernel of " + o.Node + ", as correlation"
		out = append(out, h.inline())
	}
	return out
}

// graphHeat is the causal graph without its diagonal: row = target, column = source.
func graphHeat(r *Result) *heat {
	h := &heat{cols: shortNames(r.Graph.Nodes), rows: shortNames(r.Graph.Nodes)}
	for i, row := range r.Graph.Strength {
		row = slices.Clone(row)
		row[i] = 0
		h.matrix, h.max = append(h.matrix, row), max(h.max, slices.Max(row))
	}
	h.max = cmp.Or(h.max, 1)
	return h
}

// outputHeat is an output kernel with its series ordered so that those alike are neighbours.
func outputHeat(o *OutputKernel) *heat {
	a := matrixOf(o.Correlation)
	order := alike(a)
	a = reordered(a, order)
	h := &heat{min: -1, max: 1}
	for i, p := range order {
		h.rows, h.matrix = append(h.rows, o.Series[p]), append(h.matrix, blas.Row(a, i))
	}
	h.cols = h.rows
	return h
}

func shortNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = shortened(name)
	}
	return out
}

// foldingKernel is the L of the paper's group where it was learned, or else of another group.
func foldingKernel(group []Result) *OutputKernel {
	r := lookup(group, "nonlinear, L learned")
	if r == nil || len(r.Outputs) == 0 {
		return nil
	}
	i := slices.IndexFunc(r.Outputs, func(o OutputKernel) bool { return o.Node == foldingGroup })
	return &r.Outputs[max(i, 0)]
}

// strongestPairs are the series that an output kernel ties most.
func strongestPairs(o *OutputKernel, count int) string {
	if o == nil {
		return ""
	}
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
	return fmt.Sprintf("%s, %d genes (%s); strongest correlations: %s", o.Node, len(o.Series), which, strings.Join(parts, ", "))
}

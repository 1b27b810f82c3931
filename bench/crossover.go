package bench

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
)

// number is a numeric parameter, which is an int when measured and a float64 when read back.
func number(r Result, key string) float64 {
	switch v := r.Params[key].(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// systemKey is what a solver is judged at.
func systemKey(r Result) string {
	return fmt.Sprintf("l=%v n=%v L %v λ=%v", number(r, "l"), number(r, "n"), r.Params["spectrum"], number(r, "lambda"))
}

// fastest is the best line of each system among the solvers a user could name; "auto" is judged apart.
func fastest(group []Result) map[string]Result {
	best := map[string]Result{}
	for _, r := range group {
		if r.Error != "" || r.Stopped || r.Name == "auto" || !(r.Seconds > 0) {
			continue
		}
		if b, ok := best[systemKey(r)]; !ok || r.Seconds < b.Seconds {
			best[systemKey(r)] = r
		}
	}
	return best
}

// concludeSylvester says how much faster than exact the best is, how well the
// automatic choice does, and how the solvers' times grow.
func concludeSylvester(group []Result) []string {
	best := fastest(group)
	var gains []float64
	wins := map[string]int{}
	for _, b := range best {
		wins[b.Name]++
	}
	for _, r := range group {
		b, ok := best[systemKey(r)]
		if !ok || r.Error != "" {
			continue
		}
		if r.Name == "eigen" {
			gains = append(gains, r.Seconds/b.Seconds)
		}
	}
	var out []string
	if len(gains) > 0 {
		out = append(out, fmt.Sprintf("One linear system is solved up to %s faster than by eigendecomposition (%s on average over %s).", times(slices.Max(gains)), times(geomean(gains)), plural(len(gains), "system")))
	}
	out = append(out, concludeChoice(group)...)
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(wins), func(a, b string) int { return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b)) }) {
		parts = append(parts, fmt.Sprintf("%s %d", name, wins[name]))
	}
	if len(parts) > 0 {
		out = append(out, "Fastest, by number of systems: "+strings.Join(parts, ", ")+".")
	}
	return append(out, growth(group)...)
}

// growth fits t ∝ lᵖ for each solver at the number of outputs measured at most
// sizes, by least squares on logarithms over the larger half of the sizes.
func growth(group []Result) []string {
	var parts []string
	for _, c := range sizeCurves(group) {
		xy := c.xy[len(c.xy)/2:]
		if len(c.xy) >= 4 {
			xy = c.xy[len(c.xy)-3:]
		}
		if len(xy) < 2 {
			continue
		}
		var mx, my, sxx, sxy float64
		for _, p := range xy {
			mx += math.Log(p.X) / float64(len(xy))
			my += math.Log(p.Y) / float64(len(xy))
		}
		for _, p := range xy {
			dx := math.Log(p.X) - mx
			sxx += dx * dx
			sxy += dx * (math.Log(p.Y) - my)
		}
		parts = append(parts, fmt.Sprintf("%s l^%.1f", c.name, sxy/sxx))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Growth with the number of samples at the largest sizes measured: " + strings.Join(parts, ", ") + "."}
}

// sizeCurves are time against l for each solver, for the n, spectrum and λ that
// most sizes were measured at.
func sizeCurves(group []Result) []curve {
	type setting struct {
		n, lambda float64
		spectrum  string
	}
	at := func(r Result) setting {
		return setting{number(r, "n"), number(r, "lambda"), fmt.Sprint(r.Params["spectrum"])}
	}
	count := map[setting]int{}
	for _, r := range group {
		count[at(r)]++
	}
	var common setting
	for s, n := range count {
		if n > count[common] || (n == count[common] && s.n > common.n) {
			common = s
		}
	}
	var curves []curve
	for _, r := range group {
		if at(r) != common || r.Error != "" || r.Stopped || !(r.Seconds > 0) {
			continue
		}
		i := slices.IndexFunc(curves, func(c curve) bool { return c.name == r.Name })
		if i < 0 {
			i = len(curves)
			curves = append(curves, curve{name: r.Name})
		}
		curves[i].xy = append(curves[i].xy, plotter.XY{X: number(r, "l"), Y: r.Seconds})
	}
	for i := range curves {
		slices.SortFunc(curves[i].xy, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	}
	return slices.DeleteFunc(curves, func(c curve) bool { return len(c.xy) < 2 })
}

func sylvesterFigures(group []Result) []figure {
	fig := figure{
		name: "sylvester-growth", title: "sylvester: time of one solve against the number of samples",
		xLabel: "l (logarithmic)", yLabel: "seconds (logarithmic)", logX: true, logY: true, curves: sizeCurves(group),
	}
	if len(fig.curves) == 0 {
		return nil
	}
	return []figure{fig}
}

// winnerGrid is the crossover map: the fastest solver for each l and n, for the
// decaying spectrum and λ = 0.001, and its gain over eigendecomposition.
func winnerGrid(group []Result) template.HTML {
	best := fastest(group)
	var ls, ns []float64
	add := func(list []float64, v float64) []float64 {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
		return list
	}
	keep := func(r Result) bool { return r.Params["spectrum"] == "decaying" && number(r, "lambda") == 1e-3 }
	for _, r := range best {
		if keep(r) {
			ls, ns = add(ls, number(r, "l")), add(ns, number(r, "n"))
		}
	}
	if len(ls) == 0 {
		return ""
	}
	slices.Sort(ls)
	slices.Sort(ns)
	solvers := names(group)
	slices.Sort(solvers)
	var b strings.Builder
	b.WriteString(`<table><thead><tr><th></th>`)
	for _, l := range ls {
		fmt.Fprintf(&b, `<th class="win">l = %g</th>`, l)
	}
	b.WriteString("</tr></thead><tbody>")
	for _, n := range ns {
		fmt.Fprintf(&b, "<tr><td>n = %g</td>", n)
		for _, l := range ls {
			b.WriteString(winnerCell(group, best, solvers, l, n))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String()) //nolint:gosec // every text was escaped below
}

func winnerCell(group []Result, best map[string]Result, solvers []string, l, n float64) string {
	for _, r := range best {
		if number(r, "l") != l || number(r, "n") != n || r.Params["spectrum"] != "decaying" || number(r, "lambda") != 1e-3 {
			continue
		}
		gain := ""
		for _, e := range group {
			if e.Name == "eigen" && systemKey(e) == systemKey(r) && e.Error == "" && r.Name != "eigen" {
				gain = fmt.Sprintf(", %s faster than eigen", times(e.Seconds/r.Seconds))
			}
		}
		return fmt.Sprintf(`<td class="win b%d">%s, %.3g s%s</td>`, slices.Index(solvers, r.Name)%len(palette), html.EscapeString(r.Name), r.Seconds, gain)
	}
	return "<td>–</td>"
}

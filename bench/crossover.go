package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
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
	return fmt.Sprintf("l=%v n=%v L %v λ=%v %v", number(r, "l"), number(r, "n"), r.Params["spectrum"], number(r, "lambda"), r.Params["backend"])
}

// fastest is the best line of each system among the solvers a user could name; "auto" is judged apart.
func fastest(group []Result) map[string]Result {
	systems := map[string][]Result{}
	for _, r := range group {
		systems[systemKey(r)] = append(systems[systemKey(r)], r)
	}
	best := map[string]Result{}
	for k, rs := range systems {
		if b, ok := quickest(rs, func(string) bool { return true }); ok {
			best[k] = b
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
		out = append(out, fmt.Sprintf("One linear system is solved up to %s faster than by eigendecomposition (%s on average over %s).", times(slices.Max(gains)), times(stat.GeometricMean(gains, nil)), plural(len(gains), "system")))
	}
	out = append(out, concludeChoice(group)...)
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(wins), func(a, b string) int { return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b)) }) {
		parts = append(parts, fmt.Sprintf("%s %d", name, wins[name]))
	}
	if len(parts) > 0 {
		out = append(out, "Fastest, by number of systems: "+strings.Join(parts, ", ")+".")
	}
	out = append(out, growth(group)...)
	return append(out, mapFindings(group)...)
}

// growth says how the time of each solver grows with l, and what follows for the
// sizes that it was not measured at.
func growth(group []Result) []string {
	curves := sizeCurves(group)
	var parts, beyond []string
	largest := 0.0
	for _, c := range curves {
		largest = max(largest, c.xy[len(c.xy)-1].X)
	}
	for _, c := range curves {
		p := exponent(c.xy)
		parts = append(parts, fmt.Sprintf("%s l^%.1f", c.name, p))
		if last := c.xy[len(c.xy)-1]; last.X < largest && len(c.xy) > 2 {
			beyond = append(beyond, fmt.Sprintf("%s %.2g s", c.name, last.Y*math.Pow(largest/last.X, p)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	out := []string{"Growth with the number of samples at the largest sizes measured: " + strings.Join(parts, ", ") + "."}
	if len(beyond) > 0 {
		out = append(out, fmt.Sprintf("Expected by that growth at l = %g, where they were left out or stopped: %s.", largest, strings.Join(beyond, ", ")))
	}
	return out
}

// exponent fits t ∝ lᵖ by least squares on logarithms over the three largest sizes.
func exponent(xy plotter.XYs) float64 {
	var x, y []float64
	for _, p := range xy[max(0, len(xy)-3):] {
		x, y = append(x, math.Log(p.X)), append(y, math.Log(p.Y))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// sizeCurves are time against l for each solver, for the n, spectrum and λ that
// most sizes were measured at.
func sizeCurves(group []Result) []curve {
	type setting struct {
		n, lambda float64
		spectrum  string
		backend   any
	}
	at := func(r Result) setting {
		return setting{number(r, "n"), number(r, "lambda"), fmt.Sprint(r.Params["spectrum"]), r.Params["backend"]}
	}
	count := map[setting]int{}
	for _, r := range group {
		if r.Error == "" && !r.Stopped {
			count[at(r)]++
		}
	}
	var common setting
	for s, n := range count {
		if n > count[common] || (n == count[common] && (s.n > common.n || s.n == common.n && fmt.Sprint(s) < fmt.Sprint(common))) {
			common = s
		}
	}
	var fig figure
	for _, r := range group {
		if at(r) != common || r.Error != "" || r.Stopped || !(r.Seconds > 0) {
			continue
		}
		fig.point(r.Name, number(r, "l"), r.Seconds)
	}
	return slices.DeleteFunc(fig.curves, func(c curve) bool { return len(c.xy) < 2 })
}

func sylvesterFigures(group []Result) []figure {
	fig := figure{
		name: "sylvester-growth", title: "sylvester: time of one solve against the number of samples",
		xLabel: "l (logarithmic)", yLabel: "seconds (logarithmic)", logX: true, logY: true, curves: sizeCurves(group),
	}
	if len(fig.curves) == 0 {
		return nil
	}
	for i, c := range fig.curves {
		fig.curves[i].name = fmt.Sprintf("%s, l^%.1f", c.name, exponent(c.xy))
	}
	return []figure{fig}
}

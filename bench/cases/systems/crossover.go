// This file says which solver is the fastest where, and how its time grows with the number of samples.

package systems

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/picture"
)

// systemKey is what a solver is judged at.
func systemKey(r bench.Result) string {
	return fmt.Sprintf("l=%v n=%v L %v λ=%v %v", r.Number("l"), r.Number("n"), r.Params["spectrum"], r.Number("lambda"),
		r.Params["backend"])
}

// fastest is the best line of each system among the solvers a user could name; "auto" is judged apart.
func fastest(group []bench.Result) map[string]bench.Result {
	systems := map[string][]bench.Result{}
	for _, r := range group {
		systems[systemKey(r)] = append(systems[systemKey(r)], r)
	}
	best := map[string]bench.Result{}
	for k, rs := range systems {
		if b, ok := quickest(rs, func(string) bool { return true }); ok {
			best[k] = b
		}
	}
	return best
}

// concludeSylvester says how much faster than exact the best is, how well the
// automatic choice does, and how the solvers' times grow.
func concludeSylvester(group []bench.Result) []string {
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
		out = append(out, fmt.Sprintf("One linear system is solved up to %s faster than by eigendecomposition (%s on "+
			"average over %s).", bench.Times(slices.Max(gains)), bench.Times(stat.GeometricMean(gains, nil)),
			bench.Plural(len(gains), "system")))
	}
	out = append(out, concludeChoice(group)...)
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(wins), func(a, b string) int {
		return cmp.Or(cmp.Compare(wins[b], wins[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%s %d", name, wins[name]))
	}
	if len(parts) > 0 {
		out = append(out, "Fastest, by number of systems: "+strings.Join(parts, ", ")+".")
	}
	return append(out, growth(group)...)
}

// growth says how the time of each solver grows with l, and what follows for the
// sizes that it was not measured at.
func growth(group []bench.Result) []string {
	curves := sizeCurves(group)
	var parts, beyond []string
	largest := 0.0
	for _, c := range curves {
		largest = max(largest, c.XY[len(c.XY)-1].X)
	}
	for _, c := range curves {
		p := exponent(c.XY)
		parts = append(parts, fmt.Sprintf("%s l^%.1f", c.Name, p))
		if last := c.XY[len(c.XY)-1]; last.X < largest && len(c.XY) > 2 {
			beyond = append(beyond, fmt.Sprintf("%s %.2g s", c.Name, last.Y*math.Pow(largest/last.X, p)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	out := []string{"Growth with the number of samples at the largest sizes measured: " + strings.Join(parts, ", ") +
		"."}
	if len(beyond) > 0 {
		out = append(out, fmt.Sprintf("Expected by that growth at l = %g, where they were left out or stopped: %s.",
			largest, strings.Join(beyond, ", ")))
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
func sizeCurves(group []bench.Result) []picture.Curve {
	type setting struct {
		n, lambda float64
		spectrum  string
		backend   any
	}
	at := func(r bench.Result) setting {
		return setting{r.Number("n"), r.Number("lambda"), fmt.Sprint(r.Params["spectrum"]), r.Params["backend"]}
	}
	count := map[setting]int{}
	for _, r := range group {
		if r.Error == "" && !r.Stopped {
			count[at(r)]++
		}
	}
	var common setting
	for s, n := range count {
		if n > count[common] || (n == count[common] && (s.n > common.n || s.n == common.n &&
			fmt.Sprint(s) < fmt.Sprint(common))) {
			common = s
		}
	}
	var fig picture.Chart
	for _, r := range group {
		if at(r) != common || r.Error != "" || r.Stopped || !(r.Seconds > 0) {
			continue
		}
		fig.Point(r.Name, r.Number("l"), r.Seconds)
	}
	return slices.DeleteFunc(fig.Curves, func(c picture.Curve) bool { return len(c.XY) < 2 })
}

// sylvesterFigures show how times grow, and what the fastest iterative solver gains.
func sylvesterFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	growth := picture.Chart{
		Title: "sylvester: time of one solve against the number of samples",
		X:     "l (logarithmic)", Y: "seconds (logarithmic)", LogX: true, LogY: true, Curves: sizeCurves(group),
	}
	for i, c := range growth.Curves {
		growth.Curves[i].Name = fmt.Sprintf("%s, l^%.1f", c.Name, exponent(c.XY))
	}
	figures := growth.Figures("sylvester-growth")
	for _, m := range crossMaps(group) {
		if m.gains {
			figures = append(figures, m.figure())
		}
	}
	return figures
}

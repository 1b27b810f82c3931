// This file says which solver is the fastest where, and how its time grows with the number of samples.

package systems

import (
	"fmt"
	"math"
	"slices"

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
		if b, ok := quickest(rs); ok {
			best[k] = b
		}
	}
	return best
}

// concludeSylvester says how much faster than exact the fastest solver is.
func concludeSylvester(group []bench.Result) []string {
	best := fastest(group)
	var gains []float64
	for _, r := range group {
		if b, ok := best[systemKey(r)]; ok && r.Name == "eigen" && r.Error == "" {
			gains = append(gains, r.Seconds/b.Seconds)
		}
	}
	if len(gains) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("One linear system is solved up to %s faster than by eigendecomposition (%s on "+
		"average over %s).", bench.Times(slices.Max(gains)), bench.Times(stat.GeometricMean(gains, nil)),
		bench.Plural(len(gains), "system"))}
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

// sylvesterFigures show how times grow.
func sylvesterFigures(group []bench.Result, _ *bench.Limits) []picture.Figure {
	growth := picture.Chart{
		Title: "sylvester: time of one solve against the number of samples",
		X:     "l (logarithmic)", Y: "seconds (logarithmic)", LogX: true, LogY: true, Curves: sizeCurves(group),
	}
	for i, c := range growth.Curves {
		growth.Curves[i].Name = fmt.Sprintf("%s, l^%.1f", c.Name, exponent(c.XY))
	}
	return growth.Figures("sylvester-growth")
}

package cases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/sylvester"
)

// sylvesterTol is the true relative residual that iterative solvers are asked for.
const sylvesterTol = 1e-6

// system is one point of the grid: K·C·L + λl·C = Y.
type system struct {
	l, n     int
	spectrum string // of L
	lambda   float64
}

// The grid of systems, whose sizes l and n are the parts lxn of the case.
var (
	gridSpectra = []string{"decaying", "identity", "rank 5"}
	gridLambdas = []float64{1e-2, 1e-4, 1e-6}
)

// sylvesterPieces are the parts with one λ each.
func sylvesterPieces(parts []string) (pieces []string) {
	for _, part := range parts {
		for _, lambda := range gridLambdas {
			pieces = append(pieces, fmt.Sprintf("%s@%g", part, lambda))
		}
	}
	return pieces
}

// quickGrid has the points of the parts that a quick run measures.
var quickGrid = map[string][]system{
	"1000x1":   {{1000, 1, "decaying", 1e-3}},
	"500x10":   {{500, 20, "decaying", 1e-3}},
	"1000x100": {{1000, 50, "decaying", 1e-3}, {1000, 50, "identity", 1e-3}, {1000, 50, "decaying", 1e-5}},
}

// sylvesterGrid is one part of the grid.
func sylvesterGrid(env *bench.Env, part string) []system {
	size, at, _ := strings.Cut(part, "@")
	var l, n int
	if _, err := fmt.Sscanf(size, "%dx%d", &l, &n); err != nil {
		return nil
	}
	lambdas := gridLambdas
	if lambda, err := strconv.ParseFloat(at, 64); err == nil {
		lambdas = []float64{lambda}
	}
	switch {
	case env.Quick:
		return quickGrid[part]
	case part == "3060x102":
		return []system{{l, n, "decaying", 1e-3}, {l, n, "decaying", 1e-5}}
	}
	var grid []system
	for _, lambda := range lambdas {
		for _, spectrum := range gridSpectra {
			if n > 1 || spectrum == gridSpectra[0] { // there is only one L of one output
				grid = append(grid, system{l, n, spectrum, lambda})
			}
		}
	}
	return grid
}

// growth tells whether a point is one of those that the growth with l is shown at.
func (s system) growth() bool { return s.n == 100 && s.spectrum == "decaying" && s.lambda == 1e-4 }

// complete tells whether no solver is stopped at a point: where the growth with l is shown, and outside the grid.
func (s system) complete(env *bench.Env) bool { return env.Quick || s.n == 102 || s.growth() }

// runSylvester times every solver at every point of a part of the grid.
func runSylvester(ctx context.Context, env *bench.Env) error {
	var c *contest
	for _, s := range sylvesterGrid(env, env.Part) {
		if c == nil || c.K.Dim() != s.l {
			K, err := data.GaussianGram(ctx, env, s.l)
			if err != nil {
				return err
			}
			c = &contest{env: env, K: K, kept: map[string]*decomposed{}}
		}
		names := slices.DeleteFunc(sylvester.Names(), func(name string) bool { return s.leftOut(env, name) })
		point := c.measure(ctx, names, s)
		judgeChoice(point)
		env.Add(point...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		env.Log("  l = %d, n = %d, L %s, λ = %g", s.l, s.n, s.spectrum, s.lambda)
	}
	return nil
}

// leftOut reports whether a solver is left out at a point: the general one where
// not every solver runs to its end, and where it would take longer than the
// limit, which cannot stop it on its way, by its operation count at a speed
// that no machine of two processors has exceeded.
func (s system) leftOut(env *bench.Env, name string) bool {
	l, n := float64(s.l), float64(s.n)
	return name == "bartels-stewart" && (!s.complete(env) || 25*(l*l*l+n*n*n)/4e10 > sylvesterLimit(env))
}

// size is that of a system.
func size(r bench.Result) string { return r.Param("l") + " × " + r.Param("n") }

// systemName is L and λ of a system, with the backend if it is another than native.
func systemName(r bench.Result) string {
	name := fmt.Sprintf("L %v, λ = %g", r.Params["spectrum"], r.Number("lambda"))
	if be := r.Param("backend"); be != "" && be != "native" {
		name += ", " + be
	}
	return name
}

// fastest is the best line of each system, by size and name, of those that ended, among the solvers a user could name;
// "auto" is judged apart.
func fastest(group []bench.Result) map[string]bench.Result {
	best := map[string]bench.Result{}
	for _, r := range group {
		b, known := best[size(r)+systemName(r)]
		if r.Name != "auto" && r.Error == "" && !r.Stopped && r.Seconds > 0 && (!known || r.Seconds < b.Seconds) {
			best[size(r)+systemName(r)] = r
		}
	}
	return best
}

// winners are the lines of fastest in the order of the systems.
func winners(group []bench.Result) (all []bench.Result) {
	best := fastest(group)
	for _, key := range distinct(group, func(r bench.Result) string { return size(r) + systemName(r) }) {
		if r, ok := best[key]; ok {
			all = append(all, r)
		}
	}
	return all
}

// overFastest is how many times as long as the fastest the solver of that name took for each system.
func overFastest(name string, group []bench.Result) (ratios []float64) {
	best := fastest(group)
	for _, r := range group {
		if b, ok := best[size(r)+systemName(r)]; ok && r.Name == name && r.Error == "" {
			ratios = append(ratios, r.Seconds/b.Seconds)
		}
	}
	return ratios
}

// judgeChoice writes into the line of "auto" at one point how many times as long
// it took as the fastest of the others, and which that was.
func judgeChoice(point []bench.Result) {
	best := fastest(point)
	for i := range point {
		r := &point[i]
		if b, ok := best[size(*r)+systemName(*r)]; ok && r.Name == "auto" && r.Error == "" && !r.Stopped {
			r.Metric("times_fastest", r.Seconds/b.Seconds)
			r.Params["fastest"] = b.Name
		}
	}
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

// sylvesterFigures show how times grow with l where no solver is stopped.
func sylvesterFigures(group []bench.Result, _ *bench.File) []picture.Figure {
	growth := picture.Chart{
		Title: "sylvester: time of one solve against the number of samples",
		X:     "l (logarithmic)", Y: "seconds (logarithmic)", LogX: true, LogY: true,
	}
	for _, r := range group {
		s := system{n: int(r.Number("n")), spectrum: r.Param("spectrum"), lambda: r.Number("lambda")}
		ended := r.Error == "" && !r.Stopped && r.Seconds > 0
		if ended && s.growth() && r.Params["backend"] == group[0].Params["backend"] {
			growth.Point(r.Name, r.Number("l"), r.Seconds)
		}
	}
	growth.DropShort()
	for i, c := range growth.Curves {
		growth.Curves[i].Name = fmt.Sprintf("%s, l^%.1f", c.Name, exponent(c.XY))
	}
	return growth.Figures("sylvester-growth")
}

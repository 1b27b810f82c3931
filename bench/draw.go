// This file draws fits against time, and results as points over what they were measured on.

package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/internal/picture"
)

// quantities are what is drawn of a trace against time.
var quantities = []string{"objective", "excess", "gap", "accuracy"}

// TraceChart shows one of quantities over the traces of the results; it has no
// curve where no trace holds it at two points that can be drawn.
func TraceChart(group []Result, quantity string) picture.Chart {
	c := picture.Chart{X: "seconds (logarithmic)", LogX: true, LogY: true, Steps: true}
	var value func(Point) *float64
	switch quantity {
	case "objective":
		c.Title, c.Y = "objective against time", "objective (logarithmic)"
		value = func(p Point) *float64 { return p.Objective }
	case "excess":
		c.Title, c.Y = "distance to the best objective against time", "objective over the best, − 1"
		best := bestObjective(group)
		value = func(p Point) *float64 {
			if p.Objective == nil || !(best > 0) {
				return nil
			}
			return Num(*p.Objective/best - 1)
		}
	case "gap":
		c.Title, c.Y = "certified relative gap against time", "relative gap"
		value = func(p Point) *float64 { return p.RelativeGap }
	case "accuracy":
		c.Title, c.Y, c.LogY = "test accuracy against time", "test accuracy (%)", false
		value = func(p Point) *float64 {
			if p.Accuracy == nil {
				return nil
			}
			return Num(100 * *p.Accuracy)
		}
	}
	for _, r := range group {
		var xy plotter.XYs
		for _, p := range r.Trace {
			if y := value(p); y != nil && (*y > 0 || !c.LogY) && p.Seconds > 0 {
				xy = append(xy, plotter.XY{X: p.Seconds, Y: *y})
			}
		}
		if len(xy) > 1 {
			c.Curves = append(c.Curves, picture.Curve{Name: r.Name, XY: xy})
		}
	}
	return c
}

func bestObjective(group []Result) float64 {
	best := math.Inf(1)
	for _, r := range group {
		for _, p := range r.Trace {
			if p.Objective != nil {
				best = min(best, *p.Objective)
			}
		}
	}
	return best
}

// Figures are every picture of the results of one case.
func Figures(group []Result, f *File) []picture.Figure {
	if len(group) == 0 {
		return nil
	}
	var out []picture.Figure
	name := group[0].Case
	for _, q := range quantities {
		c := TraceChart(group, q)
		c.Title = name + ": " + c.Title
		out = append(out, c.Figures(name+"-"+q)...)
	}
	if c := Find(name); c != nil && c.Figures != nil {
		out = append(out, c.Figures(group, f)...)
	}
	return out
}

// Dots is the figure of a case that draws a metric of each result that has it over the values of its params, with
// a sign for each name.
func Dots(chart picture.Chart, metric string, params ...string) func([]Result, *File) []picture.Figure {
	return func(group []Result, _ *File) []picture.Figure {
		c := chart
		for _, r := range group {
			v, ok := r.Metrics[metric]
			if !ok {
				continue
			}
			var values []string
			for _, p := range params {
				values = append(values, r.Param(p))
			}
			label := strings.Join(values, " ")
			if !slices.Contains(c.Names, label) {
				c.Names = append(slices.Clip(c.Names), label)
			}
			c.Point(r.Name, float64(1+slices.Index(c.Names, label)), v)
		}
		for i := range c.Curves {
			c.Curves[i].Dots = true
		}
		slices.SortStableFunc(c.Curves, func(a, b picture.Curve) int { // ours has the first sign on every page
			return cmp.Compare(strings.Index(b.Name, "iokl"), strings.Index(a.Name, "iokl"))
		})
		if c.Curves == nil {
			return nil
		}
		return c.Figures(group[0].Case)
	}
}

// Quoted is the group with a published value of the metric beside each result of the name ours, where it is positive.
func Quoted(group []Result, ours, name, metric string, value func(r *Result) float64) []Result {
	all := slices.Clone(group)
	for i := range group {
		if r := &group[i]; r.Name == ours && value(r) > 0 {
			quoted := Result{Name: name, Params: r.Params}
			quoted.Metric(metric, value(r))
			all = append(all, quoted)
		}
	}
	return all
}

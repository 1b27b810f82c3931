// This file draws fits against time, and results as points over what they were measured on.

package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/internal/files/picture"
)

// traces are what is drawn of a trace against time, of a logarithm where it is positive; best is the best objective of
// all traces.
var traces = []struct {
	name, title, axis string
	log               bool
	value             func(p Point, best float64) float64
}{
	{"objective", "objective against time", "objective (logarithmic)", true, func(p Point, _ float64) float64 {
		return Value(p.Objective)
	}},
	{
		"excess", "distance to the best objective against time", "objective over the best, − 1", true,
		func(p Point, best float64) float64 { return Value(p.Objective)/best - 1 },
	},
	{"gap", "certified relative gap against time", "relative gap", true, func(p Point, _ float64) float64 {
		return Value(p.RelativeGap)
	}},
	{"accuracy", "test accuracy against time", "test accuracy (%)", false, func(p Point, _ float64) float64 {
		if p.Accuracy == nil {
			return math.NaN()
		}
		return 100 * *p.Accuracy
	}},
}

// Figures are every picture of the results of one case: quantities of traces of which there are two points, and those
// of the case.
func Figures(group []Result, f *File) []picture.Figure {
	if len(group) == 0 {
		return nil
	}
	best := math.Inf(1)
	for _, r := range group {
		for _, p := range r.Trace {
			if p.Objective != nil {
				best = min(best, *p.Objective)
			}
		}
	}
	var out []picture.Figure
	name := group[0].Case
	for _, t := range traces {
		c := picture.Chart{
			Title: name + ": " + t.title, X: "seconds (logarithmic)", Y: t.axis, LogX: true, LogY: t.log, Steps: true,
		}
		for _, r := range group {
			var xy plotter.XYs
			for _, p := range r.Trace {
				if y := t.value(p, best); Num(y) != nil && (y > 0 || !t.log) && p.Seconds > 0 {
					xy = append(xy, plotter.XY{X: p.Seconds, Y: y})
				}
			}
			if len(xy) > 1 {
				c.Curves = append(c.Curves, picture.Curve{Name: r.Name, XY: xy})
			}
		}
		out = append(out, c.Figures(name+"-"+t.name)...)
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

// This file draws results as points over what they were measured on.

package bench

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/picture"
)

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

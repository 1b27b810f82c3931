package cases

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/picture"
)

// traces are what is drawn of a trace against time: of a logarithm where it is positive, and of the best objective of
// all traces how much it is exceeded by.
var traces = []struct {
	name, title, axis string
	log, over         bool
	value             func(p bench.Point) *float64
}{
	{"objective", "objective against time", "objective (logarithmic)", true, false, objectiveOf},
	{
		"excess", "distance to the best objective against time", "objective over the best, − 1", true, true,
		objectiveOf,
	},
	{"gap", "certified relative gap against time", "relative gap", true, false, gapOf},
	{"accuracy", "test accuracy against time", "test accuracy (%)", false, false, func(p bench.Point) *float64 {
		if p.Accuracy == nil {
			return nil
		}
		return bench.Num(100 * *p.Accuracy)
	}},
}

// Figures are every picture of the results of one case: quantities of traces of which there are two points, and those
// of the case. f has the results of all cases.
func Figures(group []bench.Result, f *bench.File) []picture.Figure {
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
			for _, p := range r.Trace {
				v := t.value(p)
				if v == nil {
					continue
				}
				y := *v
				if t.over {
					y = y/best - 1
				}
				if (y > 0 || !t.log) && p.Seconds > 0 {
					c.Point(r.Name, p.Seconds, y)
				}
			}
		}
		c.DropShort()
		out = append(out, c.Figures(name+"-"+t.name)...)
	}
	if c := Find(name); c != nil && c.Pictures != nil {
		out = append(out, c.Pictures(group, f)...)
	}
	return out
}

// dots draws metrics, or other values, of the results and of those published over the values of their parameters, and
// over the names of the metrics where there are several, with a sign for each name.
type dots struct {
	Title, X, Y     string
	Log             bool // Y is logarithmic
	Metrics, Params []string
}

// seed is what tells networks apart that are drawn alike.
var seed = regexp.MustCompile(`^simulated | #.*$`)

func (d *dots) figures(group []bench.Result, _ *bench.File) []picture.Figure {
	c := picture.Chart{Title: d.Title, X: d.X, Y: d.Y, LogY: d.Log}
	for k, r := range withPublished(group) {
		for _, m := range d.Metrics {
			v, ok := r.Value(m)
			if !ok {
				continue
			}
			var values []string
			for _, p := range d.Params {
				values = append(values, seed.ReplaceAllString(r.Param(p), ""))
			}
			if len(d.Metrics) > 1 {
				values = append(values, m)
			}
			label := strings.Join(values, " ")
			if !slices.Contains(c.Names, label) {
				if k >= len(group) {
					continue // published about what was not measured
				}
				c.Names = append(slices.Clip(c.Names), label)
			}
			c.Point(r.Name, float64(1+slices.Index(c.Names, label)), v)
		}
	}
	for i := range c.Curves {
		c.Curves[i].Dots = true
	}
	slices.SortStableFunc(c.Curves, func(a, b picture.Curve) int { // ours has the first sign on every page
		return cmp.Compare(strings.Index(b.Name, "iokl"), strings.Index(a.Name, "iokl"))
	})
	return c.Figures(group[0].Case)
}

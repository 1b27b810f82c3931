package cases

import (
	"cmp"
	_ "embed" // sentences.tmpl, tables.tmpl and published.json
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

//go:embed sentences.tmpl
var sentencesText string

//go:embed tables.tmpl
var tablesText string

//go:embed published.json
var publishedText []byte

// published are figures from elsewhere, of which the tables name the sources.
var published = func() (all []bench.Result) {
	if err := json.Unmarshal(publishedText, &all); err != nil {
		panic("cases: published.json: " + err.Error())
	}
	return all
}()

// elsewhere is what is published beside the results of a case.
func elsewhere(group []bench.Result) []bench.Result {
	return some(published, func(r bench.Result) bool { return len(group) > 0 && r.Case == group[0].Case })
}

// withPublished are the results of a case, and what is published beside them.
func withPublished(group []bench.Result) []bench.Result {
	return slices.Concat(group, elsewhere(group))
}

// Conclude says what the results of a case show, most telling first; nothing where they lack something.
func Conclude(group []bench.Result) []string {
	if name := group[0].Case; words.Has(name) {
		return words.Sentences(name, group)
	}
	return nil
}

// Table sums the results of a case up, beside published figures where there are such; nil for a case without one.
func Table(group []bench.Result) *page.Table {
	if name := group[0].Case + " table"; words.Has(name) {
		return words.Table(name, group)
	}
	return nil
}

var words = page.NewWords(template.FuncMap{
	"published": withPublished, "elsewhere": elsewhere, "fields": strings.Fields,
	"named": func(name string, group []bench.Result) []bench.Result {
		return some(group, func(r bench.Result) bool { return r.Name == name })
	},
	"where": func(key, text string, group []bench.Result) []bench.Result {
		return some(group, func(r bench.Result) bool { return r.Param(key) == text })
	},
	"without": func(key, text string, group []bench.Result) []bench.Result {
		return some(group, func(r bench.Result) bool { return r.Param(key) != text })
	},
	"starting": func(key, text string, group []bench.Result) []bench.Result {
		return some(group, func(r bench.Result) bool { return strings.HasPrefix(r.Param(key), text) })
	},
	"like": like, "having": having, "ordered": ordered, "values": values, "ratios": ratios, "cell": cell,
	"names": func(group []bench.Result) []string {
		return distinct(group, func(r bench.Result) string { return r.Name })
	},
	"params": func(key string, group []bench.Result) []string {
		return distinct(group, func(r bench.Result) string { return r.Param(key) })
	},
	"metrics": func(group []bench.Result) (keys []string) {
		for _, r := range group {
			keys = slices.AppendSeq(keys, maps.Keys(r.Metrics))
		}
		slices.Sort(keys)
		return slices.Compact(keys)
	},
	"plain": func(name string) string { return strings.ReplaceAll(name, "_", " ") },
	"value": func(key string, r bench.Result) float64 { v, _ := r.Value(key); return v },
	"last":  func(group []bench.Result) bench.Result { return group[len(group)-1] },
	"about": func(what string, group []bench.Result) any {
		return struct {
			What  string
			Group []bench.Result
		}{what, group}
	},
	"geomean": func(x []float64) float64 { return stat.GeometricMean(x, nil) },
	"div":     func(a, b float64) float64 { return a / b }, "mul": func(a, b float64) float64 { return a * b },
	"times": times, "faster": faster, "bytes": func(n int64) string { return bench.Bytes(float64(n)) },
	"fastest": winners, "overFastest": overFastest, "beside": besideOurs,
	"size": size, "system": systemName,
	"sizes":   func(group []bench.Result) []string { return distinct(group, size) },
	"systems": func(group []bench.Result) []string { return distinct(group, systemName) },
}, sentencesText, "", tablesText)

// some are the results that pass.
func some(group []bench.Result, pass func(r bench.Result) bool) []bench.Result {
	return slices.DeleteFunc(slices.Clone(group), func(r bench.Result) bool { return !pass(r) })
}

// distinct are the texts of the results, each once.
func distinct(group []bench.Result, text func(bench.Result) string) (out []string) {
	for _, r := range group {
		if s := text(r); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// having are the results that have the value.
func having(key string, group []bench.Result) []bench.Result {
	return some(group, func(r bench.Result) bool { _, ok := r.Value(key); return ok })
}

// values are those of the results that have it.
func values(key string, group []bench.Result) (out []float64) {
	for _, r := range having(key, group) {
		v, _ := r.Value(key)
		out = append(out, v)
	}
	return out
}

// ordered are the results that have the value, the least first.
func ordered(key string, group []bench.Result) []bench.Result {
	out := having(key, group)
	slices.SortStableFunc(out, func(a, b bench.Result) int {
		x, _ := a.Value(key)
		y, _ := b.Value(key)
		return cmp.Compare(x, y)
	})
	return out
}

// like are the results with the parameters of r, whose keys stand between blanks.
func like(keys string, r bench.Result, group []bench.Result) []bench.Result {
	return some(group, func(o bench.Result) bool {
		return !slices.ContainsFunc(strings.Fields(keys), func(key string) bool { return o.Param(key) != r.Param(key) })
	})
}

// cell is the value of the last result whose name begins with name and that has it, a dash where there is none.
func cell(format, key, name string, group []bench.Result) string {
	found := having(key, some(group, func(r bench.Result) bool { return strings.HasPrefix(r.Name, name) }))
	if len(found) == 0 {
		return page.Dash("")
	}
	v, _ := found[len(found)-1].Value(key)
	return fmt.Sprintf(format, v)
}

// ratios are second over first, of results that differ in name and backend alone.
func ratios(first, second, key string, group []bench.Result) (out []float64) {
	for _, a := range having(key, group) {
		for _, b := range having(key, group) {
			if a.Name == first && b.Name == second && a.Without("backend") == b.Without("backend") {
				u, _ := a.Value(key)
				v, _ := b.Value(key)
				out = append(out, v/u)
			}
		}
	}
	return out
}

// times says "3.2 times"; more precision would pretend too much.
func times(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f times", x)
	}
	return fmt.Sprintf("%.1f times", x)
}

// noticeable is how many times as fast something has to be on average to be called faster.
const noticeable = 1.1

// faster puts a ratio of their time to ours into words.
func faster(ratio float64) string {
	switch {
	case ratio >= noticeable:
		return times(ratio) + " as fast"
	case ratio <= 1/noticeable:
		return times(1/ratio) + " as slow"
	}
	return "about as fast"
}

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

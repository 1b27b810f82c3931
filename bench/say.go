// This file makes sentences about results of templates.

package bench

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Say is a Conclude whose sentences are a text/template over the results. A full stop at the end of a line ends a
// sentence; other white space counts as a blank.
func Say(text string) func(group []Result) []string {
	t := template.Must(template.New("sentences").Funcs(sayings).Parse(text))
	return func(group []Result) (out []string) {
		var b strings.Builder
		if t.Execute(&b, pointers(group)) != nil {
			return nil // the results of another version lack something
		}
		for _, s := range sentenceEnd.Split(b.String(), -1) {
			if s = strings.Join(strings.Fields(s), " "); s != "" {
				out = append(out, strings.TrimSuffix(s, ".")+".")
			}
		}
		return out
	}
}

var sentenceEnd = regexp.MustCompile(`\.[ \t]*\n`)

func pointers(group []Result) []*Result {
	all := make([]*Result, len(group))
	for i := range group {
		all[i] = &group[i]
	}
	return all
}

func names(group []*Result) (out []string) {
	for _, r := range group {
		if !slices.Contains(out, r.Name) {
			out = append(out, r.Name)
		}
	}
	return out
}

// ratios are second over first, of results that differ in name and backend alone.
func ratios(first, second, key string, group []*Result) (out []float64) {
	for _, a := range having(group, key) {
		for _, b := range having(group, key) {
			if a.Name == first && b.Name == second && a.Without("backend") == b.Without("backend") {
				u, _ := a.value(key)
				v, _ := b.value(key)
				out = append(out, v/u)
			}
		}
	}
	return out
}

// some are the results that pass.
func some(group []*Result, pass func(r *Result) bool) []*Result {
	return slices.DeleteFunc(slices.Clone(group), func(r *Result) bool { return !pass(r) })
}

// value is a metric, or one of the fields that every case has.
func (r *Result) value(key string) (float64, bool) {
	switch key {
	case "seconds":
		return r.Seconds, r.Seconds > 0
	case "peak":
		return float64(r.PeakRSS >> 20), r.PeakRSS > 0
	case "of_peak":
		return r.OfPeak, r.OfPeak > 0
	case "seconds_to":
		return Value(r.SecondsTo), r.SecondsTo != nil
	case "accuracy":
		return Value(r.Accuracy), r.Accuracy != nil
	case "objective":
		return Value(r.Objective), r.Objective != nil
	}
	v, ok := r.Metrics[key]
	return v, ok
}

func having(group []*Result, key string) []*Result {
	return some(group, func(r *Result) bool { _, ok := r.value(key); return ok })
}

// ordered are the results that have the value, the least first.
func ordered(group []*Result, key string) []*Result {
	out := having(group, key)
	slices.SortStableFunc(out, func(a, b *Result) int {
		x, _ := a.value(key)
		y, _ := b.value(key)
		return cmp.Compare(x, y)
	})
	return out
}

// sayings are what templates of sentences may call. Results are selected by name, by parameter and by having a value.
var sayings = template.FuncMap{
	"named": func(name string, group []*Result) []*Result {
		return some(group, func(r *Result) bool { return r.Name == name })
	},
	"where": func(key, text string, group []*Result) []*Result {
		return some(group, func(r *Result) bool { return r.Param(key) == text })
	},
	"without": func(key, text string, group []*Result) []*Result {
		return some(group, func(r *Result) bool { return r.Param(key) != text })
	},
	"having":  func(key string, group []*Result) []*Result { return having(group, key) },
	"ordered": func(key string, group []*Result) []*Result { return ordered(group, key) }, "names": names,
	"values": func(key string, group []*Result) (out []float64) {
		for _, r := range having(group, key) {
			v, _ := r.value(key)
			out = append(out, v)
		}
		return out
	},
	"value":  func(key string, r *Result) float64 { v, _ := r.value(key); return v },
	"ratios": ratios,
	"last":   func(group []*Result) *Result { return group[len(group)-1] },
	"mean":   func(x []float64) float64 { return stat.Mean(x, nil) }, "geomean": func(x []float64) float64 {
		return stat.GeometricMean(x, nil)
	},
	"least": floats.Min, "most": floats.Max,
	"div": func(a, b float64) float64 { return a / b }, "mul": func(a, b float64) float64 { return a * b },
	"times": Times, "plural": Plural, "bytes": func(n int64) string { return Bytes(float64(n)) },
}

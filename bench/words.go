// This file selects results by name, and puts numbers and sentences about results into words.

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Param is a parameter as text, "" where there is none.
func (r Result) Param(key string) string {
	switch v := r.Params[key].(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Number is a numeric parameter, which is an int when measured and a float64 when
// read back; NaN where there is none.
func (r Result) Number(key string) float64 {
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

// Without is every parameter as key=value, less the named ones.
func (r Result) Without(keys ...string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(r.Params)) {
		if !slices.Contains(keys, k) {
			parts = append(parts, k+"="+r.Param(k))
		}
	}
	return strings.Join(parts, " ")
}

// Lookup is the first result of that name, nil where there is none.
func Lookup(group []Result, name string) *Result {
	for i := range group {
		if group[i].Name == name {
			return &group[i]
		}
	}
	return nil
}

// Names are the names of the results, each once.
func Names(group []Result) (out []string) {
	for _, r := range group {
		if !slices.Contains(out, r.Name) {
			out = append(out, r.Name)
		}
	}
	return out
}

// MetricOf is a metric of the result of that name, "–" when it was not measured.
func MetricOf(group []Result, name, metric, format string) string {
	if r := Lookup(group, name); r != nil {
		if v, ok := r.Metrics[metric]; ok {
			return fmt.Sprintf(format, v)
		}
	}
	return "–"
}

// Column is what a table has of results: of those whose names begin with the first, the value that sentences call by
// the second, in the format of the third.
type Column [3]string

// Beside adds a row to the table for each result called as the first of the columns: the parameters by, and the columns
// of the results that have the same.
func (t *Table) Beside(group []Result, by []string, columns []Column) {
	for i := range group {
		if group[i].Name != columns[0][0] {
			continue
		}
		var row []string
		for _, key := range by {
			row = append(row, group[i].Param(key))
		}
		for _, c := range columns {
			text := ""
			for k := range group {
				other := slices.ContainsFunc(by, func(key string) bool {
					return group[k].Param(key) != group[i].Param(key)
				})
				if v, ok := group[k].value(c[1]); ok && !other && strings.HasPrefix(group[k].Name, c[0]) {
					text = fmt.Sprintf(c[2], v)
				}
			}
			row = append(row, OrDash(text))
		}
		t.Rows = append(t.Rows, row)
	}
}

// Noticeable is how many times as fast something has to be on average to be called faster.
const Noticeable = 1.1

// Times says "3.2 times"; more precision would pretend too much.
func Times(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f times", x)
	}
	return fmt.Sprintf("%.1f times", x)
}

// Plural is a number with the word for what it counts.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Bytes is an amount of memory in the largest unit that it fills.
func Bytes(b float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if b >= u.size {
			return fmt.Sprintf("%.3g %s", b/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f bytes", b)
}

// Short is v with three significant digits, integers in full.
func Short(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Positive is v with three significant digits, "" unless it is positive.
func Positive(v float64) string {
	if v > 0 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return ""
}

// Percent is a share in percent, "" unless it is positive.
func Percent(v float64) string {
	if v > 0 {
		return fmt.Sprintf("%.0f %%", 100*v)
	}
	return ""
}

// Optional is a number that may be absent.
func Optional(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

// OrDash is the text of a cell, a dash where there is none.
func OrDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// Say is a Conclude whose sentences are a text/template over the results. A full stop at the end of a line ends a
// sentence; other white space counts as a blank.
func Say(text string) func(group []Result) []string {
	t := template.Must(template.New("sentences").Funcs(sayings).Parse(text))
	return func(group []Result) (out []string) {
		var b strings.Builder
		if t.Execute(&b, group) != nil {
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

// ratios are second over first, of results that differ in name and backend alone.
func ratios(first, second, key string, group []Result) (out []float64) {
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
func some(group []Result, pass func(r Result) bool) []Result {
	return slices.DeleteFunc(slices.Clone(group), func(r Result) bool { return !pass(r) })
}

// value is a metric, or one of the fields that every case has.
func (r Result) value(key string) (float64, bool) {
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

func having(group []Result, key string) []Result {
	return some(group, func(r Result) bool { _, ok := r.value(key); return ok })
}

// ordered are the results that have the value, the least first.
func ordered(group []Result, key string) []Result {
	out := having(group, key)
	slices.SortStableFunc(out, func(a, b Result) int {
		x, _ := a.value(key)
		y, _ := b.value(key)
		return cmp.Compare(x, y)
	})
	return out
}

// sayings are what templates of sentences may call. Results are selected by name, by parameter and by having a value.
var sayings = template.FuncMap{
	"named": func(name string, group []Result) []Result {
		return some(group, func(r Result) bool { return r.Name == name })
	},
	"where": func(key, text string, group []Result) []Result {
		return some(group, func(r Result) bool { return r.Param(key) == text })
	},
	"without": func(key, text string, group []Result) []Result {
		return some(group, func(r Result) bool { return r.Param(key) != text })
	},
	"having":  func(key string, group []Result) []Result { return having(group, key) },
	"ordered": func(key string, group []Result) []Result { return ordered(group, key) }, "names": Names,
	"values": func(key string, group []Result) (out []float64) {
		for _, r := range having(group, key) {
			v, _ := r.value(key)
			out = append(out, v)
		}
		return out
	},
	"value":  func(key string, r Result) float64 { v, _ := r.value(key); return v },
	"ratios": ratios,
	"last":   func(group []Result) Result { return group[len(group)-1] },
	"mean":   func(x []float64) float64 { return stat.Mean(x, nil) }, "geomean": func(x []float64) float64 {
		return stat.GeometricMean(x, nil)
	},
	"least": floats.Min, "most": floats.Max,
	"div": func(a, b float64) float64 { return a / b }, "mul": func(a, b float64) float64 { return a * b },
	"times": Times, "plural": Plural, "bytes": func(n int64) string { return Bytes(float64(n)) },
}

// This file selects results by name, and puts numbers into words.

package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Param is a parameter as text, "" where there is none.
func (r *Result) Param(key string) string {
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
func (r *Result) Number(key string) float64 {
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
func (r *Result) Without(keys ...string) string {
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
func Names(group []Result) []string { return names(pointers(group)) }

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

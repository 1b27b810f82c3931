package bench

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// column is one column of a table of results: its heading and the text of a
// cell, "" when it does not apply.
type column struct {
	head string
	cell func(Result) string
}

// WriteTable writes a table for each case, with the columns that apply to it.
func (f *File) WriteTable(w io.Writer) error {
	for _, group := range byCase(f.Results) {
		cols := columnsOf(group)
		if _, err := fmt.Fprintf(w, "\n%s\n", group[0].Case); err != nil {
			return err
		}
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range cols {
			fmt.Fprint(tw, c.head, "\t")
		}
		fmt.Fprintln(tw)
		for _, r := range group {
			for _, c := range cols {
				fmt.Fprint(tw, orDash(c.cell(r)), "\t")
			}
			fmt.Fprintln(tw)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// byCase splits the results into runs of one case, keeping their order.
func byCase(results []Result) [][]Result {
	var groups [][]Result
	for _, r := range results {
		i := slices.IndexFunc(groups, func(g []Result) bool { return g[0].Case == r.Case })
		if i < 0 {
			groups = append(groups, []Result{r})
			continue
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// grouped are the results of each case.
func grouped(results []Result) map[string][]Result {
	group := map[string][]Result{}
	for _, g := range byCase(results) {
		group[g[0].Case] = g
	}
	return group
}

// columnsOf returns the columns in which at least one of the results has something to say.
func columnsOf(group []Result) []column {
	cols := []column{{"name", func(r Result) string { return r.Name }}}
	for _, key := range varying(group) {
		cols = append(cols, column{key, func(r Result) string { return param(r, key) }})
	}
	for _, c := range fixedColumns {
		if slices.ContainsFunc(group, func(r Result) bool { return c.cell(r) != "" }) {
			cols = append(cols, c)
		}
	}
	for _, key := range metricKeys(group) {
		cols = append(cols, column{key, func(r Result) string {
			if v, ok := r.Metrics[key]; ok {
				return short(v)
			}
			return ""
		}})
	}
	return append(cols, noteColumn)
}

var fixedColumns = []column{
	{"seconds", func(r Result) string { return positive(r.Seconds) }},
	{"min", func(r Result) string { return several(r, r.Min) }},
	{"max", func(r Result) string { return several(r, r.Max) }},
	{"to 0.1 %", func(r Result) string { return optional(r.SecondsTo) }},
	{"GFLOP/s", func(r Result) string { return positive(r.GFlops) }},
	{"of peak", func(r Result) string { return percent(r.OfPeak) }},
	{"GB/s", func(r Result) string { return positive(r.GBytes) }},
	{"of memory", func(r Result) string { return percent(r.OfBandwidth) }},
	{"accuracy", func(r Result) string {
		if r.Accuracy == nil {
			return ""
		}
		return fmt.Sprintf("%.2f %%", 100**r.Accuracy)
	}},
	{"objective", func(r Result) string {
		if r.Objective == nil {
			return ""
		}
		return strconv.FormatFloat(*r.Objective, 'g', 8, 64)
	}},
	{"gap", func(r Result) string { return optional(r.RelativeGap) }},
	{"residual", func(r Result) string { return optional(r.Residual) }},
}

var noteColumn = column{"", func(r Result) string {
	var notes []string
	if r.Stopped {
		notes = append(notes, "stopped at its budget")
	}
	if r.Noisy {
		notes = append(notes, "noisy")
	}
	if r.Error != "" {
		notes = append(notes, r.Error)
	}
	if len(notes) == 0 {
		return " "
	}
	return strings.Join(notes, "; ")
}}

// varying lists the parameters that differ within the group.
func varying(group []Result) []string {
	var keys []string
	for _, r := range group {
		for _, key := range slices.Sorted(maps.Keys(r.Params)) {
			differs := slices.ContainsFunc(group, func(o Result) bool { return param(o, key) != param(r, key) })
			if differs && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func param(r Result, key string) string {
	switch v := r.Params[key].(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// metricKeys lists the metrics for a table; those of a part, "rmse of x", are for the JSON alone.
func metricKeys(group []Result) []string {
	set := map[string]bool{}
	for _, r := range group {
		for key := range r.Metrics {
			if !strings.Contains(key, " of ") {
				set[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// short is v with three significant digits, integers in full.
func short(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func positive(v float64) string {
	if v > 0 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return ""
}

func several(r Result, v float64) string {
	if r.Count > 1 {
		return positive(v)
	}
	return ""
}

func percent(v float64) string {
	if v > 0 {
		return fmt.Sprintf("%.0f %%", 100*v)
	}
	return ""
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

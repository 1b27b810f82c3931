package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/page"
)

// column is one column of a table of results: its heading and the text of a
// cell, "" when it does not apply.
type column struct {
	head string
	cell func(bench.Result) string
}

// WriteTable writes a table for each case, with the columns that apply to it.
func WriteTable(w io.Writer, f *bench.File) error {
	for _, group := range f.ByCase() {
		if _, err := fmt.Fprintf(w, "\n%s\n", group[0].Case); err != nil {
			return err
		}
		if err := resultTable(group).WriteText(w, len(group)); err != nil {
			return err
		}
	}
	return nil
}

// resultTable has a line for each result, and a column for each parameter that differs, and for each figure that at least
// one of them has.
func resultTable(group []bench.Result) *page.Table {
	cols := []column{{"name", func(r bench.Result) string { return r.Name }}}
	for _, key := range varying(group) {
		cols = append(cols, column{key, func(r bench.Result) string { return r.Param(key) }})
	}
	cols = append(cols, fixedColumns...)
	for _, key := range metricKeys(group) {
		cols = append(cols, column{key, func(r bench.Result) string {
			if v, ok := r.Metrics[key]; ok {
				return short(v)
			}
			return ""
		}})
	}
	cols = slices.DeleteFunc(append(cols, column{"", notes}), func(c column) bool {
		return !slices.ContainsFunc(group, func(r bench.Result) bool { return c.cell(r) != "" })
	})
	t := &page.Table{Sort: true}
	for _, c := range cols {
		t.Head = append(t.Head, c.head)
	}
	for _, r := range group {
		row := page.Row{Title: r.Rerun}
		for _, c := range cols {
			row.Cells = append(row.Cells, page.Dash(strings.TrimSpace(c.cell(r))))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// short is v with three significant digits, integers in full.
func short(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// share is v in percent, "" unless it is positive.
func share(v float64) string {
	if v > 0 {
		return fmt.Sprintf("%.0f %%", 100*v)
	}
	return ""
}

var fixedColumns = []column{
	{"seconds", func(r bench.Result) string { return bench.Positive(r.Seconds) }},
	{"min", func(r bench.Result) string { return several(r, r.Min) }},
	{"max", func(r bench.Result) string { return several(r, r.Max) }},
	{"to 0.1 %", func(r bench.Result) string { return bench.Optional(r.SecondsTo) }},
	{"GFLOP/s", func(r bench.Result) string { return bench.Positive(r.GFlops) }},
	{"of peak", func(r bench.Result) string { return share(r.OfPeak) }},
	{"GB/s", func(r bench.Result) string { return bench.Positive(r.GBytes) }},
	{"of memory", func(r bench.Result) string { return share(r.OfBandwidth) }},
	{"accuracy", func(r bench.Result) string {
		if r.Accuracy == nil {
			return ""
		}
		return fmt.Sprintf("%.2f %%", 100**r.Accuracy)
	}},
	{"objective", func(r bench.Result) string {
		if r.Objective == nil {
			return ""
		}
		return strconv.FormatFloat(*r.Objective, 'g', 8, 64)
	}},
	{"gap", func(r bench.Result) string { return bench.Optional(r.RelativeGap) }},
	{"residual", func(r bench.Result) string { return bench.Optional(r.Residual) }},
}

// notes say what qualifies a result.
func notes(r bench.Result) string {
	var all []string
	if r.Stopped {
		all = append(all, "stopped at its budget")
	}
	if r.Noisy {
		all = append(all, "noisy")
	}
	if r.Error != "" {
		all = append(all, r.Error)
	}
	return strings.Join(all, "; ")
}

// varying lists the parameters that differ within the group.
func varying(group []bench.Result) []string {
	var keys []string
	for _, r := range group {
		for _, key := range slices.Sorted(maps.Keys(r.Params)) {
			differs := slices.ContainsFunc(group, func(o bench.Result) bool { return o.Param(key) != r.Param(key) })
			if differs && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// metricKeys lists the metrics for a table; those of a part, "rmse of x", are for the JSON alone.
func metricKeys(group []bench.Result) []string {
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

func several(r bench.Result, v float64) string {
	if r.Count > 1 {
		return bench.Positive(v)
	}
	return ""
}

// WriteBench writes the results in Go's benchmark format, for benchstat: a line
// for each repetition, with parameters as key=value parts of the name.
func WriteBench(w io.Writer, f *bench.File) error {
	m := f.Machine
	head := [][2]string{
		{"goos", m.OS},
		{"goarch", m.Arch},
		{"pkg", "github.com/iokl/iokl/bench"},
		{"cpu", m.CPU},
		{"go", m.Go},
		{"commit", m.Commit},
		{"backend", strings.TrimSpace(m.Backend.Backend + " " + m.Backend.Version + " " + m.Backend.Kernel)},
		{"threads", fmt.Sprint(m.Threads)},
		{"seed", fmt.Sprint(m.Seed)},
	}
	for _, kv := range head {
		if kv[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", kv[0], kv[1]); err != nil {
			return err
		}
	}
	for _, r := range f.Results {
		for _, s := range r.Samples {
			if _, err := fmt.Fprintf(w, "%s\t1\t%.0f ns/op%s\n", benchName(r), s*1e9, units(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchName is Benchmark<Case>/name=…/param=…, with what Go's format reserves replaced.
func benchName(r bench.Result) string {
	clean := strings.NewReplacer(" ", "_", "/", ":", "\t", "_")
	var b strings.Builder
	b.WriteString("Benchmark" + strings.ToUpper(r.Case[:1]) + r.Case[1:])
	b.WriteString("/name=" + clean.Replace(r.Name))
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		b.WriteString("/" + clean.Replace(key) + "=" + clean.Replace(r.Param(key)))
	}
	return b.String()
}

// units are the figures beside the time.
func units(r bench.Result) string {
	var b strings.Builder
	add := func(v float64, unit string) { fmt.Fprintf(&b, "\t%.6g %s", v, unit) }
	if r.GFlops > 0 {
		add(r.GFlops, "GFLOP/s")
	}
	for _, u := range []struct {
		v    *float64
		unit string
	}{{r.Accuracy, "accuracy"}, {r.Objective, "objective"}, {r.RelativeGap, "gap"}, {r.Residual, "residual"}} {
		if u.v != nil {
			add(*u.v, u.unit)
		}
	}
	return b.String()
}

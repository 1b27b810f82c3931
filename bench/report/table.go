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

// resultTable has a line for each result, and a column for each parameter that differs, and for each figure that at
// least one of them has.
func resultTable(group []bench.Result) *page.Table {
	cols := []column{{"name", func(r bench.Result) string { return r.Name }}}
	for _, key := range varying(group) {
		cols = append(cols, column{key, func(r bench.Result) string { return r.Param(key) }})
	}
	for _, c := range words.Lines("columns", nil) {
		cols = append(cols, column{c[0], func(r bench.Result) string {
			v, ok := r.Value(c[1])
			if !ok {
				return ""
			}
			if strings.HasSuffix(c[2], "%%") {
				v *= 100
			}
			return fmt.Sprintf(c[2], v)
		}})
	}
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
	return keysOf(group, func(r bench.Result) map[string]any { return r.Params }, func(key string) bool {
		return slices.ContainsFunc(group, func(r bench.Result) bool { return r.Param(key) != group[0].Param(key) })
	})
}

// metricKeys lists the metrics that a table shows. Those of a part, such as "rmse of x", are in the JSON alone.
func metricKeys(group []bench.Result) []string {
	return keysOf(group, func(r bench.Result) map[string]float64 { return r.Metrics }, func(key string) bool {
		return !strings.Contains(key, " of ")
	})
}

// keysOf lists the keys of the results that pass, in their order.
func keysOf[V any](group []bench.Result, of func(bench.Result) map[string]V, pass func(key string) bool) []string {
	set := map[string]bool{}
	for _, r := range group {
		for key := range of(r) {
			if pass(key) {
				set[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// WriteBench writes the results in Go's benchmark format, for benchstat: a line
// for each repetition, with parameters as key=value parts of the name.
func WriteBench(w io.Writer, f *bench.File) error {
	_, err := io.WriteString(w, words.Text("bench", f))
	return err
}

// WriteComparison writes the lines that changed, or all of them, and a summary.
func WriteComparison(w io.Writer, c *bench.Comparison, all bool) error {
	v := struct {
		*bench.Comparison
		All bool
	}{c, all}
	for _, warning := range c.Warnings {
		fmt.Fprintln(w, "note:", warning)
	}
	lines := words.Table("changes", v)
	if err := lines.WriteText(w, len(lines.Rows)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, words.Say("comparison", v))
	return err
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

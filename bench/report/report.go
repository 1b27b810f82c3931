// Package report shows the results of package bench: as tables of text, in Go's
// benchmark format, as pictures, as one self-contained HTML page, and as a page of evidence in Markdown.
package report

import (
	"cmp"
	_ "embed" // the templates
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/cases"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/files/picture"
)

//go:embed words.tmpl
var wordsText string

//go:embed bench.tmpl
var benchText string

//go:embed tables.tmpl
var tablesText string

var words = page.NewWords(template.FuncMap{
	"bytes":     func(n any) string { return bench.Bytes(float64(reflect.ValueOf(n).Int())) },
	"change":    func(ratio float64) float64 { return math.Abs(ratio - 1) },
	"benchmark": benchName, "nanoseconds": func(seconds float64) string { return fmt.Sprintf("%.0f", seconds*1e9) },
	"alpha": func() float64 { return bench.Alpha },
}, wordsText, benchText, tablesText)

// merged has the results of several runs, and of their machines how the cases went, what was skipped, and some limits.
func merged(files []*bench.File) *bench.File {
	var all bench.File
	for _, f := range files {
		all.Results = append(all.Results, f.Results...)
		all.Machine.Cases = append(all.Machine.Cases, f.Machine.Cases...)
		all.Machine.Skipped = append(all.Machine.Skipped, f.Machine.Skipped...)
		all.Machine.Limits = cmp.Or(all.Machine.Limits, f.Machine.Limits)
	}
	return &all
}

// Write writes one self-contained HTML page about the runs.
func Write(w io.Writer, files []*bench.File) error {
	all := merged(files)
	p := page.Page{Title: "iokl, measured", Lead: []page.Block{page.Text(words.Say("about", nil))}}
	machines := page.Section{ID: "machine", Title: "The machine"}
	for _, f := range files {
		p.Lead = append(p.Lead, page.Classed("box", words.Say("run", f.Machine)))
		machines.Add(page.Facts(words.Facts("machine", f.Machine)), page.Text(words.Say("noise", f.Machine.Noise)))
	}
	var findings, found []string // and the cases that these are of
	var sections []page.Section
	for _, group := range all.ByCase() {
		name := group[0].Case
		says := cases.Conclude(group)
		if len(says) > 0 {
			findings, found = append(findings, says[0]), append(found, name)
		}
		sections = append(sections, page.NewSection(name, name, page.Classed("soft", does(name)), page.List(says),
			page.Charts(cases.Figures(group, all)...), cases.Table(group).Block(), resultTable(group).Block(),
			page.Classed("soft", took(all, name)), page.Commands("Measure again:", reruns(group)...)))
	}
	p.Sections = []page.Section{machines}
	if findings != nil {
		p.Sections = []page.Section{
			page.NewSection("findings", "Every case in a sentence", page.List(findings, found...)), machines,
		}
	}
	p.Lead = append(p.Lead, page.Classed("soft", words.Say("numbers", nil)), page.Links("Jump to", p.Sections))
	p.Sections = append(p.Sections, sections...)
	p.Sections = append(p.Sections, notMeasured(all.Machine.Skipped)...)
	return p.Write(w)
}

// WriteMarkdown writes a page about one run by topic: of each case its findings, a picture and a table, and the command
// that measures it again. Pictures are SVG files in a folder called pictures, in dir.
func WriteMarkdown(w io.Writer, f *bench.File, dir string) error {
	left := slices.Clone(f.Machine.Skipped)
	p := page.Page{Title: "Evidence", Lead: []page.Block{
		page.Text(words.Say("run", f.Machine)), page.Text(words.Say("evidence", nil)),
		page.Commands("", "mklbench run evidence --out evidence.json",
			"mklbench report evidence.json --out evidence.md"),
		page.Facts(words.Facts("machine", f.Machine)),
	}}
	for _, topic := range bench.Topics {
		sections := []page.Section{{Title: topic}}
		for _, group := range f.ByCase() {
			if c := cases.Find(group[0].Case); c != nil && c.Topic == topic {
				sections = append(sections, evidence(f, c.Name, group))
			}
		}
		if len(sections) > 1 {
			p.Sections = append(p.Sections, sections...)
		}
	}
	for _, c := range cases.All {
		if c.Topic != "" && !slices.ContainsFunc(f.Results, func(r bench.Result) bool { return r.Case == c.Name }) {
			left = append(left, fmt.Sprintf("%s: %s", c.Name, c.Does))
		}
	}
	p.Sections = append(p.Sections, notMeasured(left)...)
	return p.WriteMarkdown(w, dir)
}

// mostLines is the number of results that the page of evidence lists one by one; the file of results has all of them.
const mostLines = 24

// evidence is the section of a case with one picture and one table.
func evidence(f *bench.File, name string, group []bench.Result) page.Section {
	figures := slices.DeleteFunc(cases.Figures(group, f), unnamed)
	t := cases.Table(group)
	if t == nil && len(group) <= mostLines {
		t = resultTable(group)
	}
	s := page.NewSection("", name, page.Text(does(name)), page.List(cases.Conclude(group)),
		page.Charts(figures[:min(1, len(figures))]...), t.Block(), page.Text(took(f, name)),
		page.Commands("", reruns(group)...))
	s.Sub = true
	return s
}

// notMeasured is the section about what is left out, if anything is.
func notMeasured(left []string) []page.Section {
	if len(left) == 0 {
		return nil
	}
	return []page.Section{page.NewSection("", "Not measured", page.List(left))}
}

// does is a sentence about a case, "" for one of another version.
func does(name string) string {
	c := cases.Find(name)
	if c == nil {
		return ""
	}
	return strings.ToUpper(c.Does[:1]) + c.Does[1:] + "."
}

// reruns are the commands that measure the case again.
func reruns(group []bench.Result) []string {
	var out, parts []string
	for _, r := range group {
		if r.Part != "" && !slices.Contains(parts, r.Part) {
			parts = append(parts, r.Part)
		}
	}
	name := group[0].Case
	if c := cases.Find(name); c != nil && len(parts) < len(c.Parts) {
		name += ":" + strings.Join(parts, ",")
	}
	for _, r := range group {
		whole := r.Rerun
		if r.Part != "" {
			whole = strings.Replace(whole, " "+r.Case+":"+r.Part+" ", " "+name+" ", 1)
		}
		if !slices.Contains(out, whole) {
			out = append(out, whole)
		}
	}
	return out
}

// took says how long a case took in all, and what disturbed it.
func took(f *bench.File, name string) string {
	sum := bench.CaseRun{Whole: true}
	for _, c := range f.Machine.Cases {
		if c.Case == name {
			sum.Seconds, sum.Whole, sum.Noise = sum.Seconds+c.Seconds, sum.Whole && c.Whole, sum.Noise.Worse(c.Noise)
		}
	}
	return words.Say("took", sum)
}

// Draw draws every picture that the results have the numbers for into dir, each
// as PNG and SVG, and returns the names of the files.
func Draw(f *bench.File, dir string) ([]string, error) {
	var figures []picture.Figure
	for _, group := range f.ByCase() {
		figures = append(figures, cases.Figures(group, f)...)
	}
	return picture.SaveAll(dir, slices.DeleteFunc(figures, unnamed))
}

func unnamed(f picture.Figure) bool { return f.Name == "" }

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

// Package report shows the results of package bench: as tables of text, in Go's
// benchmark format, as pictures, as one self-contained HTML page, and as a page of evidence in Markdown.
package report

import (
	"cmp"
	_ "embed" // the templates
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
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
	var findings []page.Item
	var sections []page.Section
	for _, group := range all.ByCase() {
		name := group[0].Case
		says := cases.Conclude(group)
		if len(says) > 0 {
			findings = append(findings, page.Item{Text: says[0], To: name})
		}
		s := page.NewSection(name, name, page.Classed("soft", does(name)), page.List(says),
			page.Charts(cases.Figures(group, all)...), cases.Table(group).Block(), resultTable(group).Block(),
			page.Classed("soft", took(all, name)), page.Commands("Measure again:", reruns(group)...))
		sections = append(sections, s)
	}
	p.Sections = []page.Section{machines}
	if findings != nil {
		found := page.NewSection("findings", "Every case in a sentence", page.Items(findings))
		p.Sections = []page.Section{found, machines}
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

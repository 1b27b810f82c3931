// Package report shows the results of package bench: as tables of text, in Go's
// benchmark format, as pictures, and as one page that needs nothing but itself.
package report

import (
	"cmp"
	_ "embed" // report.html
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/picture"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Parse(reportHTML))

// page is what the template of the report shows.
type page struct {
	Title        string
	Machines     []machineView
	Answers      []answer  // to what people come with
	Findings     []finding // of every case, for the top of the page
	Paper        *bench.Table
	PaperFigures []template.HTML
	Sections     []section
	Skipped      []string
}

type machineView struct {
	Short string // in a sentence
	Facts [][2]string
	Noise string
}

// answer is what the top of the page says to a question.
type answer struct {
	Question string
	Texts    []string
	Table    *bench.Table
	Figures  []template.HTML
	Cases    []string // where it comes from
}

// finding is a sentence computed from the results, and where they are.
type finding struct {
	Case, Text string
}

// item is one of the paper's, and the case that measured it.
type item struct {
	bench.Evidence
	from string
}

type section struct {
	Case, Description string
	Findings          []string
	Figures           []template.HTML
	Head              []string
	Rows              []row
	Rerun             []string
	Ran               string // how long it took, and what disturbed it
	Published         *bench.Table
}

type row struct {
	Cells []cell
	Rerun string
}

// cell is the text of a table cell and what it sorts by.
type cell struct{ Text, Sort string }

// Write writes one HTML page about the runs that needs nothing but itself.
func Write(w io.Writer, files []*bench.File) error {
	var all bench.File // the results of every run
	p := page{Title: "iokl, measured"}
	for _, f := range files {
		all.Results = append(all.Results, f.Results...)
		p.Machines = append(p.Machines, viewMachine(f.Machine))
		p.Skipped = append(p.Skipped, f.Machine.Skipped...)
		all.Machine.Limits = cmp.Or(all.Machine.Limits, f.Machine.Limits)
	}
	var items []item
	for _, group := range all.ByCase() {
		c := bench.Find(group[0].Case)
		if c == nil {
			c = &bench.Case{Name: group[0].Case} // of another version
		}
		s := newSection(c, group, all.Machine.Limits)
		s.Ran = ranText(s.Case, files)
		p.Sections = append(p.Sections, s)
		if len(s.Findings) > 0 {
			p.Findings = append(p.Findings, finding{s.Case, s.Findings[0]})
		}
		if c.Paper != nil {
			for _, e := range c.Paper(group) {
				items = append(items, item{e, c.Name})
			}
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.Item, b.Item) })
	p.Paper = paperTable(items)
	for _, e := range items {
		p.PaperFigures = append(p.PaperFigures, inline(e.Figures)...)
	}
	p.Answers = answers(&all)
	return reportTemplate.Execute(w, p)
}

// inline are the figures as elements of the page.
func inline(figures []picture.Figure) []template.HTML {
	var out []template.HTML
	for _, f := range figures {
		if !f.FilesOnly {
			out = append(out, f.HTML())
		}
	}
	return out
}

// answers are those that the results suffice for.
func answers(f *bench.File) []answer {
	var out []answer
	for _, q := range bench.Questions() {
		a := q.Answer(f)
		if len(a.Texts) == 0 && len(a.Figures) == 0 && (a.Table == nil || len(a.Table.Rows) == 0) {
			continue
		}
		measured := slices.DeleteFunc(slices.Clone(q.Cases), func(name string) bool { return len(f.Of(name)) == 0 })
		out = append(out, answer{q.Text, a.Texts, a.Table, inline(a.Figures), measured})
	}
	return out
}

// paperTable is the paper's evidence item by item, what it reports beside what was
// measured here; nil when nothing of it was.
func paperTable(items []item) *bench.Table {
	t := &bench.Table{
		Title:  "Each table and figure of the paper, its finding beside ours. Its curves are not available as numbers: where it only draws, its own words stand.",
		Head:   []string{"in the paper", "published", "measured here", "case"},
		Source: bench.PaperSource + ". Times are not comparable: its machine is not named.",
		Words:  true,
	}
	for _, e := range items {
		if e.Measured != "" {
			t.Rows, t.Links = append(t.Rows, []string{e.Item, e.Published, e.Measured}), append(t.Links, e.from)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func newSection(c *bench.Case, group []bench.Result, limits *bench.Limits) section {
	s := section{Case: c.Name, Description: c.Does, Figures: inline(bench.Figures(group, limits))}
	if c.Conclude != nil {
		s.Findings = c.Conclude(group)
	}
	if c.Published != nil {
		s.Published = c.Published(group)
	}
	cols := columnsOf(group)
	for _, c := range cols {
		s.Head = append(s.Head, c.head)
	}
	for _, r := range group {
		line := row{Rerun: r.Rerun}
		for _, c := range cols {
			text := strings.TrimSpace(c.cell(r))
			line.Cells = append(line.Cells, cell{bench.OrDash(text), sortKey(text)})
		}
		s.Rows = append(s.Rows, line)
		whole := r.Rerun
		if r.Part != "" {
			whole = strings.Replace(whole, " "+r.Case+":"+r.Part+" ", " "+r.Case+" ", 1)
		}
		if !slices.Contains(s.Rerun, whole) {
			s.Rerun = append(s.Rerun, whole)
		}
	}
	if s.Published != nil && s.Published.Whole {
		s.Rows = nil
	}
	return s
}

// ranText says how long a case took in all files, and what disturbed it.
func ranText(name string, files []*bench.File) string {
	seconds, whole := 0.0, true
	var noise *bench.Noise
	for _, f := range files {
		for _, c := range f.Machine.Cases {
			if c.Case == name {
				seconds, whole, noise = seconds+c.Seconds, whole && c.Whole, noise.Worse(c.Noise)
			}
		}
	}
	if seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("The whole case took %.3g s.", seconds)
	if !whole {
		text += " It did not end: lines are missing."
	}
	if noise.Noisy() {
		text += " " + noiseText(noise)
	}
	return text
}

// sortKey is what a cell sorts by: its number where it starts with one.
func sortKey(text string) string {
	var v float64
	if _, err := fmt.Sscan(strings.TrimSuffix(text, " %"), &v); err == nil && !math.IsNaN(v) {
		return fmt.Sprintf("%.17g", v)
	}
	return text
}

func viewMachine(m bench.Machine) machineView {
	v := machineView{}
	add := func(key, format string, args ...any) {
		v.Facts = append(v.Facts, [2]string{key, fmt.Sprintf(format, args...)})
	}
	add("measured", "%s", m.Time.Format(time.RFC1123))
	add("processor", "%s, %d processors, %s/%s", m.CPU, m.CPUs, m.OS, m.Arch)
	add("instructions", "%s", strings.Join(m.Features, " "))
	if m.L2 > 0 {
		add("caches", "L1 %s, L2 %s, L3 %s", bench.Bytes(float64(m.L1Data)), bench.Bytes(float64(m.L2)), bench.Bytes(float64(m.L3)))
	}
	if m.Memory > 0 {
		add("memory", "%s", bench.Bytes(float64(m.Memory)))
	}
	add("backend", "%s, %s", backendText(m.Backend), bench.Plural(m.Threads, "thread"))
	for _, b := range m.Backends {
		if b.Backend != m.Backend.Backend {
			add("measured beside it", "%s", backendText(b))
		}
	}
	add("seed", "%d", m.Seed)
	add("built with", "%s", m.Go)
	if m.Commit != "" {
		state := ""
		if m.Dirty {
			state = ", with changes not committed"
		}
		add("commit", "%.12s%s", m.Commit, state)
	}
	if l := m.Limits; l != nil {
		for _, p := range l.FMA {
			add("peak "+p.Precision, "%.0f GFLOP/s with %s", p.GFlops, bench.Plural(p.Threads, "thread"))
		}
		for _, b := range l.Bandwidth {
			if b.Threads == m.Threads {
				add("reading "+bench.Bytes(float64(b.Bytes)), "%.0f GB/s with %s", b.GBytes, bench.Plural(b.Threads, "thread"))
			}
		}
	}
	v.Noise = noiseText(m.Noise)
	v.Short = fmt.Sprintf("%s, %s, %s backend, measured on %s.", m.CPU, bench.Plural(m.Threads, "thread"), m.Backend.Backend, m.Time.Format("2 January 2006"))
	if m.Quick {
		v.Short += " A quick run: small sizes, on which everything is further from its limit than on large ones."
	}
	if m.Noise.Noisy() {
		v.Short += " The machine was disturbed: do not rely on small differences."
	}
	return v
}

func backendText(b blas.Info) string {
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(b.Backend+" "+b.Version, " unknown"), b.Kernel)
}

// noiseText says how far the figures can be trusted.
func noiseText(n *bench.Noise) string {
	if n == nil {
		return ""
	}
	s := fmt.Sprintf("other programs used %.0f %% of the processors, the hypervisor took %.1f %%, the clock changed by %.0f %%",
		100*n.Other, 100*n.Steal, 100*math.Abs(n.Drift-1))
	if n.Noisy() {
		return "Disturbed: " + s + ". Measure again on a quieter machine before relying on small differences."
	}
	return "Undisturbed: " + s + "."
}

package bench

import (
	_ "embed" // report.html
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
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
	Paper        *published
	PaperFigures []template.HTML
	Sections     []section
	Skipped      []string
}

type machineView struct {
	Short string // in a sentence
	Facts [][2]string
	Noise string
}

// finding is a sentence computed from the results, and where they are.
type finding struct {
	Case, Text string
}

type section struct {
	Case, Description string
	Findings          []string
	Figures           []template.HTML
	Head              []string
	Rows              []row
	Rerun             []string
	Ran               string // how long it took, and what disturbed it
	Published         *published
}

type row struct {
	Cells []cell
	Rerun string
}

// cell is the text of a table cell and what it sorts by.
type cell struct{ Text, Sort string }

// WriteReport writes one HTML page about the runs that needs nothing but itself.
func WriteReport(w io.Writer, files []*File) error {
	var results []Result
	p := page{Title: "iokl, measured"}
	var limits *Limits
	for _, f := range files {
		results = append(results, f.Results...)
		p.Machines = append(p.Machines, viewMachine(f.Machine))
		p.Skipped = append(p.Skipped, f.Machine.Skipped...)
		if limits == nil {
			limits = f.Machine.Limits
		}
	}
	for _, group := range byCase(results) {
		s := newSection(group, limits)
		s.Ran = ranText(s.Case, files)
		p.Sections = append(p.Sections, s)
		if len(s.Findings) > 0 {
			p.Findings = append(p.Findings, finding{s.Case, s.Findings[0]})
		}
	}
	group := grouped(results)
	p.Answers, p.Paper, p.PaperFigures = answers(group, results, limits), paperPage(group), paperFigures(group)
	return reportTemplate.Execute(w, p)
}

func newSection(group []Result, limits *Limits) section {
	s := section{Case: group[0].Case, Description: description(group[0].Case)}
	if conclude := conclusions[s.Case]; conclude != nil {
		s.Findings = conclude(group)
	}
	for _, f := range figures(&File{Machine: Machine{Limits: limits}, Results: group}) {
		s.Figures = append(s.Figures, f.inline())
	}
	if s.Case == "sylvester" {
		for _, m := range crossMaps(group) {
			if m.gains {
				s.Figures = append(s.Figures, m.inline())
			}
		}
	}
	cols := columnsOf(group)
	for _, c := range cols {
		s.Head = append(s.Head, c.head)
	}
	for _, r := range group {
		line := row{Rerun: r.Rerun}
		for _, c := range cols {
			text := strings.TrimSpace(c.cell(r))
			line.Cells = append(line.Cells, cell{orDash(text), sortKey(text)})
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
	if s.Published = publishedFor(s.Case, group); s.Published != nil && s.Published.Whole {
		s.Rows = nil
	}
	return s
}

// ranText says how long a case took in all files, and what disturbed it.
func ranText(name string, files []*File) string {
	seconds, whole := 0.0, true
	var noise *Noise
	for _, f := range files {
		for _, c := range f.Machine.Cases {
			if c.Case == name {
				seconds, whole, noise = seconds+c.Seconds, whole && c.Whole, noise.worse(c.Noise)
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

// description is that of the case of the name, "" for one of another version.
func description(name string) string {
	for _, c := range cases {
		if c.Name() == name {
			return c.Description()
		}
	}
	return ""
}

// sortKey is what a cell sorts by: its number where it starts with one.
func sortKey(text string) string {
	var v float64
	if _, err := fmt.Sscan(strings.TrimSuffix(text, " %"), &v); err == nil && !math.IsNaN(v) {
		return fmt.Sprintf("%.17g", v)
	}
	return text
}

func viewMachine(m Machine) machineView {
	v := machineView{}
	add := func(key, format string, args ...any) {
		v.Facts = append(v.Facts, [2]string{key, fmt.Sprintf(format, args...)})
	}
	add("measured", "%s", m.Time.Format(time.RFC1123))
	add("processor", "%s, %d processors, %s/%s", m.CPU, m.CPUs, m.OS, m.Arch)
	add("instructions", "%s", strings.Join(m.Features, " "))
	if m.L2 > 0 {
		add("caches", "L1 %s, L2 %s, L3 %s", bytesText(float64(m.L1Data)), bytesText(float64(m.L2)), bytesText(float64(m.L3)))
	}
	if m.Memory > 0 {
		add("memory", "%s", bytesText(float64(m.Memory)))
	}
	add("backend", "%s, %s", backendText(m.Backend), plural(m.Threads, "thread"))
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
			add("peak "+p.Precision, "%.0f GFLOP/s with %s", p.GFlops, plural(p.Threads, "thread"))
		}
		for _, b := range l.Bandwidth {
			if b.Threads == m.Threads {
				add("reading "+bytesText(float64(b.Bytes)), "%.0f GB/s with %s", b.GBytes, plural(b.Threads, "thread"))
			}
		}
	}
	v.Noise = noiseText(m.Noise)
	v.Short = fmt.Sprintf("%s, %s, %s backend, measured on %s.", m.CPU, plural(m.Threads, "thread"), m.Backend.Backend, m.Time.Format("2 January 2006"))
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
func noiseText(n *Noise) string {
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

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func bytesText(b float64) string {
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

// Package report shows the results of package bench: as tables of text, in Go's
// benchmark format, as pictures, and as one page that needs nothing but itself.
package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/page"
)

// about is what the page is about.
const about = "iokl learns functions with n outputs from l samples. K is the l × l kernel matrix of the inputs, L " +
	"the n × n kernel matrix of the outputs, λ the " +
	"regularization; most of the time goes into one linear system, K·C·L + λl·C = Y, solved again and again. This " +
	"page says how fast that is on this machine:"

// Write writes one HTML page about the runs that needs nothing but itself.
func Write(w io.Writer, files []*bench.File) error {
	var all bench.File // the results of every run
	p := page.Page{Title: "iokl, measured", Lead: []template.HTML{page.Text(about)}}
	machines := page.Section{ID: "machine", Title: "The machine"}
	var skipped []string
	for _, f := range files {
		all.Results = append(all.Results, f.Results...)
		p.Lead = append(p.Lead, page.Classed("box", machineText(f.Machine)))
		machines.Add(page.Facts(machineFacts(f.Machine)), page.Text(noiseText(f.Machine.Noise)))
		skipped = append(skipped, f.Machine.Skipped...)
		all.Machine.Limits = cmp.Or(all.Machine.Limits, f.Machine.Limits)
	}
	p.Lead = append(p.Lead, page.Classed("soft", "Times are medians of repetitions. Every number comes from the "+
		"result files that the page was made of; published figures name their source. Headings of tables sort."))
	var findings []page.Item
	var cases []page.Section
	for _, group := range all.ByCase() {
		c := bench.Find(group[0].Case)
		if c == nil {
			c = &bench.Case{Name: group[0].Case} // of another version
		}
		s, first := newSection(c, group, &all, ranText(c.Name, files))
		cases = append(cases, s)
		if first != "" {
			findings = append(findings, page.Item{Text: first, To: c.Name})
		}
	}
	if len(findings) > 0 {
		p.Sections = append(p.Sections, page.Section{
			ID: "findings", Title: "Every case in a sentence", Blocks: []template.HTML{page.Items(findings)},
		})
	}
	p.Lead = append(p.Lead, jump(append(p.Sections, machines)))
	p.Sections = append(append(p.Sections, machines), cases...)
	if len(skipped) > 0 {
		p.Sections = append(p.Sections, page.Section{
			Title:  "Not measured",
			Blocks: []template.HTML{page.List(skipped)},
		})
	}
	return p.Write(w)
}

// jump leads to the sections that have a name.
func jump(sections []page.Section) template.HTML {
	var ids []string
	for _, s := range sections {
		if s.ID != "" {
			ids = append(ids, s.ID)
		}
	}
	return page.Links("Jump to", ids)
}

func tableOf(t *bench.Table) *page.Table {
	if t == nil {
		return nil
	}
	out := &page.Table{Caption: t.Title, Head: t.Head, Source: t.Source, Words: t.Words}
	for _, texts := range t.Rows {
		out.Rows = append(out.Rows, page.Texts(texts...))
	}
	return out
}

// newSection is the section of a case, and its first finding.
func newSection(c *bench.Case, group []bench.Result, f *bench.File, ran string) (s page.Section, first string) {
	s = page.Section{ID: c.Name, Title: c.Name}
	s.Add(page.Classed("soft", c.Does))
	if c.Conclude != nil {
		if findings := c.Conclude(group); len(findings) > 0 {
			s.Add(page.List(findings))
			first = findings[0]
		}
	}
	s.Add(page.Charts(bench.Figures(group, f)))
	if c.Published != nil {
		s.Add(tableOf(c.Published(group)).HTML())
	}
	s.Add(resultTable(group).HTML(), page.Classed("soft", ran), page.Commands("Measure again:", reruns(group)...))
	return s, first
}

// resultTable has a line for each result.
func resultTable(group []bench.Result) *page.Table {
	t := tableOf(listing(group))
	t.Sort = true
	for i := range t.Rows {
		t.Rows[i].Title = group[i].Rerun
	}
	return t
}

// listing is the results as texts.
func listing(group []bench.Result) *bench.Table {
	cols := columnsOf(group)
	t := &bench.Table{}
	for _, c := range cols {
		t.Head = append(t.Head, c.head)
	}
	for _, r := range group {
		var row []string
		for _, c := range cols {
			row = append(row, bench.OrDash(strings.TrimSpace(c.cell(r))))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
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
	if c := bench.Find(name); c != nil && len(parts) < len(c.Parts) {
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

// machineFacts describe a machine.
func machineFacts(m bench.Machine) (facts [][2]string) {
	add := func(key, format string, args ...any) {
		facts = append(facts, [2]string{key, fmt.Sprintf(format, args...)})
	}
	add("measured", "%s", m.Time.Format(time.RFC1123))
	add("processor", "%s, %d processors, %s/%s", m.CPU, m.CPUs, m.OS, m.Arch)
	add("instructions", "%s", strings.Join(m.Features, " "))
	if m.L2 > 0 {
		third := "L3 not told"
		if m.L3 > 0 {
			third = "L3 " + bench.Bytes(float64(m.L3))
		}
		add("caches", "L1 %s, L2 %s, %s", bench.Bytes(float64(m.L1Data)), bench.Bytes(float64(m.L2)), third)
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
	if len(m.Forced) > 0 {
		add("kernels of libraries", "not their own choice: %s", strings.Join(m.Forced, " "))
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
				add("reading "+bench.Bytes(float64(b.Bytes)), "%.0f GB/s with %s", b.GBytes,
					bench.Plural(b.Threads, "thread"))
			}
		}
	}
	return facts
}

// machineText is a machine in a sentence.
func machineText(m bench.Machine) string {
	text := fmt.Sprintf("%s, %s, %s backend, measured on %s.", m.CPU, bench.Plural(m.Threads, "thread"),
		m.Backend.Backend, m.Time.Format("2 January 2006"))
	if m.Quick {
		text += " A quick run: small sizes, on which everything is further from its limit than on large ones."
	}
	if m.Noise.Noisy() {
		text += " The machine was disturbed: do not rely on small differences."
	}
	return text
}

func backendText(b blas.Info) string {
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(b.Backend+" "+b.Version, " unknown"), b.Kernel)
}

// noiseText says how far the figures can be trusted.
func noiseText(n *bench.Noise) string {
	if n == nil {
		return ""
	}
	s := fmt.Sprintf("other programs used %.0f %% of the processors, the hypervisor took %.1f %%, the clock changed "+
		"by %.0f %%",
		100*n.Other, 100*n.Steal, 100*math.Abs(n.Drift-1))
	if n.Noisy() {
		return "Disturbed: " + s + ". Measure again on a quieter machine before relying on small differences."
	}
	return "Undisturbed: " + s + "."
}

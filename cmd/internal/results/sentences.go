// This file makes sentences about results of templates.

package results

import (
	_ "embed" // sentences.tmpl, reports.tmpl and tables.tmpl
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/learn/choose"
)

//go:embed sentences.tmpl
var sentencesText string

//go:embed reports.tmpl
var reportsText string

//go:embed tables.tmpl
var tablesText string

// cellEnd and lineEnd are characters of no name, which separate cells and lines of tables.
const cellEnd, lineEnd = "\x1f", "\x1e"

// texts are those of sentences, whose line breaks are blanks, of reports, and of tables.
var texts = template.Must(template.New("texts").Funcs(template.FuncMap{
	"counted": Counted, "enumerated": Enumerated,
	"number":  func(format string, v *float64) string { return fmt.Sprintf(format, *v) },
	"percent": func(format string, v float64) string { return fmt.Sprintf(format, 100*v) },
	"less":    func(v, than float64) float64 { return max(0, 1-v/than) },
	"bytes":   func(n int64) string { return memory.Format(float64(n)) },
	"error":   errorText, "accuracy": accuracyText, "sources": sourceNames,
	"axis":   func(model *iokl.Model) []string { _, names := model.OutputAxis(); return names },
	"mean":   func(v []float64) float64 { return stat.Mean(v, nil) },
	"step":   func(k int) string { return Counted(k+1, "step") },
	"active": Active, "metric": func(name iokl.Metric) string { return metricNames[name] }, "brief": choose.Brief,
	"coupled": func() float64 { return coupled },
	"join":    strings.Join, "least": slices.Min[[]float64], "largest": slices.Max[[]float64],
}).Parse(regexp.MustCompile(`\n[ \t]*`).ReplaceAllString(sentencesText, " ") + reportsText +
	strings.NewReplacer("\n{{-", "{{", "\t", cellEnd, "\n", lineEnd).Replace(tablesText)))

// say is the sentence of that name about v.
func say(name string, v any) string { return strings.TrimSpace(fill(name, v)) }

// fill is what the template of that name makes of v.
func fill(name string, v any) string {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, name, v); err != nil {
		panic("results: " + err.Error()) // the template is wrong: a builder takes everything
	}
	return b.String()
}

// Report writes what the template of that name makes of v.
func Report(w io.Writer, name string, v any) error {
	_, err := io.WriteString(w, fill(name, v))
	return status.Failure(err)
}

// Columns writes what the template of that name makes of v, whose tabs separate columns. The flags are those of package
// tabwriter.
func Columns(w io.Writer, name string, v any, flags uint) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', flags)
	if err := Report(t, name, v); err != nil {
		return err
	}
	return status.Failure(t.Flush())
}

// lines are those that the template of that name makes of v, in cells.
func lines(name string, v any) (all [][]string) {
	for line := range strings.SplitSeq(fill(name, v), lineEnd) {
		if line != "" {
			all = append(all, strings.Split(line, cellEnd))
		}
	}
	return all
}

// facts are pairs of a name and what it is, by the template of that name.
func facts(name string, v any) (pairs [][2]string) {
	for _, cells := range lines(name, v) {
		pairs = append(pairs, [2]string(cells))
	}
	return pairs
}

// table has the headings and rows that the template makes that is called as the table's file.
func table(file string, v any) *page.Table {
	all := lines(file, v)
	t := &page.Table{Head: all[0], Sort: true, File: file}
	for _, cells := range all[1:] {
		t.Rows = append(t.Rows, page.Texts(cells...))
	}
	return t
}

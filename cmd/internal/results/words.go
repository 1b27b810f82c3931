package results

import (
	_ "embed" // the templates
	"io"
	"text/template"

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

//go:embed pages.tmpl
var pagesText string

var words = page.NewWords(template.FuncMap{
	"less":  func(v, than float64) float64 { return max(0, 1-v/than) },
	"bytes": func(n int64) string { return memory.Format(float64(n)) },
	"error": errorText, "accuracy": accuracyText, "sources": sourceNames, "class": classRow,
	"axis":   func(model *iokl.Model) []string { _, names := model.OutputAxis(); return names },
	"step":   func(k int) string { return page.Counted(k+1, "step") },
	"active": Active, "metric": func(name string) string { return metricNames[name] }, "brief": choose.Brief,
	"coupled": func() float64 { return coupled }, "figure": page.Figure,
	"first": func(most int, texts []string) []string { return texts[:min(most, len(texts))] },
}, sentencesText, reportsText, tablesText+pagesText)

func say(name string, v any) string { return words.Say(name, v) }

// Report writes what the template of that name makes of v.
func Report(w io.Writer, name string, v any) error {
	_, err := io.WriteString(w, words.Text(name, v))
	return status.Failure(err)
}

// Columns writes what the template of that name makes of v, whose tabs separate columns. The flags are those of package
// tabwriter.
func Columns(w io.Writer, name string, v any, flags uint) error {
	return status.Failure(words.Columns(w, name, v, flags))
}

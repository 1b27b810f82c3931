// This file makes sentences about results of templates.

package results

import (
	_ "embed" // sentences.tmpl and reports.tmpl
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/iokl/iokl/internal/memory"
)

//go:embed sentences.tmpl
var sentencesText string

//go:embed reports.tmpl
var reportsText string

// texts are those of sentences, whose line breaks are blanks, and of reports.
var texts = template.Must(template.New("texts").Funcs(template.FuncMap{
	"counted": Counted, "enumerated": Enumerated,
	"some": func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return Enumerated(names, 6)
	},
	"number":  func(format string, v *float64) string { return fmt.Sprintf(format, *v) },
	"percent": func(format string, v float64) string { return fmt.Sprintf(format, 100*v) },
	"less":    func(v, than float64) float64 { return max(0, 1-v/than) },
	"bytes":   func(n int64) string { return memory.Format(float64(n)) },
	"error":   errorText, "setting": settingText,
	"list": list, "sources": sourceNames, "axis": axisText, "solvers": solvers,
}).Parse(regexp.MustCompile(`\n[ \t]*`).ReplaceAllString(sentencesText, " ") + reportsText))

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

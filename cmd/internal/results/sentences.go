// This file makes sentences about results of templates.

package results

import (
	_ "embed" // sentences.tmpl
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

//go:embed sentences.tmpl
var sentencesText string

// sentences have their line breaks as blanks.
var sentences = template.Must(template.New("sentences").Funcs(template.FuncMap{
	"counted": Counted, "enumerated": Enumerated,
	"some": func(names []string) string {
		if len(names) == 0 {
			return "none"
		}
		return Enumerated(names, 6)
	},
	"number":  func(format string, v *float64) string { return fmt.Sprintf(format, *v) },
	"percent": func(format string, v float64) string { return fmt.Sprintf(format, 100*v) },
}).Parse(regexp.MustCompile(`\n[ \t]*`).ReplaceAllString(sentencesText, " ")))

// say is the sentence of that name about v.
func say(name string, v any) string {
	var b strings.Builder
	if err := sentences.ExecuteTemplate(&b, name, v); err != nil {
		panic("results: " + err.Error()) // the template is wrong: a builder takes everything
	}
	return strings.TrimSpace(b.String())
}

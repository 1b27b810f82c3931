// Package results renders the results of a fit, of a comparison of settings and of a causal graph: as JSON, sentences,
// tables, pictures, and self-contained pages of HTML.
package results

import (
	"bytes"
	_ "embed" // the templates
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/page"
	"github.com/iokl/iokl/internal/learn/choose"
)

// Subject is a result that a page is about.
type Subject struct {
	name     string
	kind     string      // what it is, in a word
	verdict  []string    // what was found, in sentences
	figures  [][2]string // that several subjects are compared by
	sections []page.Section
}

// Read reads a model, or the JSON of cv or granger.
func Read(path string) (Subject, error) {
	f, err := os.Open(path)
	if err != nil {
		return Subject{}, err
	}
	defer f.Close()
	start := make([]byte, 2)
	if n, err := io.ReadFull(f, start); err != nil || !bytes.Equal(start, []byte("PK")) {
		return readJSON(io.MultiReader(bytes.NewReader(start[:n]), f), path)
	}
	model, err := iokl.Load(path)
	if err != nil {
		return Subject{}, err
	}
	return ModelSubject(filepath.Base(path), model)
}

// readJSON reads what cv or granger printed, by the members that each has.
func readJSON(r io.Reader, path string) (Subject, error) {
	text, err := memory.ReadAll(r, path)
	if err != nil {
		return Subject{}, err
	}
	var is struct {
		Points json.RawMessage `json:"points"`
		Graph  json.RawMessage `json:"graph"`
	}
	foreign := func(why any) (Subject, error) {
		return Subject{}, status.Input("%s is neither a model nor the JSON of cv or granger: %v", path, why)
	}
	if err := memory.Unmarshal(text, &is); err != nil {
		return foreign(err)
	}
	var report interface {
		check() error
		Page(path string) Subject
	}
	switch {
	case is.Points != nil:
		report = new(CV)
	case is.Graph != nil:
		report = new(Graph)
	default:
		return foreign(`it has no "points" and no "graph"`)
	}
	err = json.Unmarshal(text, report)
	if err == nil {
		err = report.check()
	}
	if err != nil {
		return foreign(err)
	}
	return report.Page(path), nil
}

// WritePage writes the page about the subjects.
func WritePage(path string, all ...Subject) error {
	p := newPage(all)
	return status.Failure(atomicfile.Write(path, p.Write))
}

// newPage is the page about one Subject, or about several compared.
func newPage(all []Subject) *page.Page {
	p := &page.Page{}
	if len(all) == 1 {
		s := all[0]
		p.Title, p.Sections = s.kind+": "+s.name, s.sections
		for _, text := range s.verdict {
			p.Lead = append(p.Lead, page.Classed("verdict", text))
		}
		p.Lead = append(p.Lead, page.Links("On this page:", s.sections))
		return p
	}
	p.Title = fmt.Sprintf("%d results compared", len(all))
	p.Sections = []page.Section{page.NewSection("compared", "Side by side", comparison(all).Block())}
	for k, s := range all {
		id := fmt.Sprintf("result-%d", k+1)
		head := page.NewSection(id, s.kind+": "+s.name)
		for _, text := range s.verdict {
			head.Add(page.Text(text))
		}
		p.Sections = append(p.Sections, head)
		for _, part := range s.sections {
			part.ID, part.Sub = id+"-"+part.ID, true
			p.Sections = append(p.Sections, part)
		}
		p.Lead = append(p.Lead, page.Classed("verdict", s.name+": "+s.verdict[0]))
	}
	return p
}

// comparison has a line for each figure that some Subject has, and a column for each subject.
func comparison(all []Subject) *page.Table {
	t := &page.Table{Head: []string{"figure"}, Sort: true, File: "comparison.csv"}
	for k, s := range all {
		t.Head = append(t.Head, s.name)
		for _, f := range s.figures {
			row := slices.IndexFunc(t.Rows, func(r page.Row) bool { return r.Cells[0] == f[0] })
			if row < 0 {
				row = len(t.Rows)
				t.Add(append([]string{f[0]}, slices.Repeat([]string{page.Dash("")}, len(all))...)...)
			}
			t.Rows[row].Cells[k+1] = f[1]
		}
	}
	return t
}

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
	"active": Active, "metric": func(name iokl.Metric) string { return metricNames[name] }, "brief": choose.Brief,
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

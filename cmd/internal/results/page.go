// Package results says what was found, by a fit, a comparison of settings or a causal graph: the results as they are
// printed as JSON, the same in words, in pictures, and on pages of HTML that need no other file.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/cmd/internal/status"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/atomicfile"
	"github.com/iokl/iokl/internal/files/page"
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
	if _, err := io.ReadFull(f, start); err != nil || !bytes.Equal(start, []byte("PK")) {
		return readJSON(path)
	}
	model, err := iokl.Load(path)
	if err != nil {
		return Subject{}, err
	}
	return ModelSubject(filepath.Base(path), model)
}

// readJSON reads what cv or granger printed, by the members that each has.
func readJSON(path string) (Subject, error) {
	f, err := os.Open(path)
	if err != nil {
		return Subject{}, err
	}
	defer f.Close()
	text, err := memory.ReadAll(f, path)
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
	if len(all) == 1 {
		s := all[0]
		p := &page.Page{Title: s.kind + ": " + s.name, Sections: s.sections}
		for _, text := range s.verdict {
			p.Lead = append(p.Lead, page.Classed("verdict", text))
		}
		var ids []string
		for _, part := range s.sections {
			ids = append(ids, part.ID)
		}
		p.Lead = append(p.Lead, page.Links("On this page:", ids))
		return p
	}
	p := &page.Page{Title: fmt.Sprintf("%d results compared", len(all))}
	p.Sections = append(p.Sections, section("compared", "Side by side", comparison(all).HTML()))
	for k, s := range all {
		id := fmt.Sprintf("result-%d", k+1)
		head := section(id, s.kind+": "+s.name)
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
	var keys []string
	for _, s := range all {
		t.Head = append(t.Head, s.name)
		for _, f := range s.figures {
			if !slices.Contains(keys, f[0]) {
				keys = append(keys, f[0])
			}
		}
	}
	for _, key := range keys {
		line := []string{key}
		for _, s := range all {
			text := "–"
			for _, f := range s.figures {
				if f[0] == key {
					text = f[1]
				}
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, page.Texts(line...))
	}
	return t
}

// section is a heading and the blocks below it, empty ones left out.
func section(id, title string, blocks ...template.HTML) page.Section {
	s := page.Section{ID: id, Title: title}
	s.Add(blocks...)
	return s
}

// add appends the sections that have something to say.
func (s *Subject) add(sections ...page.Section) {
	for _, part := range sections {
		if len(part.Blocks) > 0 {
			s.sections = append(s.sections, part)
		}
	}
}

// rerun is the section that says how to get the result again.
func rerun(command string, settings [][2]string) page.Section {
	again := page.Text("The file does not say which command made it.")
	if command != "" {
		again = page.Commands("Run again:", command)
	}
	return section("again", "Settings, and how to run it again", again, page.Facts(settings))
}

// Enumerated is a, b and c, the first of them where there are more.
func Enumerated(names []string, most int) string {
	if n := len(names) - most; n > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", n))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Counted is a number with its noun, which takes an s for others than one.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

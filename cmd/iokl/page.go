// This file is the command report, and puts together the pages about results.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/atomicfile"
	"github.com/iokl/iokl/internal/page"
)

// subject is a result that a page is about.
type subject struct {
	name     string
	kind     string      // what it is, in a word
	verdict  []string    // what was found, in sentences
	figures  [][2]string // that several subjects are compared by
	sections []page.Section
}

func newReportCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "report FILE... --out PAGE",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("report takes models, or JSON files of cv and granger")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("give the page to write by --out")
			}
			if err := checkFile(cmd, "out"); err != nil {
				return err
			}
			var all []subject
			for _, name := range args {
				s, err := reading(cmd, func() (subject, error) { return readSubject(name) })
				if err != nil {
					return work(err)
				}
				all = append(all, s)
			}
			return writePage(out, all)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "")
	return cmd
}

// reportFlag is the flag of the commands that write a page about what they found.
func reportFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "report", "", "")
}

// readSubject reads a model, or the JSON of cv or granger.
func readSubject(path string) (subject, error) {
	f, err := os.Open(path)
	if err != nil {
		return subject{}, err
	}
	defer f.Close()
	name := filepath.Base(path)
	start := make([]byte, 2)
	if _, err := io.ReadFull(f, start); err != nil || !bytes.Equal(start, []byte("PK")) {
		return readJSON(path, name)
	}
	model, err := iokl.Load(path)
	if err != nil {
		return subject{}, err
	}
	return modelSubject(name, model)
}

// readJSON reads what cv or granger printed, by the members that each has.
func readJSON(path, name string) (subject, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return subject{}, err
	}
	var is struct {
		Points json.RawMessage `json:"points"`
		Graph  json.RawMessage `json:"graph"`
	}
	foreign := func(why any) (subject, error) {
		return subject{}, inputError("%s is neither a model nor the JSON of cv or granger: %v", path, why)
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return foreign(err)
	}
	switch {
	case is.Points != nil:
		r := new(cvReport)
		if err := json.Unmarshal(text, r); err != nil {
			return foreign(err)
		}
		if err := r.check(); err != nil {
			return foreign(err)
		}
		return cvSubject(name, r), nil
	case is.Graph != nil:
		r := new(grangerReport)
		if err := json.Unmarshal(text, r); err != nil {
			return foreign(err)
		}
		if err := r.check(); err != nil {
			return foreign(err)
		}
		return graphSubject(path, r), nil
	}
	return foreign(`it has no "points" and no "graph"`)
}

// writePage writes the page about the subjects.
func writePage(path string, all []subject) error {
	p := newPage(all)
	if err := atomicfile.Write(path, p.Write); err != nil {
		return failure{err}
	}
	return nil
}

// newPage is the page about one subject, or about several compared.
func newPage(all []subject) *page.Page {
	if len(all) == 1 {
		s := all[0]
		p := &page.Page{Title: s.kind + ": " + s.name, Sections: s.sections}
		for _, text := range s.verdict {
			p.Lead = append(p.Lead, page.Classed("verdict", text))
		}
		p.Lead = append(p.Lead, contents(p.Sections))
		return p
	}
	p := &page.Page{Title: fmt.Sprintf("%d results compared", len(all))}
	compared := page.Section{ID: "compared", Title: "Side by side"}
	compared.Add(comparison(all).HTML())
	p.Sections = append(p.Sections, compared)
	for k, s := range all {
		id := fmt.Sprintf("result-%d", k+1)
		head := page.Section{ID: id, Title: s.kind + ": " + s.name}
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

// contents leads to the sections.
func contents(sections []page.Section) template.HTML {
	var ids []string
	for _, s := range sections {
		ids = append(ids, s.ID)
	}
	return page.Links("On this page:", ids)
}

// comparison has a line for each figure that some subject has, and a column for each subject.
func comparison(all []subject) *page.Table {
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

// rerun is the section that says how to get the result again.
func rerun(command string, settings [][2]string) page.Section {
	s := page.Section{ID: "again", Title: "Settings, and how to run it again"}
	if command != "" {
		s.Add(page.Commands("Run again:", command))
	} else {
		s.Add(page.Text("The file does not say which command made it."))
	}
	s.Add(page.Facts(settings))
	return s
}

// enumerated is a, b and c, the first of them where there are more.
func enumerated(names []string, most int) string {
	if n := len(names) - most; n > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", n))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// counted is a number with its noun, which takes an s for others than one.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

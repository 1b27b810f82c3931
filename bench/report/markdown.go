// This file writes the page of evidence: Markdown and its pictures.

package report

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/internal/files/picture"
)

// mostLines is the number of results that the page lists one by one; the file of results has all of them.
const mostLines = 24

// WriteMarkdown writes a page about one run by topic: of each case its findings, a picture and a table, and the command
// that measures it again. Pictures are SVG files in a folder called pictures, in dir.
func WriteMarkdown(w io.Writer, f *bench.File, dir string) error {
	m := &markdown{File: f, dir: dir}
	m.line("# Evidence\n")
	m.line("%s\n", machineText(f.Machine))
	m.line("Each figure below comes from one run, and each case names the command that measures it again.")
	m.line("Published figures are marked as such, with their source. The page is made by\n")
	m.line("    mklbench run evidence --out evidence.json")
	m.line("    mklbench report evidence.json --out evidence.md\n")
	m.facts()
	for _, topic := range bench.Topics {
		if err := m.topic(topic); err != nil {
			return err
		}
	}
	if left := append(slices.Clone(f.Machine.Skipped), notRun(f)...); len(left) > 0 {
		m.line("## Not measured\n")
		m.list(left)
	}
	_, err := io.WriteString(w, strings.TrimRight(m.text.String(), "\n")+"\n")
	return err
}

// notRun lists the cases of a topic that the run left out.
func notRun(f *bench.File) (list []string) {
	for _, c := range bench.Cases() {
		if c.Topic != "" && !slices.ContainsFunc(f.Results, func(r bench.Result) bool { return r.Case == c.Name }) {
			list = append(list, fmt.Sprintf("%s: %s", c.Name, c.Does))
		}
	}
	return list
}

type markdown struct {
	*bench.File
	dir  string
	text strings.Builder
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.line("- %s", item)
	}
	m.line("")
}

func (m *markdown) facts() {
	rows := [][]string{}
	for _, fact := range machineFacts(m.Machine) {
		rows = append(rows, fact[:])
	}
	m.table(&bench.Table{Head: []string{"machine", ""}, Rows: rows})
}

// topic writes the cases of a topic, if there are any.
func (m *markdown) topic(topic string) error {
	var groups [][]bench.Result
	for _, group := range m.ByCase() {
		if c := bench.Find(group[0].Case); c != nil && c.Topic == topic {
			groups = append(groups, group)
		}
	}
	if groups == nil {
		return nil
	}
	m.line("## %s\n", topic)
	for _, group := range groups {
		if err := m.group(group); err != nil {
			return err
		}
	}
	return nil
}

// group writes one case.
func (m *markdown) group(group []bench.Result) error {
	c := bench.Find(group[0].Case)
	m.line("### %s\n", c.Name)
	m.line("%s.\n", strings.ToUpper(c.Does[:1])+c.Does[1:])
	if c.Conclude != nil {
		m.list(c.Conclude(group))
	}
	if err := m.picture(bench.Figures(group, m.File)); err != nil {
		return err
	}
	var t *bench.Table
	if c.Published != nil {
		t = c.Published(group)
	}
	if t == nil && len(group) <= mostLines {
		t = listing(group)
	}
	if t != nil {
		m.table(t)
	}
	m.line("%s\n", ranText(c.Name, []*bench.File{m.File}))
	for _, command := range reruns(group) {
		m.line("    %s", command)
	}
	m.line("")
	return nil
}

// picture draws the first figure that has a name.
func (m *markdown) picture(figures []picture.Figure) error {
	i := slices.IndexFunc(figures, func(f picture.Figure) bool { return f.Name != "" })
	if i < 0 {
		return nil
	}
	f, dir := figures[i], filepath.Join(m.dir, "pictures")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	files, err := f.Save(dir)
	if err != nil {
		return err
	}
	m.line("![%s](pictures/%s)\n", cmp.Or(f.Title, f.Name), filepath.Base(files[len(files)-1]))
	return nil
}

// table writes a table with its title above and its source below.
func (m *markdown) table(t *bench.Table) {
	if t.Title != "" {
		m.line("%s\n", t.Title)
	}
	m.row(t.Head)
	m.row(slices.Repeat([]string{"---"}, len(t.Head)))
	for _, row := range t.Rows {
		m.row(row)
	}
	m.line("")
	if t.Source != "" {
		m.line("%s\n", t.Source)
	}
}

func (m *markdown) row(cells []string) {
	clean := strings.NewReplacer("|", "\\|", "\n", " ")
	m.text.WriteString("|")
	for _, cell := range cells {
		m.text.WriteString(" " + clean.Replace(cell) + " |")
	}
	m.text.WriteString("\n")
}

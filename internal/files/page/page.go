// Package page writes results as self-contained HTML, as Markdown and as columns of text. Pages can be read on a phone,
// in print, in light and dark, and without their script. [Words] makes sentences, tables and sections from templates.
package page

import (
	"cmp"
	_ "embed" // page.html and page.md
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	texts "text/template"

	"github.com/iokl/iokl/internal/base/screen"
	"github.com/iokl/iokl/internal/files/picture"
)

//go:embed page.html
var htmlText string

//go:embed page.md
var markdownText string

var (
	htmlShapes     = template.Must(template.New("html").Funcs(template.FuncMap{"key": sortKey}).Parse(htmlText))
	markdownShapes = texts.Must(texts.New("markdown").Funcs(texts.FuncMap{
		"cell":     strings.NewReplacer("|", `\|`, "\n", " ").Replace,
		"save":     func(picture.Figure) string { return "" }, // WriteMarkdown has one for its folder
		"markdown": func(Block) string { return "" },
	}).Parse(markdownText))
)

// Page is a title, what comes first, and sections.
type Page struct {
	Title    string
	Lead     []Block
	Sections []Section
}

// Section is a heading and the blocks below it.
type Section struct {
	ID, Title string
	Sub       bool // it belongs to the section before
	Blocks    []Block
}

// Block is an element of a page: what the templates of its kind make of a value. The zero Block is nothing.
type Block struct {
	kind  string
	value any
}

// NewSection is a section with the blocks that are not empty.
func NewSection(id, title string, blocks ...Block) Section {
	s := Section{ID: id, Title: title}
	s.Add(blocks...)
	return s
}

// Add appends blocks; empty ones are left out.
func (s *Section) Add(blocks ...Block) {
	for _, b := range blocks {
		if b.kind != "" {
			s.Blocks = append(s.Blocks, b)
		}
	}
}

// Write writes the page as HTML.
func (p *Page) Write(w io.Writer) error {
	out := &screen.Writer{W: w} // HTML has no way to write control characters
	return cmp.Or(htmlShapes.ExecuteTemplate(out, "page", p), out.End())
}

// HTML is the block as an element.
func (b Block) HTML() template.HTML {
	var out strings.Builder
	if err := htmlShapes.ExecuteTemplate(&out, b.kind, b.value); err != nil {
		panic("page: " + err.Error()) // a builder takes everything: the template is wrong
	}
	return template.HTML(out.String()) // escaped by the template
}

var emptyLines = regexp.MustCompile(`\n{3,}`)

// WriteMarkdown writes the page as Markdown, with the figures that have names as SVG files in the folder pictures of
// dir.
func (p *Page) WriteMarkdown(w io.Writer, dir string) error {
	shapes := texts.Must(markdownShapes.Clone())
	shapes.Funcs(texts.FuncMap{"save": func(f picture.Figure) (string, error) {
		if err := os.MkdirAll(filepath.Join(dir, "pictures"), 0o777); err != nil {
			return "", err
		}
		files, err := f.Save(filepath.Join(dir, "pictures"))
		return "pictures/" + f.Name + filepath.Ext(files[len(files)-1]), err
	}, "markdown": func(b Block) (string, error) {
		var out strings.Builder
		err := shapes.ExecuteTemplate(&out, b.kind, b.value)
		return out.String(), err
	}})
	var out strings.Builder
	if err := shapes.ExecuteTemplate(&out, "page", p); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.TrimSpace(emptyLines.ReplaceAllString(out.String(), "\n\n"))+"\n")
	return err
}

// Text is a paragraph, nothing for no text.
func Text(text string) Block { return Classed("", text) }

// block is a block of that kind, nothing where it would be of size 0.
func block(kind string, size int, value any) Block {
	if size == 0 {
		return Block{}
	}
	return Block{kind, value}
}

// Classed is a paragraph of a class of the style sheet: soft, box or verdict.
func Classed(class, text string) Block {
	return block("paragraph", len(text), struct{ Class, Text string }{class, text})
}

// List is a list of texts, nothing for none, each with a link to the section of that name where sections are named.
func List(texts []string, sections ...string) Block {
	return block("list", len(texts), struct{ Texts, To []string }{texts, sections})
}

// Facts are pairs of a name and what it is.
func Facts(facts [][2]string) Block { return block("facts", len(facts), facts) }

// labelled is a list behind a label.
type labelled struct {
	Label string
	List  []string
}

// Commands are command lines behind a label, which Markdown leaves out.
func Commands(label string, lines ...string) Block { return Block{"commands", labelled{label, lines}} }

// Links lead to the sections that have a name.
func Links(label string, sections []Section) Block {
	var named []string
	for _, s := range sections {
		if s.ID != "" {
			named = append(named, s.ID)
		}
	}
	return Block{"links", labelled{label, named}}
}

// Charts are figures side by side.
func Charts(figures ...picture.Figure) Block { return grid("charts", figures) }

// SmallCharts are as many side by side as have room.
func SmallCharts(figures []picture.Figure) Block { return grid("charts small", figures) }

func grid(class string, figures []picture.Figure) Block {
	return block("charts", len(figures), struct {
		Class   string
		Figures []picture.Figure
	}{class, figures})
}

// Network is a graph that tools of a table filter.
func Network(g *picture.Network) Block { return Block{"network", g} }

// Table is a table; a page's script sorts it and saves it as CSV.
type Table struct {
	Caption string
	Head    []string
	Rows    []Row
	Words   bool // more text than numbers
	// LongLast says that the last column has long text, of which lines are broken.
	LongLast bool
	Sort     bool   // headings sort
	Source   string // of a table that does not sort, below it
	ID       string // that tools filter it by
	File     string // name of the CSV file that it is saved as; "" for none
}

// Row is a row of a table.
type Row struct {
	Cells []string
	Title string // what is said where it is pointed at
	Data  string // name of the line of a network that it is about
}

// sortKey is what rows are sorted and filtered by where a cell has this text: its number where it starts with one.
func sortKey(text string) string {
	var v float64
	if _, err := fmt.Sscan(strings.TrimSuffix(text, " %"), &v); err == nil && !math.IsNaN(v) {
		return fmt.Sprintf("%.17g", v)
	}
	return text
}

// Add appends a row of texts.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// Block is the table as a block, nothing without rows.
func (t *Table) Block() Block {
	if t == nil || len(t.Rows) == 0 {
		return Block{}
	}
	return Block{"table", t}
}

// WriteText writes the headings and the first rows as columns of text, and how many rows there are beside them.
func (t *Table) WriteText(w io.Writer, most int) error {
	if t == nil || len(t.Rows) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(t.Head, "\t"))
	for _, row := range t.Rows[:min(most, len(t.Rows))] {
		fmt.Fprintln(out, strings.Join(row.Cells, "\t")+"\t")
	}
	if more := len(t.Rows) - most; more > 0 {
		fmt.Fprintf(out, "and %d more\n", more)
	}
	return out.Flush()
}

// Tool lets a reader choose which rows of a table are shown, and with them the lines
// of a network. Without a script it is not there, and everything is shown.
type Tool struct {
	Label            string
	Column           int      // of the table, by whose sorting keys it chooses
	Rule             string   // least, most: a slider; has: rows that contain a text
	Max, Step, Value float64  // of a slider from 0
	Options          []string // in place of a rule: one of these values, or all
}

// Tools are tools beside each other for the table with that ID.
func Tools(table string, tools []Tool) Block {
	return Block{"tools", struct {
		Table string
		Tools []Tool
	}{table, tools}}
}

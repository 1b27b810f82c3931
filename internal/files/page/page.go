// Package page writes pages of results: one HTML file that needs no other, readable
// on a phone, in print, in light and in dark, and without its script.
package page

import (
	"cmp"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/iokl/iokl/internal/base/screen"
	"github.com/iokl/iokl/internal/files/picture"
)

//go:embed page.html
var text string

var shapes = template.Must(template.New("shapes").Parse(text))

// Page is a title, what comes first, and sections.
type Page struct {
	Title    string
	Lead     []template.HTML
	Sections []Section
}

// Section is a heading and the blocks below it.
type Section struct {
	ID, Title string
	Sub       bool // it belongs to the section before
	Blocks    []template.HTML
}

// Add appends blocks; empty ones are left out.
func (s *Section) Add(blocks ...template.HTML) {
	for _, b := range blocks {
		if b != "" {
			s.Blocks = append(s.Blocks, b)
		}
	}
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	out := &screen.Writer{W: w} // HTML has no way to write control characters
	return cmp.Or(shapes.ExecuteTemplate(out, "page", p), out.End())
}

// block is what the template of that name makes of v.
func block(name string, v any) template.HTML {
	var b strings.Builder
	if err := shapes.ExecuteTemplate(&b, name, v); err != nil {
		panic("page: " + err.Error()) // a builder takes everything: the template is wrong
	}
	return template.HTML(b.String()) // escaped by the template
}

// Text is a paragraph, "" for no text.
func Text(text string) template.HTML { return Classed("", text) }

// Classed is a paragraph of a class of the style sheet: soft, box or verdict.
func Classed(class, text string) template.HTML {
	if text == "" {
		return ""
	}
	return block("paragraph", struct{ Class, Text string }{class, text})
}

// Item is an entry of a list, with a link to the section To unless that is "".
type Item struct{ Text, To string }

// Items are a list, "" for none.
func Items(items []Item) template.HTML {
	if len(items) == 0 {
		return ""
	}
	return block("list", items)
}

// List is a list of texts.
func List(texts []string) template.HTML {
	items := make([]Item, len(texts))
	for i, t := range texts {
		items[i].Text = t
	}
	return Items(items)
}

// Facts are pairs of a name and what it is.
func Facts(facts [][2]string) template.HTML {
	if len(facts) == 0 {
		return ""
	}
	return block("facts", facts)
}

// labelled is a list behind a label.
type labelled struct {
	Label string
	List  []string
}

// Commands are command lines behind a label.
func Commands(label string, lines ...string) template.HTML {
	return block("commands", labelled{label, lines})
}

// Links lead to the sections of these names.
func Links(label string, ids []string) template.HTML { return block("links", labelled{label, ids}) }

// Charts are figures side by side.
func Charts(figures []picture.Figure) template.HTML { return grid("charts", figures) }

// SmallCharts are as many side by side as have room.
func SmallCharts(figures []picture.Figure) template.HTML { return grid("charts small", figures) }

func grid(class string, figures []picture.Figure) template.HTML {
	var b strings.Builder
	for _, f := range figures {
		b.WriteString(string(f.HTML()))
	}
	if b.Len() == 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<div class="%s">%s</div>`, class, b.String())) // figures escape their texts
}

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
	Cells []Cell
	Title string // what is said where it is pointed at
	Data  string // name of the line of a network that it is about
}

// Cell is a text, what it sorts by, and the section that it leads to.
type Cell struct{ Text, Sort, To string }

// Texts is a row of texts that sort by their numbers.
func Texts(texts ...string) Row {
	r := Row{Cells: make([]Cell, len(texts))}
	for i, t := range texts {
		r.Cells[i] = Cell{Text: t, Sort: sortKey(t)}
	}
	return r
}

// sortKey is what a text sorts by: its number where it starts with one.
func sortKey(text string) string {
	var v float64
	if _, err := fmt.Sscan(strings.TrimSuffix(text, " %"), &v); err == nil && !math.IsNaN(v) {
		return Key(v)
	}
	return text
}

// Key is what a cell sorts by whose number is v.
func Key(v float64) string { return fmt.Sprintf("%.17g", v) }

// HTML is the table as an element, "" without rows.
func (t *Table) HTML() template.HTML {
	if t == nil || len(t.Rows) == 0 {
		return ""
	}
	return block("table", t)
}

// WriteText writes the headings and the first rows as columns of text, and how many rows there are beside them.
func (t *Table) WriteText(w io.Writer, most int) error {
	if t == nil || len(t.Rows) == 0 {
		return nil
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(t.Head, "\t"))
	for _, row := range t.Rows[:min(most, len(t.Rows))] {
		for _, c := range row.Cells {
			fmt.Fprint(out, c.Text, "\t")
		}
		fmt.Fprintln(out)
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
func Tools(table string, tools []Tool) template.HTML {
	return block("tools", struct {
		Table string
		Tools []Tool
	}{table, tools})
}

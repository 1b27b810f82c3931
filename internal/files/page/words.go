package page

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// What separates cells, lines and sentences is drawn anew in each process, so that no name in a result has it.
var (
	drawn                         = strconv.FormatUint(rand.Uint64(), 36)
	cellEnd, lineEnd, sentenceEnd = "\x1f" + drawn, "\x1e" + drawn, "\x1d" + drawn
)

// blanks takes sentences as one text.
var blanks = strings.NewReplacer(sentenceEnd+" ", " ", sentenceEnd, " ")

// Words are templates of text/template for what is said about results.
type Words struct{ texts *template.Template }

// common are functions of all templates.
var common = template.FuncMap{
	"counted": Counted, "enumerated": Enumerated, "join": strings.Join,
	"number":  func(format string, v *float64) string { return fmt.Sprintf(format, *v) },
	"percent": func(format string, v float64) string { return fmt.Sprintf(format, 100*v) },
	"mean":    func(v []float64) float64 { return stat.Mean(v, nil) },
	"least":   floats.Min, "largest": floats.Max,
}

var (
	fullStop  = regexp.MustCompile(`\.[ \t]*\n[ \t]*`)
	lineBreak = regexp.MustCompile(`[ \t]*\n[ \t]*`)
)

// NewWords parses templates, which may call funcs, and counted, enumerated, join, number, percent, mean, least and
// largest. In sentences a line break is a blank, and ends a sentence behind a full stop. Reports
// are texts as they are. In tables tabs separate cells, and lines rows.
func NewWords(funcs template.FuncMap, sentences, reports, tables string) Words {
	all := maps.Clone(common)
	maps.Copy(all, funcs)
	sentences = lineBreak.ReplaceAllString(fullStop.ReplaceAllString(sentences, "."+sentenceEnd), " ")
	tables = strings.NewReplacer("\n{{-", "{{", "\t", cellEnd, "\n", lineEnd).Replace(tables)
	return Words{template.Must(template.New("texts").Funcs(all).Parse(sentences + reports + tables))}
}

// Has reports whether there is a template of that name.
func (w Words) Has(name string) bool { return w.texts.Lookup(name) != nil }

// Fill is what the template of that name makes of v, or the error that it meets.
func (w Words) Fill(name string, v any) (string, error) {
	var b strings.Builder
	err := w.texts.ExecuteTemplate(&b, name, v)
	return b.String(), err
}

// Text is Fill of a template that takes every v.
func (w Words) Text(name string, v any) string {
	text, err := w.Fill(name, v)
	if err != nil {
		panic("page: " + err.Error())
	}
	return text
}

// Say is the sentences of that name about v as one text.
func (w Words) Say(name string, v any) string {
	return strings.TrimSpace(blanks.Replace(w.Text(name, v)))
}

// Sentences are those of that name about v, none where the template asks for what v has not.
func (w Words) Sentences(name string, v any) (all []string) {
	text, err := w.Fill(name, v)
	if err != nil {
		return nil
	}
	for s := range strings.SplitSeq(text, sentenceEnd) {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			all = append(all, strings.TrimSuffix(s, ".")+".")
		}
	}
	return all
}

// Columns writes what the template of that name makes of v, whose tabs separate columns. The flags are those of package
// tabwriter.
func (w Words) Columns(out io.Writer, name string, v any, flags uint) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', flags)
	if _, err := io.WriteString(t, w.Text(name, v)); err != nil {
		return err
	}
	return t.Flush()
}

// Lines are those that the template of that name makes of v, in cells.
func (w Words) Lines(name string, v any) (all [][]string) {
	for line := range strings.SplitSeq(blanks.Replace(w.Text(name, v)), lineEnd) {
		if line != "" {
			all = append(all, strings.Split(line, cellEnd))
		}
	}
	return all
}

// Facts are pairs of a name and what it is, by the template of that name.
func (w Words) Facts(name string, v any) (pairs [][2]string) {
	for _, cells := range w.Lines(name, v) {
		pairs = append(pairs, [2]string(cells))
	}
	return pairs
}

// Table has the headings and rows that the template of that name makes of v, and what lines before them say: caption
// and source behind these words, words for a table of them, and long where the last column has long text. It is nil
// where there is no line.
func (w Words) Table(name string, v any) *Table {
	t := new(Table)
	for _, cells := range w.Lines(name, v) {
		switch {
		case t.Head != nil:
			t.Add(cells...)
		case cells[0] == "caption":
			t.Caption = cells[1]
		case cells[0] == "words":
			t.Words = true
		case cells[0] == "long":
			t.LongLast = true
		case cells[0] == "source":
			t.Source = cells[1]
		default:
			t.Head = cells
		}
	}
	if t.Head == nil {
		return nil
	}
	return t
}

// Sections are those that the template of that name makes of v. The first cell of a line says what it is: section, with
// its name and its title; text or soft, a paragraph; item, of a list; command, with a label before it; facts or table,
// by the template of that name; or else the name of one of the blocks. Sections without blocks are left out.
func (w Words) Sections(name string, v any, blocks map[string]Block) (all []Section) {
	var items []string
	for _, c := range append(w.Lines(name, v), []string{"section", "", ""}) {
		if c[0] != "item" && items != nil {
			all[len(all)-1].Add(List(items))
			items = nil
		}
		b := blocks[c[0]]
		switch c[0] {
		case "section":
			all = append(all, Section{ID: c[1], Title: c[2]})
		case "item":
			items = append(items, strings.TrimSpace(c[1]))
		case "text":
			b = Text(strings.TrimSpace(c[1]))
		case "soft":
			b = Classed(c[0], strings.TrimSpace(c[1]))
		case "command":
			b = Commands(c[1], c[2])
		case "facts":
			b = Facts(w.Facts(c[1], v))
		case "table":
			t := w.Table(c[1], v)
			t.Sort, t.File = true, c[1]
			b = t.Block()
		}
		if len(all) > 0 {
			all[len(all)-1].Add(b)
		}
	}
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Blocks) == 0 })
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

// Dash is the text of a cell, a dash where there is none.
func Dash(text string) string { return cmp.Or(text, "–") }

// Figure is a number of so many digits, of those below ten millions without an exponent.
func Figure(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'g', digits, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && 1 <= math.Abs(v) && math.Abs(v) < 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return text
}

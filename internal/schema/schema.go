// Package schema says how the columns of a table in a file, which may hold words
// and dates, become the columns of numbers that a model learns from. A model keeps
// its schema, so that new rows are read as those were that it has learned from.
package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
)

// Kind says what the cells of a column in a file are.
type Kind string

const (
	Number   Kind = ""         // numbers
	Category Kind = "category" // words; a column of 0 and 1 for each
	Date     Kind = "date"     // dates; days since the first
)

// Column is a column of a file and how its cells become numbers.
type Column struct {
	Name   string   `json:"name,omitempty"`
	Kind   Kind     `json:"kind,omitempty"`
	Levels []string `json:"levels,omitempty"` // of a category, in alphabetical order
	First  float64  `json:"first,omitempty"`  // of a date: the earliest, in days since 1970-01-01
}

// Columns is how the columns that are read from a file become columns of numbers:
// a category becomes a column of 0 and 1 for each of its levels, named NAME=LEVEL;
// a word that is none of them is 0 in all, a missing cell NaN in all.
type Columns []Column

// Numbers is the schema of a file whose columns are all numbers; names may be nil.
func Numbers(names []string, cols int) Columns {
	s := make(Columns, cols)
	for j := range min(cols, len(names)) {
		s[j].Name = names[j]
	}
	return s
}

// Valid reports whether the schema, which may come from a file, makes that many columns of numbers.
func (s Columns) Valid(cols int) bool {
	return s.Cols() == cols && !slices.ContainsFunc(s, func(c Column) bool {
		return c.Kind == Category && len(c.Levels) == 0 || c.Kind != Category && c.Kind != Number && c.Kind != Date
	})
}

// Plain reports whether all columns are numbers.
func (s Columns) Plain() bool {
	return !slices.ContainsFunc(s, func(c Column) bool { return c.Kind != Number })
}

// Cols is the number of columns of numbers.
func (s Columns) Cols() int {
	n := 0
	for k := range s {
		n += s[k].width()
	}
	return n
}

func (c *Column) width() int {
	if c.Kind == Category {
		return len(c.Levels)
	}
	return 1
}

// Sources are the names of the columns in the file, nil where it has none.
func (s Columns) Sources() []string {
	names := make([]string, len(s))
	for k, c := range s {
		names[k] = c.Name
	}
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return nil
	}
	return names
}

// Names are the names of the columns of numbers, nil where the file has none and
// all its columns are numbers.
func (s Columns) Names() []string {
	if s.Plain() {
		return s.Sources()
	}
	var names []string
	for k, c := range s {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("x%d", k+1)
		}
		if c.Kind != Category {
			names = append(names, name)
		}
		for _, level := range c.Levels {
			names = append(names, name+"="+level)
		}
	}
	return names
}

// At lists the columns of numbers that a column of the file becomes; nil where there is none of that name.
func (s Columns) At(source string) (idx []int) {
	j := 0
	for k := range s {
		for range s[k].width() {
			if s[k].Name == source {
				idx = append(idx, j)
			}
			j++
		}
	}
	return idx
}

// PerSource reduces counts of missing cells in the columns of numbers to those in the
// columns of the file, with the names of these; given is what the former are called.
func (s Columns) PerSource(count []int, given []string) ([]int, []string) {
	if s.Plain() {
		return count, given
	}
	out, names := make([]int, len(s)), make([]string, len(s))
	j := 0
	for k, c := range s {
		out[k], names[k] = count[j], given[j]
		if c.Kind == Category {
			names[k] = strings.TrimSuffix(given[j], "="+c.Levels[0])
		}
		j += c.width()
	}
	return out, names
}

// Notes says, a line each, how columns that are not numbers are taken.
func (s Columns) Notes() []string {
	var notes []string
	for k, c := range s {
		switch what := Label(s.Sources(), k); c.Kind {
		case Category:
			notes = append(notes, fmt.Sprintf("%s is a category of %d levels: %s", what, len(c.Levels), someOf(c.Levels)))
		case Date:
			notes = append(notes, fmt.Sprintf("%s holds dates, taken as days since %s", what, asDate(c.First)))
		}
	}
	return notes
}

// Expand writes the numbers that the cells of a block stand for to dst. A cell is a
// number, the index of a level or −1 for a word that is none, or a date in days
// since 1970-01-01; NaN is a missing cell.
func (s Columns) Expand(dst, cells blas.General) {
	for i := range cells.Rows {
		out := blas.Row(dst, i)
		for k, v := range blas.Row(cells, i) {
			c := &s[k]
			w := c.width()
			switch c.Kind {
			case Number:
				out[0] = v
			case Date:
				out[0] = v - c.First
			case Category:
				for level := range w {
					out[level] = indicator(v, level)
				}
			}
			out = out[w:]
		}
	}
}

// indicator is 1 for the level, 0 for another, NaN for a missing cell.
func indicator(code float64, level int) float64 {
	switch {
	case math.IsNaN(code):
		return code
	case code == float64(level):
		return 1
	}
	return 0
}

// Label names column j (from 0) in messages, counting from 1.
func Label(names []string, j int) string {
	if j < len(names) && names[j] != "" {
		return fmt.Sprintf("column %d %q", j+1, names[j])
	}
	return fmt.Sprintf("column %d", j+1)
}

func asDate(v float64) string {
	t := time.Unix(int64(math.Round(v*86400)), 0).UTC()
	if v == math.Trunc(v) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// someOf joins words, the first few of many.
func someOf(words []string) string {
	const most = 5
	if len(words) > most {
		return strings.Join(words[:most], ", ") + ", …"
	}
	return strings.Join(words, ", ")
}

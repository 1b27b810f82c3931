// Package schema describes how the columns of a table in a file, which may hold words and dates, become the columns of
// numbers that a model learns from. A model keeps its schema, so that new rows are read as the training rows were.
package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/formula"
)

// Kind says what the cells of a column in a file are.
type Kind string

// The kinds of columns. A cell is handed to [Columns.Expand] as one number, its code.
const (
	Number   Kind = ""         // numbers; the code is the number
	Category Kind = "category" // words; the code is the index in Levels and then Rest, −1 for a word that is in neither
	Date     Kind = "date"     // dates; the code is days since 1970-01-01
	Clock    Kind = "time"     // times of day; the code is the part of the day that has passed
	Month    Kind = "month"    // names of months; the code counts from 0, January
	Weekday  Kind = "weekday"  // names of days; the code counts from 0, Monday
	Text     Kind = "text"     // words that hardly repeat, identifiers and free text: left out, as numbers of rows are
	Empty    Kind = "empty"    // no values: left out
)

// period is how far the codes of a kind run before they repeat.
var period = map[Kind]float64{Clock: 1, Month: 12, Weekday: 7}

// Cycles are the periods, in days, that dates may repeat with.
var Cycles = map[string]float64{"day": 1, "week": 7, "year": 365.2425}

// Column is a column of a file and how its cells become numbers.
type Column struct {
	Name  string `json:"name,omitempty"`
	Place int    `json:"-"` // among the columns of the file, from 1; 0: as in the schema
	Kind  Kind   `json:"kind,omitempty"`
	// of a category: those with a column of 0 and 1 each, in alphabetical order
	Levels  []string `json:"levels,omitempty"`
	Rest    []string `json:"rest,omitempty"`    // of a category of many levels: the others, which share Buckets columns
	Buckets int      `json:"buckets,omitempty"` // columns of 0 and 1 that the levels of Rest are dealt to in turn
	First   float64  `json:"first,omitempty"`   // of a date: the earliest, in days since 1970-01-01
	Layout  string   `json:"layout,omitempty"`  // of a date or time of day, as package time has it; "": year first
	Cycles  []string `json:"cycles,omitempty"`  // of a date: what repeats in it, names of [Cycles]
	Decimal string   `json:"decimal,omitempty"` // of a number with marks: the decimal mark; "": numbers without marks
	Sign    string   `json:"sign,omitempty"`    // that stands with the numbers, as $ or %
	Nothing int      `json:"nothing,omitempty"` // cells of the training data that hold a word for nothing
	NA      []string `json:"na,omitempty"`      // words and numbers that mean a missing cell beside the usual ones

	// FirstYear is the first of the hundred years that years of two digits in a date are of; 0 means 1969.
	FirstYear int `json:"first_year,omitempty"`
}

// Columns is how the columns that are read from a file become columns of numbers.
// A category becomes a column of 0 and 1 for each of its levels, named NAME=LEVEL;
// a word that is none of them is 0 in all. A date becomes days since the first, and what
// repeats a cosine and a sine. A missing cell is NaN in all columns of its own.
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
		switch c.Kind {
		case Category:
			return len(c.Levels) == 0 || c.Buckets < 0 || len(c.Rest) > 0 && c.Buckets == 0
		case Date:
			return slices.ContainsFunc(c.Cycles, func(cycle string) bool { return Cycles[cycle] == 0 })
		case Number, Clock, Month, Weekday, Text, Empty:
			return false
		}
		return true
	})
}

// Plain reports whether all columns are numbers without marks.
func (s Columns) Plain() bool {
	return !slices.ContainsFunc(s, func(c Column) bool {
		return c.Kind != Number || c.Decimal != "" || c.Nothing > 0 || c.NA != nil
	})
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
	switch c.Kind {
	case Category:
		return len(c.Levels) + c.Buckets
	case Date:
		return 1 + 2*len(c.Cycles)
	case Clock, Month, Weekday:
		return 2
	case Text, Empty:
		return 0
	}
	return 1
}

// Used reports whether the column is learned from.
func (c *Column) Used() bool { return c.width() > 0 }

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
	for k := range s {
		names = append(names, s[k].names(s.name(k))...)
	}
	return names
}

// name is what column k of the file is called, or xK.
func (s Columns) name(k int) string {
	if s[k].Name != "" {
		return s[k].Name
	}
	return fmt.Sprintf("x%d", k+1)
}

// names are those of the columns of numbers of a column called name.
func (c *Column) names(name string) (names []string) {
	switch c.Kind {
	case Number, Date:
		names = []string{name}
	case Clock, Month, Weekday:
		names = []string{name + ".cos", name + ".sin"}
	}
	for _, level := range c.Levels {
		names = append(names, name+"="+level)
	}
	for b := range c.Buckets {
		names = append(names, fmt.Sprintf("%s=others %d", name, b+1))
	}
	for _, cycle := range c.Cycles {
		names = append(names, name+"."+cycle+".cos", name+"."+cycle+".sin")
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
// columns of the file that are learned from, with the names of these; given is what the former are called.
func (s Columns) PerSource(count []int, given []string) (counts []int, names []string) {
	if s.Plain() {
		return count, given
	}
	j := 0
	for k := range s {
		w := s[k].width()
		if w == 0 {
			continue
		}
		name := given[j]
		if w > 1 {
			name = s.name(k)
		}
		counts, names = append(counts, count[j]), append(names, name)
		j += w
	}
	return counts, names
}

// Expand writes the numbers that the codes of a row stand for to dst.
func (s Columns) Expand(dst, codes []float64) {
	for k, v := range codes {
		c := &s[k]
		w := c.width()
		c.expand(dst[:w], v)
		dst = dst[w:]
	}
}

func (c *Column) expand(dst []float64, v float64) {
	switch c.Kind {
	case Number:
		dst[0] = v
	case Date:
		dst[0] = v - c.First
		for i, cycle := range c.Cycles {
			dst[1+2*i], dst[2+2*i] = formula.Turn(v, Cycles[cycle])
		}
	case Clock, Month, Weekday:
		dst[0], dst[1] = formula.Turn(v, period[c.Kind])
	case Category:
		if v >= float64(len(c.Levels)) {
			v = float64(c.place(int(v)))
		}
		for level := range dst {
			if dst[level] = v - v; v == float64(level) { // NaN for a missing cell
				dst[level] = 1
			}
		}
	}
}

// Formula describes Expand.
func (s Columns) Formula() (list []formula.Column) {
	for k := range s {
		c := &s[k]
		if !c.Used() {
			continue
		}
		f := formula.Column{Name: s.name(k), Number: c.Kind == Number || c.Kind == Date}
		switch c.Kind {
		case Date:
			f.First = c.First
			for _, cycle := range c.Cycles {
				f.Periods = append(f.Periods, Cycles[cycle])
			}
		case Clock, Month, Weekday:
			f.Periods = []float64{period[c.Kind]}
		case Category:
			f.Levels, f.Places = slices.Concat(c.Levels, c.Rest), c.width()
			for v := range f.Levels {
				f.Place = append(f.Place, c.place(v))
			}
		}
		list = append(list, f)
	}
	return list
}

// place is the column of 0 and 1 of a level of a category.
func (c *Column) place(level int) int {
	if n := len(c.Levels); level >= n {
		return n + (level-n)%c.Buckets
	}
	return level
}

// Label names column j (from 0) in messages, counting from 1.
func Label(names []string, j int) string {
	if j < len(names) {
		return label(names[j], j+1)
	}
	return label("", j+1)
}

func label(name string, place int) string {
	if name == "" {
		return fmt.Sprintf("column %d", place)
	}
	return fmt.Sprintf("column %d %q", place, name)
}

// AsDate is a date, in days since 1970-01-01, as text, with the time of day where it is not at midnight.
func AsDate(v float64) string {
	t := time.Unix(int64(math.Round(v*86400)), 0).UTC()
	if v == math.Trunc(v) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}

// someOf joins words, the first few of many, on one line.
func someOf(words []string) string {
	const most = 5
	var some []string
	for _, word := range words[:min(most, len(words))] {
		some = append(some, strings.Join(strings.Fields(word), " "))
	}
	if len(words) > most {
		some = append(some, "…")
	}
	return strings.Join(some, ", ")
}

// Notes says how columns that are not plain numbers are taken, a line for each kind.
func (s Columns) Notes() []string {
	leads := []string{
		"left out, since their words hardly repeat or they count the rows (identifiers or free text): ",
		"left out, since they are empty: ", "categories: ", "dates, taken as days since the first: ",
		"taken as what repeats: ", "numbers with marks: ",
		"words for nothing (as NA, ? and -), taken as missing cells: ",
	}
	const texts, empties, categories, dates, cycles, numbers, nothings = 0, 1, 2, 3, 4, 5, 6
	parts := make([][]string, len(leads))
	for k := range s {
		c, label := &s[k], s.Label(k)
		add := func(line int, text string) { parts[line] = append(parts[line], label+text) }
		switch {
		case c.Kind == Text:
			add(texts, "")
		case c.Kind == Empty && c.Name != "":
			add(empties, "")
		case c.Kind == Category && c.Buckets > 0:
			add(categories, fmt.Sprintf(" of %d levels, of which the %d rarest share %d columns",
				len(c.Levels)+len(c.Rest), len(c.Rest), c.Buckets))
		case c.Kind == Category:
			add(categories, fmt.Sprintf(" of %d levels: %s", len(c.Levels), someOf(c.Levels)))
		case c.Kind == Date:
			add(dates, c.dateNote())
		case period[c.Kind] > 0:
			names := map[Kind]string{Clock: " (times of day)", Month: " (months)", Weekday: " (days of the week)"}
			add(cycles, names[c.Kind])
		}
		if with := c.marks(); with != nil {
			add(numbers, " with "+strings.Join(with, " and "))
		}
		if c.Nothing > 0 {
			parts[nothings] = append(parts[nothings], fmt.Sprintf("%d in %s", c.Nothing, label))
		}
	}
	var notes []string
	for k, lead := range leads {
		if parts[k] != nil {
			notes = append(notes, lead+shortened(parts[k]))
		}
	}
	return notes
}

// shortened joins the first of many parts.
func shortened(parts []string) string {
	const most = 10
	if len(parts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:most], "; "), len(parts)-most)
	}
	return strings.Join(parts, "; ")
}

// Label is what column k of the schema is called in messages, by its place in the file and its name.
func (s Columns) Label(k int) string {
	if k < len(s) && s[k].Place > 0 {
		return label(s[k].Name, s[k].Place)
	}
	return Label(s.Sources(), k)
}

// dateNote says how a date is written and taken.
func (c *Column) dateNote() string {
	text := " since " + AsDate(c.First)
	if c.Layout != "" && !strings.HasPrefix(c.Layout, "2006") {
		text += ", written as " + readable.Replace(c.Layout)
	}
	if c.Cycles != nil {
		text += ", and as part of the " + strings.Join(c.Cycles, " and the ")
	}
	return text
}

// readable turns a layout of package time into letters.
var readable = strings.NewReplacer("Q1", "quarter", "2006", "year", "January", "month", "Jan", "month", "Monday",
	"weekday", "Mon", "weekday", "15", "hour", "04", "minute", "05", "second", "06", "year", "PM", "AM/PM",
	"1", "month", "2", "day", "3", "hour")

// marks are what stands with the numbers of a column.
func (c *Column) marks() (with []string) {
	switch {
	case c.Decimal == ",":
		with = append(with, "decimal commas")
	case c.Decimal == "." && c.Sign == "":
		with = append(with, "marks between thousands")
	}
	if c.Sign != "" {
		with = append(with, "the sign "+c.Sign)
	}
	return with
}

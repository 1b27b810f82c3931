// This file turns words and dates of a table into numbers, and back into their names.

package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/schema"
)

// MaxLevels is the largest number of levels of a category where [Options] name none.
const MaxLevels = 50

func (opt *Options) maxLevels() int {
	if opt.MaxLevels == 0 {
		return MaxLevels
	}
	return opt.MaxLevels
}

// missing reports whether a trimmed cell is a missing one.
func (opt *Options) missing(cell string) bool {
	return cell == "" || len(opt.NA) > 0 && slices.Contains(opt.NA, cell)
}

var (
	errAmong = errors.New("a number among words")
	errDate  = errors.New("is not a date written as the others in its column (an empty cell means missing; --na names words that do too)")
)

// cells turns the cells of one column into numbers: numbers as they are, words
// into the index of their level, dates into days since 1970-01-01.
type cells struct {
	opt       *Options
	fixed     bool // the kind and the levels are given; otherwise the first cell decides the kind, and all add levels
	decided   bool // the kind is known
	kind      schema.Kind
	levels    map[string]int
	layout    string  // of the dates
	first     float64 // the earliest
	firstWord bool    // the last cell was the first word of the column
	wordError error   // the error about that word, if a number follows
	unseen    int     // cells with a word that is no level
}

// newCells are those of the k columns read from the file, by opt.Schema where it is given.
func newCells(file string, opt *Options, k int) ([]cells, error) {
	if opt.Schema != nil && len(opt.Schema) != k {
		return nil, bad("%s: has %d columns where %d are expected", file, k, len(opt.Schema))
	}
	all := make([]cells, k)
	for j := range all {
		all[j] = cells{opt: opt, fixed: !opt.Types, decided: !opt.Types}
		if opt.Schema == nil {
			continue
		}
		c := &opt.Schema[j]
		all[j].fixed, all[j].decided, all[j].kind = true, true, c.Kind
		if c.Kind == schema.Category {
			all[j].levels = map[string]int{}
			for i, level := range c.Levels {
				all[j].levels[level] = i
			}
		}
	}
	return all, nil
}

// parse is the number that a trimmed cell stands for. The error says what is wrong
// with the cell, or is errAmong: the first word of the column is what is wrong.
func (c *cells) parse(cell string) (float64, error) {
	if c.opt.missing(cell) {
		return math.NaN(), nil
	}
	if c.kind == schema.Category && c.fixed {
		return c.word(cell)
	}
	v, err := number(cell)
	switch {
	case c.kind == schema.Number && (err == nil || c.decided):
		c.decided = true
		return v, err
	case errors.Is(err, errInf), errors.Is(err, errComma):
		return 0, err
	case c.kind == schema.Category && err == nil:
		return 0, errAmong
	}
	return c.word(cell)
}

// word is the number that a word stands for.
func (c *cells) word(word string) (float64, error) {
	if c.opt.missing(word) {
		return math.NaN(), nil
	}
	if !c.decided {
		c.decide(word)
	}
	if c.kind == schema.Date {
		return c.date(word)
	}
	k, ok := c.levels[word]
	switch most := c.opt.maxLevels(); {
	case ok:
	case c.fixed:
		c.unseen++
		k = -1
	case len(c.levels) == most:
		return 0, fmt.Errorf("is word number %d of its column, and a category has at most %d (--max-levels): leave the column out (--x-columns names those to use), or write dates as 2006-01-31", most+1, most)
	default:
		k = len(c.levels)
		c.levels[strings.Clone(word)] = k
	}
	return float64(k), nil
}

// decide settles the kind of the column by its first word.
func (c *cells) decide(word string) {
	c.decided, c.firstWord, c.first = true, true, math.Inf(1)
	c.kind, c.levels = schema.Category, map[string]int{}
	if _, err := c.date(word); err == nil {
		c.kind = schema.Date
	}
}

// dateLayouts are the ways to write a date that leave no doubt about the order of
// day and month.
var dateLayouts = []string{
	time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	"2006/01/02", "2006/01/02 15:04:05", "2006-01", "2.1.2006",
}

// date is a date in days since 1970-01-01. All of a column are written alike.
func (c *cells) date(cell string) (float64, error) {
	layouts := dateLayouts
	if c.layout != "" {
		layouts = []string{c.layout}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, cell); err == nil {
			c.layout = layout
			v := float64(t.Unix())/86400 + float64(t.Nanosecond())/86400e9
			c.first = min(c.first, v)
			return v, nil
		}
	}
	return 0, errDate
}

// schemaOf is the schema that the cells read so far make, and, for each category, the
// index in it of each level in the order of their first cells.
func schemaOf(all []cells, names []string) (schema.Columns, [][]int) {
	s, order := schema.Numbers(names, len(all)), make([][]int, len(all))
	for j := range all {
		c := &all[j]
		if c.kind == schema.Category && len(c.levels) == 0 {
			continue // every cell is missing
		}
		s[j].Kind = c.kind
		switch c.kind {
		case schema.Date:
			if !math.IsInf(c.first, 1) {
				s[j].First = c.first
			}
		case schema.Category:
			for level := range c.levels {
				s[j].Levels = append(s[j].Levels, level)
			}
			slices.Sort(s[j].Levels)
			order[j] = make([]int, len(s[j].Levels))
			for k, level := range s[j].Levels {
				order[j][c.levels[level]] = k
			}
		}
	}
	return s, order
}

// coded is a reader of files that may hold words.
type coded interface {
	Reader
	cells() []cells
}

// expanded hands out the columns of numbers of a coded reader whose schema is known.
type expanded struct {
	coded
	schema schema.Columns
	block  blas.General
}

func (e *expanded) Names() []string { return e.schema.Names() }
func (e *expanded) Cols() int       { return e.schema.Cols() }

func (e *expanded) Read(dst blas.General) (int, error) {
	if e.block.Rows < dst.Rows {
		e.block = blas.NewGeneral(dst.Rows, len(e.schema))
	}
	n, err := e.coded.Read(blas.View(e.block, 0, 0, dst.Rows, len(e.schema)))
	e.schema.Expand(dst, blas.View(e.block, 0, 0, n, len(e.schema)))
	return n, err
}

// Unseen says, a line for each column of the file, how many of the cells read so far
// hold a word that is no level of the schema.
func Unseen(r Reader) (lines []string) {
	e, ok := r.(*expanded)
	if !ok {
		return nil
	}
	for j, c := range e.cells() {
		if c.unseen > 0 {
			lines = append(lines, fmt.Sprintf("%d cells of %s hold words that the model has not learned: they count as none of its levels", c.unseen, schema.Label(e.schema.Sources(), j)))
		}
	}
	return lines
}

// Learn reads the file, a block of rows at a time, for what its columns are: all of
// it where its first rows hold words.
func Learn(name string, opt Options) (schema.Columns, error) {
	opt.Types, opt.Schema = true, nil
	r, err := Open(name, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, ok := r.(coded)
	if !ok {
		return schema.Numbers(r.Names(), r.Cols()), nil
	}
	block := blas.NewGeneral(1024, r.Cols())
	for {
		_, err := read(c, block)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if s, _ := schemaOf(c.cells(), r.Names()); err != nil || s.Plain() {
			return s, nil
		}
	}
}

// learned puts numbers in place of the codes of a table that was read by r, which
// has learned what its columns are.
func learned(t *Table, r Reader) *Table {
	c, ok := r.(coded)
	if !ok {
		return t
	}
	s, order := schemaOf(c.cells(), t.Names)
	if s.Plain() {
		return t
	}
	for j, to := range order {
		if to == nil {
			continue
		}
		for i := range t.Data.Rows {
			if v := &t.Data.Data[i*t.Data.Stride+j]; !math.IsNaN(*v) {
				*v = float64(to[int(*v)])
			}
		}
	}
	out := &Table{Names: s.Names(), Data: blas.NewGeneral(t.Data.Rows, s.Cols()), Schema: s}
	s.Expand(out.Data, t.Data)
	return out
}

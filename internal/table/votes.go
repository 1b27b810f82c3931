// This file decides by a vote over its cells what a column of a file is.

package table

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/iokl/iokl/internal/schema"
)

// MaxLevels is the largest number of levels of a category with a column of 0 and 1 each where [Options] name none.
const MaxLevels = 50

// buckets is the number of columns that the other levels of a category share; docs/decisions/2026-11-23-categories.md
// has the measurement.
const buckets = 100

// mostWords is the number of different words from which on a column is text, whatever its other cells hold.
const mostWords = 1 << 16

func (opt *Options) maxLevels() int {
	if opt.MaxLevels == 0 {
		return MaxLevels
	}
	return opt.MaxLevels
}

// votes counts what the cells of a column are.
type votes struct {
	kind    schema.Kind // that the file states; Number where it does not
	cells   int         // that are neither empty nor a word for nothing
	nothing map[string]int
	numbers numberVotes
	dates   dateVotes
	days    layoutVotes    // dates that the file stores as such
	clocks  map[string]int // times of day by layout
	named   map[schema.Kind]int
	words   map[string]int // all cells that are no plain numbers
	n       int            // cells in words
}

// note counts a cell and returns its number where it is a plain one, else NaN.
func (v *votes) note(x cell) (float64, error) {
	if x.text == "" {
		v.noteStored(x.number)
		return x.number, nil
	}
	if nothing(x.text) {
		if v.nothing == nil {
			v.nothing = map[string]int{}
		}
		v.nothing[strings.Clone(x.text)]++
		return nan, nil
	}
	value, err := number(x.text)
	if err == errInf {
		return 0, err
	}
	v.cells++
	if err == nil {
		v.numbers.notePlain(x.text)
		return value, nil
	}
	v.noteWord(x.text)
	return nan, nil
}

// noteStored counts a cell that the file stores as a number; NaN is a missing one.
func (v *votes) noteStored(x float64) {
	if x != x {
		return
	}
	v.cells++
	if v.kind == schema.Date {
		if v.days.n == 0 {
			v.days.first, v.days.most = x, x
		}
		v.days.add(x)
		return
	}
	v.numbers.plain++
}

// noteWord counts a cell that is no plain number.
func (v *votes) noteWord(word string) {
	if v.words == nil {
		v.words, v.clocks, v.named = map[string]int{}, map[string]int{}, map[schema.Kind]int{}
	}
	if v.n++; len(v.words) <= mostWords {
		if _, known := v.words[word]; !known {
			word = strings.Clone(word)
		}
		v.words[word]++
	}
	v.numbers.noteMarked(word)
	v.dates.note(word)
	for _, kind := range []schema.Kind{schema.Month, schema.Weekday} {
		if _, ok := ordinal(kind, word); ok {
			v.named[kind]++
		}
	}
	if strings.IndexAny(word, "0123456789") == 0 && len(word) <= len("03:04:05.000000000 PM") {
		for _, layout := range clockLayouts {
			if _, ok := clock(layout, word); ok {
				v.clocks[layout]++
			}
		}
	}
}

// plain reports whether all cells so far are numbers without marks, or missing ones that are empty.
func (v *votes) plain() bool { return v.cells == v.numbers.plain && v.nothing == nil && v.days.n == 0 }

// column is what the votes make of a column, of numbers only unless types are allowed. commas says that commas do not
// separate the cells of the file. Cells that do not fit are left for reading by this column to refuse.
func (v *votes) column(opt *Options, commas bool) schema.Column {
	decimal, fits := v.numbers.format(commas)
	numbers := schema.Column{Decimal: decimal, Sign: v.numbers.sign()}
	for _, n := range v.nothing {
		numbers.Nothing += n
	}
	switch {
	case v.cells == 0 && opt.Types:
		return schema.Column{Kind: schema.Empty}
	case fits == v.cells, !opt.Types:
		return numbers
	}
	if c, n := v.moment(); 2*n >= v.cells && n >= fits {
		c.Nothing = numbers.Nothing
		return c
	}
	text := v.text(opt)
	if v.numbers.plain > 0 && (text.Kind != schema.Text || v.n <= v.numbers.plain) || 2*fits >= v.cells {
		return numbers
	}
	return text
}

// moment is the column of dates or of what repeats that fits most cells, and how many it fits.
func (v *votes) moment() (c schema.Column, n int) {
	if v.days.n > 0 {
		return v.days.column(), v.days.n
	}
	if best := v.dates.best(); best.n > 0 {
		c, n = best.column(), best.n
	}
	for _, layout := range clockLayouts {
		if k := v.clocks[layout]; k > n {
			c, n = schema.Column{Kind: schema.Clock, Layout: layout}, k
		}
	}
	for _, kind := range []schema.Kind{schema.Month, schema.Weekday} {
		if k := v.named[kind]; k > n {
			c, n = schema.Column{Kind: kind}, k
		}
	}
	return c, n
}

// text is a column of words: a category, or identifiers and free text. Words for nothing are words here.
func (v *votes) text(opt *Options) schema.Column {
	n, levels := v.n, len(v.words)
	// Words that are all different are no category of MaxLevels levels, which would repeat one with a probability
	// of 1 − exp(−n²/(2·MaxLevels)), 98 % where n(n−1) is 8·MaxLevels.
	distinct := levels == n && n*(n-1) > 8*MaxLevels
	if distinct || levels > mostWords || levels > opt.maxLevels() && 2*levels > n {
		return schema.Column{Kind: schema.Text}
	}
	count := maps.Clone(v.words)
	maps.Copy(count, v.nothing)
	all := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	c := schema.Column{Kind: schema.Category, Levels: all}
	if most := opt.maxLevels(); len(all) > most {
		c.Levels, c.Rest, c.Buckets = all[:most:most], all[most:], min(buckets, len(all)-most)
		slices.Sort(c.Rest)
	}
	slices.Sort(c.Levels)
	return c
}

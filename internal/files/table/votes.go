// The kind of a column of a file, by a vote over its cells.

package table

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/iokl/iokl/schema"
)

// MaxLevels is the largest number of levels of a category with a column of 0 and 1 each where [Options] name none.
const MaxLevels = 50

// buckets is the number of columns that the other levels of a category share; docs/decisions/2026-11-23-categories.md
// has the measurement.
const buckets = 100

const (
	// mostWords is the number of different words from which on a column is text, whatever its other cells hold.
	mostWords = 1 << 16
	// In a column of codes one cell in codeShare or more, and fewestCodes different ones, have letters and digits:
	// fewer are taken for errors among numbers.
	codeShare, fewestCodes = 10, 3
	// wholeRows is the number of cells whose whole numbers are counted as words before one of a column is a word.
	wholeRows = 4096
)

// votes counts what the cells of a column are.
type votes struct {
	kind    schema.Kind // that the file states; Number where it does not
	cells   int         // that are neither empty nor a word for nothing
	nothing tally
	dates   dateVotes
	days    layoutVotes // dates that the file stores as such
	compact layoutVotes // dates written as 20240131
	words   tally       // cells that are no plain numbers
	n       int         // such cells, also those that words has no room for
	whole   tally       // plain numbers of digits alone, which may be codes too
	counted int         // bytes that words took since this was last 0
	last    float64     // plain number
	steps   int         // plain numbers that are one more than the one above
	wordVotes
}

// wordVotes counts what words are.
type wordVotes struct {
	numbers numberVotes
	clocks  map[string]int // times of day by layout
	named   map[schema.Kind]int
	coded   int // cells with letters and digits
	kinds   int // different ones of these
}

// note counts a cell and returns its number where it is a plain one, else NaN.
func (v *votes) note(x cell) (float64, error) {
	if x.text == "" {
		v.noteStored(x.number)
		return x.number, nil
	}
	if nothing(x.text) {
		v.count(&v.nothing, x.text)
		return nan, nil
	}
	value, err := number(x.text)
	if err == errInf && !strings.ContainsAny(x.text, digits) { // 4305e986 among words is one
		return 0, err
	}
	v.cells++
	if err == nil {
		v.numbers.notePlain(x.text)
		v.noteStep(value)
		v.noteCompact(x.text)
		if (v.n > 0 || v.cells <= wholeRows) && allDigits(x.text) {
			v.count(&v.whole, x.text)
		}
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
		v.days.add(x)
		return
	}
	v.numbers.plain++
	v.noteStep(x)
}

// noteCompact counts numbers of eight digits that are a date of this century or the one before.
func (v *votes) noteCompact(text string) {
	if v.compact.n < v.cells-1 || len(text) != len(compactLayout) || text[:2] != "19" && text[:2] != "20" {
		return
	}
	if day, ok := days(compactLayout, text); ok {
		v.compact.layout = compactLayout
		v.compact.add(day)
	}
}

// allCompact reports whether every cell is a date written as 20240131, of which there are several.
func (v *votes) allCompact() bool { return v.cells > 1 && v.compact.n == v.cells }

func (v *votes) noteStep(x float64) {
	if x == v.last+1 && v.cells > 1 {
		v.steps++
	}
	v.last = x
}

// countsRows reports whether the column counts the rows.
func (v *votes) countsRows() bool { return v.cells > 1 && v.steps == v.cells-1 }

// tally counts different words, at most mostWords + 1.
type tally map[string]int

// note counts a word, and reports whether there is room for it.
func (t *tally) note(word string) bool {
	n, known := (*t)[word]
	if !known && len(*t) > mostWords {
		return false
	}
	if *t == nil {
		*t = tally{}
	}
	if !known {
		word = strings.Clone(word)
	}
	(*t)[word] = n + 1
	return true
}

// frequent are the words, those that most cells hold first.
func (t tally) frequent() []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b))
	})
}

// count notes a word in a tally, and what that took.
func (v *votes) count(t *tally, word string) bool {
	n := len(*t)
	fits := t.note(word)
	if len(*t) > n {
		v.counted += cellBytes + len(word)
	}
	return fits
}

// noteWord counts a cell that is no plain number. Dates are noted in their order; what else a word is, column finds
// once for all its cells.
func (v *votes) noteWord(word string) {
	v.n++
	v.dates.note(word)
	if !v.count(&v.words, word) {
		v.noteKind(word, 1)
	}
}

// noteKind counts cells that hold a word.
func (v *wordVotes) noteKind(word string, cells int) {
	if v.clocks == nil {
		v.clocks, v.named = map[string]int{}, map[schema.Kind]int{}
	}
	if marked := v.numbers.noteMarked(word, cells); !marked && isCode(word) {
		v.coded += cells
		v.kinds++
	}
	for _, kind := range []schema.Kind{schema.Month, schema.Weekday} {
		if _, ok := ordinal(kind, word); ok {
			v.named[kind] += cells
		}
	}
	if isDigit(word[0]) && strings.Trim(word, "0123456789:. APMapm") == "" {
		for _, layout := range clockLayouts {
			if _, ok := clock(layout, word); ok {
				v.clocks[layout] += cells
			}
		}
	}
}

// totals are what rows below a table that sum up those above begin with.
var totals = []string{
	"total", "totals", "grand total", "subtotal", "sum", "average", "mean", "summe", "gesamt", "gesamtsumme",
	"mittelwert", "somme", "total général", "moyenne", "totale", "totaal", "suma",
}

// isTotal reports whether a word is one of a row that sums up others.
func isTotal(word string) bool {
	return slices.Contains(totals, strings.ToLower(strings.TrimRight(word, " :")))
}

// plain reports whether all cells so far are numbers without marks, or missing ones that are empty.
func (v *votes) plain() bool {
	return v.cells == v.numbers.plain && v.nothing == nil && v.days.n == 0 && !v.allCompact()
}

// column is what the votes make of a column, of numbers only unless types are allowed. commas says that commas do not
// separate the cells of the file. Cells that do not fit are left for reading by this column to refuse. It is called
// once, after the last cell.
func (v *votes) column(opt *Options, commas bool) schema.Column {
	for word, n := range v.words {
		v.noteKind(word, n)
	}
	decimal, fits := v.numbers.format(commas)
	numbers := schema.Column{Decimal: decimal, Sign: v.numbers.sign()}
	for _, n := range v.nothing {
		numbers.Nothing += n
	}
	switch {
	case v.cells == 0 && opt.Types:
		return schema.Column{Kind: schema.Empty}
	case v.allCompact() && opt.Types:
		c := v.compact.column()
		c.Nothing = numbers.Nothing
		return c
	case fits == v.cells, !opt.Types:
		return numbers
	}
	if c, n := v.moment(); 2*n >= v.cells && n >= fits {
		c.Nothing = numbers.Nothing
		return c
	}
	text := v.text(opt)
	if v.hasCodes() {
		return text
	}
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

// isCode reports whether a word has letters and digits, as PC 17599 has.
func isCode(word string) bool {
	return strings.ContainsAny(word, digits) && strings.ContainsFunc(word, unicode.IsLetter)
}

// hasCodes reports whether the numbers of the column are codes, as its words are.
func (v *votes) hasCodes() bool {
	return v.kinds >= fewestCodes && codeShare*v.coded >= v.cells && 2*v.coded > v.n && v.numbers.plain > 0 &&
		v.numbers.whole == v.numbers.plain
}

// text is a column of words: a category, or identifiers and free text. Words for nothing are words here, and so are
// whole numbers in a column of codes.
func (v *votes) text(opt *Options) schema.Column {
	count, n := tally{}, v.n
	add := func(t tally) {
		for word, cells := range t {
			count[word] += cells
		}
	}
	add(v.words)
	if v.hasCodes() {
		add(v.whole)
		for _, cells := range v.whole {
			n += cells
		}
	}
	levels, most := len(count), cmp.Or(opt.MaxLevels, MaxLevels)
	// Words that are all different are no category of MaxLevels levels, which would repeat one with a probability
	// of 1 − exp(−n²/(2·MaxLevels)), 98 % where n(n−1) is 8·MaxLevels.
	distinct := levels == n && n*(n-1) > 8*MaxLevels
	if distinct || levels > mostWords || levels > most && 2*levels > n {
		return schema.Column{Kind: schema.Text}
	}
	add(v.nothing)
	all := count.frequent()
	c := schema.Column{Kind: schema.Category, Levels: all}
	if len(all) > most {
		c.Levels, c.Rest, c.Buckets = all[:most:most], all[most:], min(buckets, len(all)-most)
		slices.Sort(c.Rest)
	}
	slices.Sort(c.Levels)
	return c
}

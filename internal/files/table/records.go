// Cells of records as numbers: in one pass by a known schema, or in two.

package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/schema"
)

var nan = math.NaN()

// cell is what a record holds in one column: trimmed text, or where that is empty a number, NaN for a missing cell.
type cell struct {
	text   string
	number float64
}

// records is a file whose cells may be words.
type records interface {
	columns() (names []string, cols int) // of the file; names may be nil
	// choose makes next hand out the columns idx, which are to become what s says; s is nil where that is open.
	choose(idx []int, s schema.Columns) error
	kind(k int) schema.Kind // that the file states for the chosen column k
	next(dst []cell) error  // the next record
	place() string          // of that record, for messages
	commas() bool           // commas do not separate cells
	close() error
}

// column is a chosen column: how its cells become codes, or the votes on that.
type column struct {
	schema.Column
	votes  *votes // nil where the column is known
	levels map[string]int
	unseen int   // cells with a word that is no level
	words  tally // such words
}

// textReader reads the chosen columns of records.
type textReader struct {
	file    records
	opt     *Options
	name    string
	names   []string // of the chosen columns, nil where there are none
	index   []int    // of these in the file
	columns []column
	schema  schema.Columns // how codes become numbers; nil where they are the numbers
	cells   []cell
	codes   []float64
	rows    int
	held    *memory.Growing // by columns and their words
	err     error           // sticky
}

// columnBytes is what a column takes while it is read, but for words, and cellBytes what a cell does that is kept as
// text, or a word that is counted, beside its letters.
const columnBytes, cellBytes = 1 << 10, 64

func newTextReader(s *source, file records, opt Options) (*textReader, error) {
	all, cols := file.columns()
	idx, err := opt.choose(all, cols)
	if err == nil {
		err = s.held.Add(columnBytes * float64(len(idx)))
	}
	name := s.name
	if err != nil {
		return nil, err
	}
	if opt.Schema != nil && len(opt.Schema) != len(idx) {
		return nil, bad("%s: has %d columns where %d are expected", name, len(idx), len(opt.Schema))
	}
	if err := file.choose(idx, opt.Schema); err != nil {
		return nil, err
	}
	r := &textReader{
		file: file, opt: &opt, name: name, names: namesAt(all, idx), index: idx, held: &s.held,
		columns: make([]column, len(idx)), cells: make([]cell, len(idx)), codes: make([]float64, len(idx)),
	}
	for k := range r.columns {
		r.columns[k] = column{votes: &votes{kind: file.kind(k)}}
		if opt.Schema != nil {
			r.columns[k] = knownColumn(opt.Schema[k])
		}
		r.columns[k].NA = slices.Concat(r.columns[k].NA, opt.NA)
	}
	if !opt.Codes && !opt.Schema.Plain() {
		r.schema = opt.Schema
	}
	return r, nil
}

func knownColumn(c schema.Column) column {
	k := column{Column: c}
	if c.Kind == schema.Category {
		k.levels = make(map[string]int, len(c.Levels)+len(c.Rest))
		for i, level := range slices.Concat(c.Levels, c.Rest) {
			k.levels[level] = i
		}
	}
	return k
}

func (r *textReader) Names() []string {
	if r.schema != nil {
		return r.schema.Names()
	}
	return r.names
}

func (r *textReader) Cols() int {
	if r.schema != nil {
		return r.schema.Cols()
	}
	return len(r.columns)
}

func (r *textReader) Rows() int    { return -1 }
func (r *textReader) Close() error { return r.file.close() }

func (r *textReader) Read(dst blas.General) (int, error) {
	for i := range dst.Rows {
		if r.err == nil {
			r.err = r.row(blas.Row(dst, i))
		}
		if r.err != nil && i > 0 {
			return i, nil
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	return dst.Rows, nil
}

// label is what the chosen column k is called in the file.
func (r *textReader) label(k int) string {
	names, _ := r.file.columns()
	return schema.Label(names, r.index[k])
}

// row reads one record into dst.
func (r *textReader) row(dst []float64) error {
	blank := r.opt.blank(r.rows)
	cells := r.cells
	if blank {
		cells = make([]cell, len(r.cells))
	}
	if err := r.file.next(cells); err != nil {
		return err
	}
	r.rows++
	if blank {
		for j := range dst {
			dst[j] = math.NaN()
		}
		return nil
	}
	codes, words := dst, 0
	if r.schema != nil {
		codes = r.codes
	}
	for k, x := range r.cells {
		v, err := r.columns[k].code(x)
		if err == nil && math.IsInf(v, 0) {
			x.text, err = fmt.Sprint(v), errInf
		}
		if err != nil {
			return bad("%s: %s, %s: %q %w", r.name, r.file.place(), r.label(k), clip(x.text), err)
		}
		codes[k] = v
		if votes := r.columns[k].votes; votes != nil && votes.counted > 0 {
			words, votes.counted = words+votes.counted, 0
		}
	}
	if words > 0 {
		if err := r.held.Add(float64(words)); err != nil {
			return err
		}
	}
	if r.schema != nil {
		r.schema.Expand(dst, codes)
	}
	return nil
}

// code is the number that stands for a cell; see the kinds of package schema.
func (c *column) code(x cell) (float64, error) {
	switch {
	case c.lacks(x):
		return nan, nil
	case c.votes != nil:
		return c.votes.note(x)
	case c.Kind == schema.Text, c.Kind == schema.Empty:
		return nan, nil
	case x.text == "":
		return x.number, nil
	case c.Kind == schema.Category:
		return c.level(x.text), nil
	case nothing(x.text):
		return nan, nil
	case c.Kind == schema.Number:
		return c.amount(x.text)
	}
	return c.moment(x.text)
}

// lacks reports whether a cell holds a word that means a missing one, or the number that such a word is.
func (c *column) lacks(x cell) bool {
	if isNaN(x.text) || len(c.NA) == 0 {
		return isNaN(x.text)
	}
	value, err := x.number, error(nil)
	if x.text != "" {
		value, err = number(x.text)
	}
	return slices.ContainsFunc(c.NA, func(word string) bool {
		w, no := number(word)
		return x.text != "" && x.text == word || err == nil && no == nil && value == w
	})
}

// level is the index of a word among the levels, −1 where it is none.
func (c *column) level(word string) float64 {
	k, ok := c.levels[word]
	if !ok {
		c.unseen++
		c.words.note(word)
		return -1
	}
	return float64(k)
}

// amount is a number, written as the column has it.
func (c *column) amount(text string) (float64, error) {
	v, err := number(text)
	if err == errInf || err == nil && c.Decimal != "," {
		return v, err
	}
	decimal := c.Decimal
	if decimal == "" {
		decimal = "."
	}
	v, sign, ok := marked(text, decimal)
	switch {
	case err == nil && !ok:
		return 0, errPoint
	case c.Decimal == "" && MayBeNumber(text):
		return 0, errMarks
	case !ok:
		return 0, ErrText
	case sign != "" && sign != c.Sign:
		return 0, fmt.Errorf("has the sign %s where others in its column have none or another: write them alike, or "+
			"leave the column out (--drop)", sign)
	}
	return v, nil
}

// moment is a date or what repeats.
func (c *column) moment(text string) (v float64, err error) {
	ok := false
	switch c.Kind {
	case schema.Date:
		if v, ok = days(c.Layout, text); c.Layout != "" && ok {
			return window(v, c.FirstYear), nil
		}
		for _, layout := range isoLayouts {
			if v, ok = days(layout, text); ok {
				return v, nil
			}
		}
	case schema.Clock:
		for _, layout := range append([]string{c.Layout}, clockLayouts...) {
			if v, ok = clock(layout, text); ok {
				return v, nil
			}
		}
	default:
		v, ok = ordinal(c.Kind, text)
	}
	if !ok {
		err = errDate
	}
	return v, err
}

// plain reports whether all cells read so far are plain numbers, so that the codes are what the table holds. A column
// without any is not where columns have types.
func (r *textReader) plain(types bool) bool {
	return !slices.ContainsFunc(r.columns, func(c column) bool {
		return c.votes != nil && (!c.votes.plain() || types && c.votes.cells == 0)
	})
}

// learned is the schema that the cells read so far make.
func (r *textReader) learned(opt Options) (schema.Columns, error) {
	if err := r.sumsUp(); err != nil && opt.Types {
		return nil, err
	}
	s := schema.Numbers(r.names, len(r.columns))
	var ids []int
	for k := range r.columns {
		name, votes := s[k].Name, r.columns[k].votes
		s[k] = votes.column(&opt, r.file.commas())
		s[k].Name, s[k].Place, s[k].NA = name, r.index[k]+1, opt.NA
		if opt.Types && !opt.Codes && r.names != nil && schema.NamesRows(name) && votes.countsRows() {
			ids = append(ids, k)
		}
	}
	for _, k := range ids {
		numbers := s[k]
		if s[k].Kind = schema.Text; s.Cols() == 0 {
			s[k] = numbers // nothing else is there to learn from
		}
	}
	if s.Cols() == 0 {
		return nil, bad("%s: no column is left to learn from: %s", r.name, s.Notes()[0])
	}
	return s, nil
}

// sumsUp refuses a last row whose first cell alone in its column says that it sums up those above.
func (r *textReader) sumsUp() error {
	for k, x := range r.cells {
		if r.columns[k].votes.words[x.text] == 1 && isTotal(x.text) {
			return bad("%s: %s, the last one, sums up those above, as its %q in %s says: delete it", r.name,
				r.file.place(), x.text, r.label(k))
		}
		if x.text != "" || x.number == x.number {
			break
		}
	}
	return nil
}

// Unseen says, a line for each column of the file, how many of the cells read so far
// hold a word that is no level of the schema, and names such words with the level that is most like each.
func Unseen(r Reader) (lines []string) {
	t, ok := r.(*textReader)
	if !ok {
		return nil
	}
	const most = 5
	for k, c := range t.columns {
		if c.unseen == 0 {
			continue
		}
		var some []string
		words := c.words.frequent()
		for _, word := range words[:min(most, len(words))] {
			near := schema.Nearest(clip(word), slices.Concat(c.Levels, c.Rest))
			some = append(some, fmt.Sprintf("%q (the nearest level is %q)", clip(word), clip(near[0])))
		}
		if len(words) > most {
			some = append(some, fmt.Sprintf("and %d more", len(words)-most))
		}
		lines = append(
			lines,
			fmt.Sprintf("%d cells of %s hold words that the model has not learned, which count as none "+
				"of its levels: %s", c.unseen, t.label(k), strings.Join(some, ", ")),
		)
	}
	return lines
}

// Learn reads the file, a block of rows at a time, for what its columns are: all of
// it where its first rows hold more than plain numbers.
func Learn(name string, opt Options) (schema.Columns, error) {
	opt.Schema = nil
	r, err := Open(name, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, ok := r.(*textReader)
	if !ok {
		return schema.Numbers(r.Names(), r.Cols()), nil
	}
	block := blas.NewGeneral(blockRows(r.Cols()), r.Cols())
	for {
		if _, err := read(r, block); errors.Is(err, io.EOF) || err == nil && t.plain(opt.Types) {
			return t.learned(opt)
		} else if err != nil {
			return nil, err
		}
	}
}

// clip is at most 40 bytes of s, cut between characters.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// This file reads CSV and its relatives.

package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/schema"
)

// csvReader reads separated text. The separator is the one of , ; and tab that
// the first line has most of.
type csvReader struct {
	src   *source
	eol   int64 // bytes of the end of a line
	csv   *csv.Reader
	names []string // of all columns in the file
	cols  int      // in the file
	use   []int    // those that are read; nil: all
	cell  []cells  // of the columns that are read
	first []string // the first data record, read while looking for a header
	rows  int      // records handed out
	line  int      // that the record at hand starts at
	after int      // line after that record, in a file of one column
	blank int      // empty cells still to hand out before held
	end   int64    // bytes up to the end of held
	tail  int      // blank lines below the last record, in a file of one column
	held  []string
	err   error // sticky
}

func newCSVReader(s *source, opt Options) (*csvReader, error) {
	c, err := newCSV(s)
	if err != nil {
		return nil, err
	}
	first, err := c.record()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = bad("%s: is empty", s.name)
		}
		return nil, err
	}
	c.cols = len(first)
	if opt.Header == HeaderYes || opt.Header == HeaderAuto && isHeader(first) {
		c.names = trimAll(first)
		if first, err = c.record(); errors.Is(err, io.EOF) {
			return nil, bad("%s: has a header and no rows", s.name)
		} else if err != nil {
			return nil, err
		}
	}
	c.first = slices.Clone(first)
	if c.use, err = opt.choose(c.names, c.cols); err != nil {
		return nil, err
	}
	c.cell, err = newCells(s.name, &opt, c.Cols())
	return c, err
}

func (c *csvReader) cells() []cells { return c.cell }

// newCSV is a reader of the records of s that knows no columns.
func newCSV(s *source) (*csvReader, error) {
	sep, eol, err := sniff(s)
	if err != nil {
		return nil, err
	}
	p := csv.NewReader(s.r)
	p.Comma = sep
	p.FieldsPerRecord = -1
	p.ReuseRecord = true
	p.TrimLeadingSpace = sep != '\t' // with tabs it would skip empty cells
	return &csvReader{src: s, eol: eol, csv: p}, nil
}

// sniff skips a byte order mark, refuses what is no text, and finds the separator and the bytes that end a line.
func sniff(s *source) (sep rune, eol int64, err error) {
	head, err := s.r.Peek(1 << 15)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, bad("%s: %v", s.name, err)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, _ = s.r.Discard(3)
		head = head[3:]
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return 0, 0, bad("%s: is UTF-16 text: save it as UTF-8", s.name)
	}
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return 0, 0, bad("%s: is a zip archive (a spreadsheet?), not text: save it as CSV", s.name)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return 0, 0, bad("%s: is not a text file", s.name)
	}
	if eol = 1; bytes.Contains(head, []byte("\r\n")) {
		eol = 2
	}
	counts, quoted := map[byte]int{}, false
	for _, b := range bytes.TrimLeft(head, "\r\n") {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' || b == '\r':
			return mostOf(counts), eol, nil
		default:
			counts[b]++
		}
	}
	return mostOf(counts), eol, nil
}

func mostOf(counts map[byte]int) rune {
	best := byte(',')
	for _, sep := range []byte{';', '\t'} {
		if counts[sep] > counts[best] {
			best = sep
		}
	}
	return rune(best)
}

// isHeader says whether the record has some text and no number.
func isHeader(record []string) bool {
	text := false
	for _, cell := range record {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if _, err := strconv.ParseFloat(cell, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return false
		}
		text = true
	}
	return text
}

func trimAll(record []string) []string {
	out := make([]string, len(record))
	for i, s := range record {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

func (c *csvReader) Names() []string { return namesAt(c.names, c.use) }

func (c *csvReader) Cols() int {
	if c.use != nil {
		return len(c.use)
	}
	return c.cols
}

func (c *csvReader) Rows() int    { return -1 }
func (c *csvReader) Close() error { return c.src.close() }

// record reads the next record and checks its length, once the first is known.
// Blank lines are skipped, except that in a file of one column each of them above
// another record is an empty cell, and those at the end are counted.
func (c *csvReader) record() ([]string, error) {
	if c.held == nil {
		if err := c.read(); err != nil {
			return nil, err
		}
	}
	if c.blank > 0 {
		c.blank--
		c.line++
		return []string{""}, nil
	}
	rec := c.held
	c.held = nil
	if c.line, _ = c.csv.FieldPos(0); len(rec) == 1 {
		c.after = c.line + 1 + strings.Count(rec[0], "\n")
	}
	return rec, nil
}

// read holds the next record, and counts the blank lines of a single column before it.
func (c *csvReader) read() error {
	rec, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		if c.cols == 1 {
			c.tail = int((c.csv.InputOffset() - c.end) / c.eol)
		}
		return io.EOF
	}
	if err != nil {
		return bad("%s: %v", c.src.name, err)
	}
	c.end = c.csv.InputOffset()
	if c.cols > 0 && len(rec) != c.cols {
		line, _ := c.csv.FieldPos(0)
		return bad("%s: row %d (line %d) has %d cells where the first row has %d", c.src.name, c.rows+1, line, len(rec), c.cols)
	}
	c.held = rec
	if c.cols == 1 {
		line, _ := c.csv.FieldPos(0)
		c.blank, c.line = line-c.after, c.after-1
	}
	return nil
}

func (c *csvReader) Read(dst blas.General) (int, error) {
	for i := range dst.Rows {
		if c.err == nil {
			c.err = c.row(blas.Row(dst, i))
		}
		if c.err != nil && i > 0 {
			return i, nil
		}
		if c.err != nil {
			return 0, c.err
		}
	}
	return dst.Rows, nil
}

// row parses one record into dst.
func (c *csvReader) row(dst []float64) error {
	rec := c.first
	c.first = nil
	if rec == nil {
		var err error
		if rec, err = c.record(); err != nil {
			return err
		}
	}
	for k := range dst {
		j := k
		if c.use != nil {
			j = c.use[k]
		}
		cell := &c.cell[k]
		v, err := cell.parse(strings.TrimSpace(rec[j]))
		if cell.firstWord {
			cell.firstWord, cell.wordError = false, c.wrong(j, rec[j], ErrText)
		}
		if errors.Is(err, errAmong) {
			return cell.wordError
		}
		if err != nil {
			return c.wrong(j, rec[j], err)
		}
		dst[k] = v
	}
	c.rows++
	return nil
}

// wrong says what is wrong with a cell of the record at hand.
func (c *csvReader) wrong(j int, cell string, err error) error {
	return bad("%s: row %d (line %d), %s: %q %w", c.src.name, c.rows+1, c.line, schema.Label(c.names, j), clip(cell), err)
}

// clip is at most 40 bytes of s, cut between characters.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

var (
	// ErrText is wrapped by the error about a CSV cell that is no number.
	ErrText  = errors.New("is not a number (an empty cell means missing; --na names words that do too)")
	errComma = fmt.Errorf("%w: write the decimal comma as a point", ErrText)
	errInf   = errors.New("is not a finite number (an empty cell means missing; --na names words that do too)")
)

// number parses a trimmed cell that is not empty; NaN spelled out is refused.
func number(cell string) (float64, error) {
	v, err := strconv.ParseFloat(cell, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errInf
	}
	if err != nil {
		if _, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64); err == nil {
			return 0, errComma
		}
		return 0, ErrText
	}
	return v, nil
}

// ErrNotText says that a file is of a kind that holds numbers only.
var ErrNotText = errors.New("not a text file")

// ReadText reads a CSV file as text: the records, and with [HeaderYes] the first
// of them as header. With [HeaderAuto] it is the header when the records below it
// hold a number in a column where it has text, or when it is a table of one
// column whose first cell is the word label, class, target or y.
// Blank lines are skipped as the readers of numbers do, cells are trimmed and rows equally long. Files of other
// kinds than CSV are ErrNotText.
func ReadText(name string, opt Options) (header []string, records [][]string, err error) {
	s, err := openSource(name, opt.Stdin)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.close() }()
	if k := kind(s); k != "" {
		return nil, nil, fmt.Errorf("%s is %s: %w", name, k, ErrNotText)
	}
	c, err := newCSV(s)
	if err != nil {
		return nil, nil, err
	}
	for {
		rec, err := c.record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		c.cols = len(rec)
		c.rows++
		records = append(records, trimAll(rec))
	}
	if len(records) == 0 {
		return nil, nil, bad("%s: is empty", name)
	}
	if opt.Header == HeaderYes || opt.Header == HeaderAuto && namesColumns(records) {
		header, records = records[0], records[1:]
	}
	if len(records) == 0 {
		return nil, nil, bad("%s: has a header and no rows", name)
	}
	return header, records, nil
}

// namesColumns guesses whether the first record is a header.
func namesColumns(records [][]string) bool {
	first := records[0]
	if !isHeader(first) {
		return false
	}
	if len(first) == 1 && slices.Contains([]string{"label", "labels", "class", "classes", "target", "y"}, strings.ToLower(first[0])) {
		return true
	}
	for j := range first {
		if len(records) > 1 && !isHeader(records[1][j:j+1]) && records[1][j] != "" {
			return true
		}
	}
	return false
}

// CSV and its relatives.

package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/schema"
)

// csvReader reads separated text. The separator is the one of , ; | and tab that
// the first line has most of, or spaces between numbers where it has none.
type csvReader struct {
	src   *source
	guard *memory.Guard // of the record that is read
	eol   int64         // bytes of the end of a line
	csv   *csv.Reader
	names []string // of all columns in the file
	cols  int      // in the file
	use   []int    // those that are read
	first []string // the first data record, read while looking for a header
	rows  int      // records handed out
	line  int      // that the record at hand starts at
	after int      // line after that record, in a file of one column
	blank int      // empty cells still to hand out before held
	end   int64    // bytes up to the end of held
	tail  int      // blank lines below the last record, in a file of one column
	held  []string
}

func newCSVReader(s *source, isHeader func(first []string, below [][]string) bool) (*csvReader, error) {
	sep, eol, err := sniff(s)
	if err != nil {
		return nil, err
	}
	// A record is kept as bytes, and as a string and where each cell lies, while its buffers grow.
	guard := s.guard(memory.Guard{Separator: byte(sep), PerByte: 6, PerSeparator: 128})
	s.r = buffered(guard)
	p := csv.NewReader(s.r)
	p.Comma = sep
	p.FieldsPerRecord = -1
	p.ReuseRecord = true
	p.TrimLeadingSpace = sep != '\t' // with tabs it would skip empty cells
	c := &csvReader{src: s, guard: guard, eol: eol, csv: p}
	first, err := c.record()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = bad("%s: is empty", s.name)
		}
		return nil, err
	}
	first = trimAll(first)
	c.cols = len(first)
	below := c.below()
	if isHeader(first, below) {
		c.names = first
		if err = c.read(); errors.Is(err, io.EOF) {
			return nil, bad("%s: has a header and no rows", s.name)
		} else if err != nil {
			return nil, err
		}
		several := slices.IndexFunc(below, func(rec []string) bool { return filled(rec) > 2 })
		if several >= 0 && filled(first) == 1 {
			return nil, bad("%s: the first row holds %q alone and another %d cells: delete the rows above the names "+
				"of the columns", s.name, clip(strings.Join(first, "")), filled(below[several]))
		}
		c.matchHeader()
		if first, err = c.record(); err != nil {
			return nil, err
		}
	} else if err = c.read(); err == nil && c.cols > 1 && endsEmpty(first) && endsEmpty(c.held) && endEmpty(below) {
		c.cols-- // a separator ends every row
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c.first = slices.Clone(first)
	return c, nil
}

// below are the records behind the one at hand, as far as the file is read; the last one may be cut.
func (c *csvReader) below() (records [][]string) {
	head, _ := c.src.r.Peek(c.src.r.Buffered())
	p := csv.NewReader(bytes.NewReader(head))
	p.Comma, p.FieldsPerRecord, p.TrimLeadingSpace = c.csv.Comma, -1, c.csv.TrimLeadingSpace
	for {
		rec, err := p.Read()
		if err != nil {
			return records
		}
		records = append(records, trimAll(rec))
	}
}

// filled is the number of cells that are not empty.
func filled(record []string) (n int) {
	for _, cell := range record {
		if strings.TrimSpace(cell) != "" {
			n++
		}
	}
	return n
}

// matchHeader settles the number of columns by the header and the record below it: a separator may end one
// of them or both, and names of rows may have no name themselves.
func (c *csvReader) matchHeader() {
	n := len(c.names)
	switch k := len(c.held); {
	case n > 1 && c.names[n-1] == "" && (k == n-1 || k == n && endsEmpty(c.held)):
		c.names = c.names[:n-1]
	case n > 1 && k == n+1 && !endsEmpty(c.held):
		c.names = append([]string{""}, c.names...)
	}
	c.cols = len(c.names)
}

// endsEmpty reports whether the last cell of a record is empty.
func endsEmpty(record []string) bool { return strings.TrimSpace(record[len(record)-1]) == "" }

// endEmpty reports whether the last cells of all records are empty, which a separator at the end of each makes. The
// last of several may be cut.
func endEmpty(records [][]string) bool {
	if len(records) > 1 {
		records = records[:len(records)-1]
	}
	return !slices.ContainsFunc(records, func(r []string) bool { return !endsEmpty(r) })
}

func (c *csvReader) columns() ([]string, int)                 { return c.names, c.cols }
func (c *csvReader) choose(idx []int, _ schema.Columns) error { c.use = idx; return nil }
func (c *csvReader) kind(int) schema.Kind                     { return schema.Number }
func (c *csvReader) commas() bool                             { return c.csv.Comma == ';' }
func (c *csvReader) close() error                             { return c.src.close() }

func (c *csvReader) place() string {
	if c.src.rowsOnly {
		return fmt.Sprintf("row %d", c.rows)
	}
	return fmt.Sprintf("row %d (line %d)", c.rows, c.line)
}

func (c *csvReader) next(dst []cell) error {
	rec := c.first
	c.first = nil
	if rec == nil {
		var err error
		if rec, err = c.record(); err != nil {
			return err
		}
	}
	if len(rec) != c.cols && (len(rec) < c.cols || filled(rec[c.cols:]) > 0) {
		return bad("%s: row %d (line %d) has %d cells where the first row has %d: complete the row, or delete it",
			c.src.name, c.rows+1, c.line, len(rec), c.cols)
	}
	c.rows++
	for k, j := range c.use {
		dst[k] = cell{trim(rec[j]), nan}
	}
	return nil
}

// trim is a cell without spaces around it, in UTF-8. Bytes that are not are taken for Latin-1.
func trim(cell string) string {
	if !utf8.ValidString(cell) {
		runes := make([]rune, len(cell))
		for i := range len(cell) {
			runes[i] = rune(cell[i])
		}
		cell = string(runes)
	}
	return strings.TrimSpace(cell)
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
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return 0, 0, bad("%s: is a zip archive, not text: a spreadsheet needs the ending .xlsx, or save it as CSV",
			s.name)
	}
	if bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")) {
		return 0, 0, bad("%s: is a spreadsheet of an old format: save it as .xlsx or CSV", s.name)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return 0, 0, bad("%s: is not a text file", s.name)
	}
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		s.r = buffered(returns{s.r})
		head, _ = s.r.Peek(len(head))
	}
	if eol = 1; bytes.Contains(head, []byte("\r\n")) {
		eol = 2
	}
	if line, ok := bytes.CutPrefix(head, []byte("sep=")); ok && len(line) > 1 && (line[1] == '\r' || line[1] == '\n') {
		_, _ = s.r.Discard(len("sep=") + 1) // spreadsheets write it above the table
		return rune(line[0]), eol, nil
	}
	counts, quoted := map[byte]int{}, false
	for _, b := range bytes.TrimLeft(head, "\r\n") {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n' || b == '\r':
			sep := mostOf(counts)
			if counts[byte(sep)] == 0 && spaced(head) {
				s.r, sep = buffered(&tabbed{r: s.r, begins: true}), '\t'
			}
			return sep, eol, nil
		default:
			counts[b]++
		}
	}
	return mostOf(counts), eol, nil
}

// returns is text whose lines end in carriage returns alone, with newlines in their place.
type returns struct{ io.Reader }

func (r returns) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	for i := range n {
		if b[i] == '\r' {
			b[i] = '\n'
		}
	}
	return n, err
}

// spaced reports whether runs of spaces separate cells: below the first line, every line that is no number as a whole
// has equally many words, two or more of which are numbers.
func spaced(head []byte) bool {
	lines := strings.Split(string(head), "\n")
	lines = lines[1 : len(lines)-1] // the last one may be cut
	words := 0
	for i, line := range lines {
		cells := strings.Fields(line)
		if i == 0 {
			words = len(cells)
		}
		numbers := 0
		for _, cell := range cells {
			if MayBeNumber(cell) {
				numbers++
			}
		}
		if len(cells) != words || numbers < 2 || MayBeNumber(line) {
			return false
		}
	}
	return words > 0
}

// tabbed is text with a tab in place of each run of spaces, and none at the beginning of a line.
type tabbed struct {
	r              io.Reader
	begins, spaces bool // a line, a run of spaces
}

func (t *tabbed) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	kept := b[:0]
	for _, c := range b[:n] {
		space := c == ' ' || c == '\t'
		switch {
		case !space:
			kept = append(kept, c)
		case !t.begins && !t.spaces:
			kept = append(kept, '\t')
		}
		t.spaces, t.begins = space, c == '\n' || t.begins && space
	}
	return len(kept), err
}

func mostOf(counts map[byte]int) rune {
	best := byte(',')
	for _, sep := range []byte{';', '\t', '|'} {
		if counts[sep] > counts[best] {
			best = sep
		}
	}
	return rune(best)
}

// named reports whether the first record names the columns, in a table whose columns may hold words.
func (opt *Options) named(first []string, below [][]string) bool {
	return opt.Header == HeaderYes || opt.Header == HeaderAuto && isWords(first) &&
		(!opt.Types && opt.Schema == nil || !repeated(first, below))
}

// repeated reports whether in most columns that tell, the first cell is one of the words below, as it is where
// it names no column. Columns tell whose cells below are not all different; a word above numbers alone is a name.
func repeated(first []string, below [][]string) bool {
	votes := 0
	for j, cell := range first {
		count, n, numbers := map[string]int{}, 0, 0
		for _, rec := range below {
			if j < len(rec) && rec[j] != "" {
				count[rec[j]]++
				n++
				if MayBeNumber(rec[j]) {
					numbers++
				}
			}
		}
		switch {
		case cell != "" && n > 0 && numbers == n:
			return false
		case cell != "" && count[cell] > 0:
			votes++
		case len(count) < n:
			votes--
		}
	}
	return votes > 0
}

// isWords reports whether the record has some text and no number. A date is neither.
func isWords(record []string) bool {
	text := false
	for _, cell := range record {
		if cell = strings.TrimSpace(cell); cell == "" {
			continue
		}
		if _, err := strconv.ParseFloat(cell, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return false
		}
		if new(numberVotes).noteMarked(cell, 1) {
			return false
		}
		if !text {
			var dates dateVotes
			dates.note(cell)
			text = dates.best().n == 0
		}
	}
	return text
}

func trimAll(record []string) []string {
	out := make([]string, len(record))
	for i, s := range record {
		out[i] = trim(s)
	}
	return out
}

// record reads the next record. Blank lines are skipped, except that in a file of one column each of them above another
// record is an empty cell, and those at the end are counted.
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
	c.guard.Reset()
	rec, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		if c.cols == 1 {
			c.tail = int((c.csv.InputOffset() - c.end) / c.eol)
		}
		return io.EOF
	}
	if errors.Is(err, csv.ErrBareQuote) || errors.Is(err, csv.ErrQuote) {
		err = fmt.Errorf("%w: a cell that holds a quotation mark is written in quotation marks, and the mark twice",
			err)
	}
	if err != nil {
		return bad("%s: %w", c.src.name, err)
	}
	c.end = c.csv.InputOffset()
	if line, _ := c.csv.FieldPos(0); isConflict(rec[0]) {
		return bad("%s: line %d is the mark of a merge conflict, %q: resolve the conflict first", c.src.name, line,
			clip(rec[0]))
	}
	c.held = rec
	if c.cols == 1 {
		line, _ := c.csv.FieldPos(0)
		c.blank, c.line = line-c.after, c.after-1
	}
	return nil
}

// isConflict reports whether a line starts as those do that version control puts around a conflict.
func isConflict(line string) bool {
	return strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") || line == "======="
}

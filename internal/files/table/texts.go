// Cells of files as text.

package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/schema"
)

// ErrNotText says that a file is of a kind that holds numbers only.
var ErrNotText = errors.New("not a text file")

// Texts hands out the rows of a file as text.
type Texts struct {
	Names  []string // of the columns that are read, nil where there are none
	reader *textReader
}

// OpenText opens a file for the cells of the chosen columns as text, trimmed, and missing ones as "". Where opt.Types
// is set, the first row of a CSV file is its header as [Read] takes it; else with [HeaderAuto] it is when it has no
// number and the rows below it hold one, or when it is one of the words label, class, target or y alone. Arrays are
// ErrNotText.
func OpenText(name string, opt Options) (*Texts, error) {
	s, err := openSource(name, opt.Stdin)
	if err != nil {
		return nil, err
	}
	t, err := newTexts(s, opt)
	if err != nil {
		_ = s.close()
		return nil, err
	}
	return t, nil
}

func newTexts(s *source, opt Options) (*Texts, error) {
	if k := kind(s); k == ".npy" {
		return nil, fmt.Errorf("%s is %s: %w", s.name, k, ErrNotText)
	}
	named := opt.named
	if !opt.Types && opt.Header == HeaderAuto {
		named = namesNumbers
	}
	opt.Types, opt.Schema = true, nil
	file, err := s.records(opt, named)
	if err != nil {
		return nil, err
	}
	r, err := newTextReader(s, file, opt)
	if err != nil {
		return nil, err
	}
	return &Texts{r.names, r}, nil
}

// Next is the next row; io.EOF ends them.
func (t *Texts) Next() ([]string, error) {
	r := t.reader
	if err := r.file.next(r.cells); err != nil {
		return nil, err
	}
	row := make([]string, len(r.cells))
	for k, x := range r.cells {
		switch {
		case r.columns[k].lacks(x):
		case x.text != "" || math.IsNaN(x.number):
			row[k] = strings.Clone(x.text) // that of a whole line is not kept for a cell
		case r.file.kind(k) == schema.Date:
			row[k] = schema.AsDate(x.number)
		default:
			row[k] = strconv.FormatFloat(x.number, 'f', -1, 64)
		}
	}
	return row, nil
}

// Close closes the file.
func (t *Texts) Close() error { return t.reader.file.close() }

// ReadText reads all rows; see [OpenText].
func ReadText(name string, opt Options) (header []string, records [][]string, err error) {
	t, err := OpenText(name, opt)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = t.Close() }()
	for {
		row, err := t.Next()
		if errors.Is(err, io.EOF) {
			return t.Names, records, nil
		}
		if err != nil {
			return nil, nil, err
		}
		bytes := 2 * cellBytes
		for _, cell := range row {
			bytes += cellBytes + len(cell)
		}
		if err := t.reader.held.Add(float64(bytes)); err != nil {
			return nil, nil, err
		}
		records = append(records, row)
	}
}

// namesNumbers reports whether a first record without numbers stands above numbers, or names one column of labels.
func namesNumbers(first []string, below [][]string) bool {
	if !isWords(first) {
		return false
	}
	if len(first) == 1 && slices.Contains([]string{"label", "labels", "class", "classes", "target", "y"},
		strings.ToLower(first[0])) {
		return true
	}
	return len(below) > 0 && slices.ContainsFunc(below[0], func(cell string) bool {
		return cell != "" && !isWords([]string{cell})
	})
}

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

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/schema"
)

// ErrNotText says that a file is of a kind that holds numbers only.
var ErrNotText = errors.New("not a text file")

// Texts hands out the rows of a file as text.
type Texts struct {
	Names []string // of the columns that are read, nil where there are none
	file  records
	held  *memory.Growing // by ReadText
	cells []cell
	words column // of words that mean a missing cell
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
	if k := kind(s); k == ".npy" || k == ".npz" {
		return nil, fmt.Errorf("%s is %s: %w", s.name, k, ErrNotText)
	}
	named := opt.named
	if !opt.Types && opt.Header == HeaderAuto {
		named = namesNumbers
	}
	opt.Types = true
	file, err := s.records(opt, named)
	if err != nil {
		return nil, err
	}
	names, cols := file.columns()
	idx, err := opt.choose(names, cols)
	if err != nil {
		return nil, err
	}
	if err := file.choose(idx, nil); err != nil {
		return nil, err
	}
	if err := s.held.Add(columnBytes * float64(len(idx))); err != nil {
		return nil, err
	}
	words := column{Column: schema.Column{NA: opt.NA}}
	return &Texts{
		Names: namesAt(names, idx), file: file, held: &s.held, cells: make([]cell, len(idx)), words: words,
	}, nil
}

// Next is the next row; io.EOF ends them.
func (t *Texts) Next() ([]string, error) {
	if err := t.file.next(t.cells); err != nil {
		return nil, err
	}
	row := make([]string, len(t.cells))
	for k, x := range t.cells {
		switch {
		case t.words.lacks(x):
		case x.text != "" || math.IsNaN(x.number):
			row[k] = strings.Clone(x.text) // that of a whole line is not kept for a cell
		case t.file.kind(k) == schema.Date:
			row[k] = schema.AsDate(x.number)
		default:
			row[k] = strconv.FormatFloat(x.number, 'f', -1, 64)
		}
	}
	return row, nil
}

// Close closes the file.
func (t *Texts) Close() error { return t.file.close() }

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
		if err := t.held.Add(float64(bytes)); err != nil {
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

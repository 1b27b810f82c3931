// Package table reads matrices with named columns: CSV and its relatives, JSON, .npy, members of .npz, Parquet and
// formats that a program registers, each also gzipped, and CSV on standard input. A table is read whole, or in blocks
// of rows where it is larger than memory. It writes .npy.
//
// A file is opened and unzipped ([Open]) and decoded to records of cells. Votes over the cells of a column say what
// it is: numbers, with or without marks; dates; times; categories; or text that is left out. By the schema that
// these make the cells become numbers.
package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/schema"
)

// ErrData is wrapped by every error about what a file holds, as opposed to
// errors of the system in reading it.
var ErrData = errors.New("bad data")

// dataError is an ErrData whose message stands alone.
type dataError struct{ err error }

func (e *dataError) Error() string   { return e.err.Error() }
func (e *dataError) Unwrap() []error { return []error{ErrData, e.err} }

func bad(format string, args ...any) error { return &dataError{fmt.Errorf(format, args...)} }

// Table is a matrix, a row per sample, with the names of its columns.
type Table struct {
	Names  []string       // one per column; nil where the file has none
	Data   blas.General   // NaN marks a missing cell
	Schema schema.Columns // how the columns of the file became these
	Unseen []string       // what [Unseen] says of the cells
	blank  int            // lines below the last row, in a CSV file of one column
}

// Extend adds missing cells up to so many rows where the file has one column and ends in as many blank lines,
// which [Read] takes for no rows.
func (t *Table) Extend(rows int) {
	if add := rows - t.Data.Rows; add > 0 && add <= t.blank {
		t.Data.Data = append(t.Data.Data, slices.Repeat([]float64{math.NaN()}, add*t.Data.Cols)...)
		t.Data.Rows, t.blank = rows, t.blank-add
	}
}

// Header says whether the first record of a CSV file names the columns.
type Header int

const (
	HeaderAuto Header = iota // it does when it has text and no number
	HeaderYes
	HeaderNo
)

// Options of reading. The zero value is useful.
type Options struct {
	Header Header
	Stdin  io.Reader // what is read in place of the named file; with nil the name "-" is refused
	// Types lets [Read] take columns of words as categories and dates, and leave out text; see [schema.Columns].
	// Without it, and without Schema, a word is an error that wraps ErrText.
	Types     bool
	MaxLevels int            // of a category that have a column of their own; 0 means MaxLevels
	Schema    schema.Columns // of the columns that are read, where it is known
	Codes     bool           // hand out a code for each cell, as the kinds of package schema define it
	NA        []string       // words and numbers that mean a missing cell, as an empty one does
	// Blank reports whether all cells of a row, from 0, are missing whatever they hold; nil: of none. Such a row says
	// nothing about what columns are.
	Blank func(row int) bool
	// Columns chooses the columns to read, from 0, and their order, by the names
	// (nil where there are none) and number of all; nil means all. CSV and Parquet
	// columns that are not chosen may hold text.
	Columns func(names []string, cols int) ([]int, error)
}

// choose is the columns to read.
func (opt Options) choose(names []string, cols int) (idx []int, err error) {
	if opt.Columns == nil {
		for j := range cols {
			idx = append(idx, j)
		}
		return idx, nil
	}
	idx, err = opt.Columns(names, cols)
	if err == nil && len(idx) == 0 {
		err = bad("no columns are chosen")
	}
	return idx, err
}

// namesAt are the names of the columns idx, nil where the columns have none.
func namesAt(names []string, idx []int) []string {
	if names == nil {
		return nil
	}
	out := make([]string, len(idx))
	for k, j := range idx {
		out[k] = names[j]
	}
	return out
}

// Reader hands out a table in blocks of rows.
type Reader interface {
	Names() []string // one per column, or nil
	Cols() int
	Rows() int // -1 where it is not known before the end
	// Read fills dst, of Cols columns, from its first row on and returns how many
	// rows it filled; at the end of the table that is 0 with io.EOF. A partly
	// filled dst is returned without error; dst's remaining rows are unspecified.
	// The rows before a bad one are handed out first, then comes its error.
	Read(dst blas.General) (int, error)
	io.Closer
}

// Read reads the whole table in the file. It is read twice where not all cells are plain numbers: once for the schema
// that they make, and then by it. See [Open] for what a name may be.
func Read(name string, opt Options) (*Table, error) {
	first, kept, err := keeping(name, opt)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		defer kept.held.Free()
	}
	r, err := Open(name, first)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := ReadAll(r)
	if err != nil {
		return nil, err
	}
	text, ok := r.(*textReader)
	if !ok {
		t.Schema = schema.Numbers(t.Names, t.Data.Cols)
		return t, nil
	}
	t.Unseen = Unseen(r)
	if t.Schema = opt.Schema; t.Schema == nil {
		if t.Schema, err = text.learned(opt); err != nil {
			return nil, err
		}
	}
	if opt.Schema == nil && (!text.plain(opt.Types) || t.Schema.Cols() < len(t.Schema)) {
		opt.Schema = t.Schema
		if kept != nil {
			opt.Stdin = kept
		}
		_ = r.Close()
		return Read(name, opt)
	}
	if c, ok := text.file.(*csvReader); ok {
		t.blank = c.tail
	}
	return t, nil
}

// keeping are the options for a first pass, and what a second one reads where the file can be read only once.
func keeping(name string, opt Options) (Options, *tape, error) {
	if opt.Schema != nil {
		return opt, nil, nil
	}
	if opt.Stdin == nil {
		info, err := os.Stat(name)
		if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			return opt, nil, nil // opening it says what is wrong
		}
		if opt.Stdin, err = os.Open(name); err != nil {
			return opt, nil, err
		}
	}
	k := &tape{held: memory.Grow("keeping what is read only once", "give a file in its place, or "+lessMemory)}
	opt.Stdin = io.TeeReader(opt.Stdin, k)
	return opt, k, nil
}

// tape is what was read of a file that can be read only once.
type tape struct {
	bytes.Buffer
	held *memory.Growing
}

func (k *tape) Write(b []byte) (int, error) {
	if room := k.Cap(); k.Available() < len(b) { // it doubles
		if err := k.held.Add(float64(2*room + len(b))); err != nil {
			return 0, err
		}
		defer func() { _ = k.held.Add(-float64(room)) }() // nothing more
	}
	return k.Buffer.Write(b)
}

// ReadAll reads what is left of r.
func ReadAll(r Reader) (*Table, error) {
	n, cols := r.Rows(), r.Cols()
	t := &Table{Names: r.Names(), Data: blas.General{Cols: cols, Stride: max(cols, 1)}}
	grown := memory.Grow("a table", lessMemory)
	defer grown.Free()
	for t.Data.Rows != n {
		size := blockRows(cols)
		if n >= 0 {
			size = n - t.Data.Rows
		}
		done := len(t.Data.Data)
		if need := done + size*cols; need > cap(t.Data.Data) {
			need = max(need, done/4*5)
			if err := grown.Add(8 * float64(need)); err != nil {
				return nil, err
			}
			_ = grown.Add(-8 * float64(cap(t.Data.Data))) // nothing more
			t.Data.Data = append(make([]float64, 0, need), t.Data.Data...)
		}
		block := t.Data.Data[done : done+size*cols]
		k, err := read(r, blas.General{Rows: size, Cols: cols, Stride: t.Data.Stride, Data: block})
		if errors.Is(err, io.EOF) && n < 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		t.Data.Rows, t.Data.Data = t.Data.Rows+k, t.Data.Data[:done+k*cols]
	}
	return t, nil
}

// blockRows is the number of rows read at a time: fewer of very many columns.
func blockRows(cols int) int { return max(1, min(1024, 1<<20/max(cols, 1))) }

// read is r.Read, which must end or come nearer to the end.
func read(r Reader, block blas.General) (int, error) {
	k, err := r.Read(block)
	if k == 0 && err == nil && block.Rows > 0 {
		err = io.ErrNoProgress
	}
	return k, err
}

// blank reports whether the row counts as missing.
func (opt *Options) blank(row int) bool { return opt.Blank != nil && opt.Blank(row) }

// finiteRows is the number of rows before the first that holds an infinity, and the
// error that says where. NaN is a missing cell. first is the table's row number (from
// 0) of the block's first row. Rows that opt leaves blank become so.
func finiteRows(name string, a blas.General, first int, opt *Options) (int, error) {
	for i := range a.Rows {
		if opt.blank(first + i) {
			blas.Fill(blas.View(a, i, 0, 1, a.Cols), math.NaN())
		}
		for j, v := range blas.Row(a, i) {
			if math.IsInf(v, 0) {
				return i, bad("%s: row %d, %s: %v is not a finite number", name, first+i+1, schema.Label(nil, j), v)
			}
		}
	}
	return a.Rows, nil
}

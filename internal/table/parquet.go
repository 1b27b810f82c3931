// This file reads Parquet files.

package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/schema"
)

// parquetReader reads flat columns of a Parquet file. A null is a missing cell.
// Strings and booleans are words and dates are dates where the options take such;
// otherwise booleans are 0 and 1, and dates what the file stores.
type parquetReader struct {
	src    *source
	file   *parquet.File
	names  []string  // of all columns in the file
	use    []int     // those that are read; nil: all
	at     [][]int   // for each column of the file, where it goes in a row
	cell   []cells   // of the columns that are read
	perDay []float64 // for each of these that holds dates, how many of its units are a day; 0 for others
	typed  bool      // words and dates are taken as such
	group  int       // next row group
	rows   parquet.Rows
	buf    []parquet.Row
	next   int
	err    error // of the row next
}

func newParquetReader(s *source, opt Options) (Reader, error) {
	at, size := s.at, s.size
	if at == nil {
		all, err := s.bytes()
		if err != nil {
			return nil, err
		}
		at, size = bytes.NewReader(all), int64(len(all))
	}
	file, err := openParquet(at, size)
	if err != nil {
		return nil, bad("%s: not a whole Parquet file: %v", s.name, err)
	}
	r := &parquetReader{src: s, file: file, buf: make([]parquet.Row, 256), typed: opt.Types || opt.Schema != nil}
	fields := file.Schema().Fields()
	for _, f := range fields {
		r.names = append(r.names, f.Name())
	}
	if r.use, err = opt.choose(r.names, len(r.names)); err != nil {
		return nil, err
	}
	if r.cell, err = newCells(s.name, &opt, r.Cols()); err != nil {
		return nil, err
	}
	if err := r.place(fields); err != nil {
		return nil, err
	}
	if file.NumRows() == 0 || len(r.names) == 0 {
		return nil, bad("%s: is empty", s.name)
	}
	return r, nil
}

// place says where the values of each leaf of the file go, and refuses chosen columns that hold no numbers.
func (r *parquetReader) place(fields []parquet.Field) error {
	use := r.use
	if use == nil {
		for j := range fields {
			use = append(use, j)
		}
	}
	leaf := make([]int, len(fields)) // the first leaf of each field: a nested one has several
	leaves := 0
	for j, f := range fields {
		leaf[j] = leaves
		leaves += countLeaves(f)
	}
	r.at, r.perDay = make([][]int, leaves), make([]float64, len(use))
	for k, j := range use {
		f := fields[j]
		word := f.Leaf() && r.typed && f.Type().Kind() == parquet.ByteArray
		if !f.Leaf() || f.Repeated() || !numeric(f.Type().Kind()) && !word {
			return bad("%s: column %q is of type %s, not a number", r.src.name, f.Name(), f.Type())
		}
		r.at[leaf[j]] = append(r.at[leaf[j]], k)
		if r.typed {
			r.perDay[k] = unitsPerDay(f.Type())
		}
		if err := r.cell[k].stored(f.Type().Kind(), r.perDay[k]); err != nil {
			return bad("%s: column %q %w", r.src.name, f.Name(), err)
		}
	}
	return nil
}

// unitsPerDay is how many units of a column of dates are a day, 0 for other columns.
func unitsPerDay(t parquet.Type) float64 {
	l := t.LogicalType()
	if l == nil {
		return 0
	}
	switch is := l.Value.(type) {
	case *format.DateType:
		return 1
	case *format.TimestampType:
		if is.Unit.Value != nil {
			return float64(24 * time.Hour / is.Unit.Value.Duration())
		}
	}
	return 0
}

// stored tells the cells of a column how the file stores it, and refuses what is
// not of the kind that the schema says.
func (c *cells) stored(kind parquet.Kind, perDay float64) error {
	is := schema.Number
	switch {
	case perDay > 0, kind == parquet.ByteArray && c.kind == schema.Date:
		is = schema.Date
	case kind == parquet.ByteArray, kind == parquet.Boolean && (c.kind == schema.Category || !c.fixed):
		is = schema.Category
	}
	if c.fixed && c.kind != is {
		return fmt.Errorf("holds %s where %s is expected", kindName(is), kindName(c.kind))
	}
	if !c.fixed && is == schema.Date {
		c.kind, c.decided, c.first = schema.Date, true, math.Inf(1)
	}
	if !c.fixed && kind == parquet.Boolean {
		c.kind, c.decided, c.levels = schema.Category, true, map[string]int{}
	}
	return nil
}

func kindName(k schema.Kind) string {
	if k == schema.Number {
		return "numbers"
	}
	return map[schema.Kind]string{schema.Category: "words", schema.Date: "dates"}[k]
}

func (r *parquetReader) cells() []cells { return r.cell }

func countLeaves(n parquet.Node) int {
	if n.Leaf() {
		return 1
	}
	total := 0
	for _, f := range n.Fields() {
		total += countLeaves(f)
	}
	return total
}

// openParquet turns the panics that the decoder answers some broken files with into errors.
func openParquet(at io.ReaderAt, size int64) (f *parquet.File, err error) {
	// The library allocates the footer by the length that the file gives.
	var end [8]byte
	if _, err := at.ReadAt(end[:], size-int64(len(end))); size < int64(len(end)) || err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("it is cut short")
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-int64(len(end)) {
		return nil, fmt.Errorf("its footer claims %d bytes of %d", n, size)
	}
	defer func() {
		if recover() != nil {
			err = errors.New("its structure is broken")
		}
	}()
	return parquet.OpenFile(at, size)
}

func numeric(k parquet.Kind) bool {
	switch k {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		return true
	}
	return false
}

func (r *parquetReader) Names() []string { return namesAt(r.names, r.use) }
func (r *parquetReader) Rows() int       { return -1 } // the footer's count is trusted only as far as rows come

func (r *parquetReader) Cols() int {
	if r.use != nil {
		return len(r.use)
	}
	return len(r.names)
}

func (r *parquetReader) Close() error {
	if r.rows != nil {
		_ = r.rows.Close()
	}
	return r.src.close()
}

func (r *parquetReader) Read(dst blas.General) (n int, err error) {
	defer func() {
		if recover() != nil {
			r.err = bad("%s: broken data after row %d", r.src.name, r.next)
			n, err = 0, r.err
		}
	}()
	for n == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.rows == nil {
			groups := r.file.RowGroups()
			if r.group == len(groups) {
				return 0, io.EOF
			}
			r.rows = groups[r.group].Rows()
			r.group++
		}
		n = r.some(dst)
	}
	return n, nil
}

// some reads rows of the group at hand and returns how many were good; r.err is
// what is wrong with the next one.
func (r *parquetReader) some(dst blas.General) int {
	k, err := r.rows.ReadRows(r.buf[:min(len(r.buf), dst.Rows)])
	for i, row := range r.buf[:k] {
		if r.err = r.convert(blas.Row(dst, i), row); r.err != nil {
			return i
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		_ = r.rows.Close()
		r.rows = nil
	case err != nil:
		r.err = bad("%s: broken data after row %d: %v", r.src.name, r.next, err)
	case k == 0:
		r.err = bad("%s: broken data after row %d: a reader without rows or end", r.src.name, r.next)
	}
	return k
}

func (r *parquetReader) convert(dst []float64, row parquet.Row) error {
	for _, v := range row {
		for _, k := range r.at[v.Column()] {
			var err error
			if dst[k], err = r.number(v, k); err != nil {
				return bad("%s: row %d, column %q: %q %w", r.src.name, r.next+1, r.Names()[k], clip(v.String()), err)
			}
			if x := dst[k]; math.IsInf(x, 0) {
				if r.use != nil {
					k = r.use[k]
				}
				return bad("%s: row %d, %s: %v is not a finite number", r.src.name, r.next+1, schema.Label(r.names, k), x)
			}
		}
	}
	r.next++
	return nil
}

// number is what a value of column k, of those read, stands for.
func (r *parquetReader) number(v parquet.Value, k int) (float64, error) {
	c := &r.cell[k]
	switch {
	case v.IsNull():
		return math.NaN(), nil
	case r.perDay[k] > 0:
		x := parquetNumber(v) / r.perDay[k]
		c.first = min(c.first, x)
		return x, nil
	case v.Kind() == parquet.ByteArray, v.Kind() == parquet.Boolean && c.kind == schema.Category:
		return c.word(v.String())
	}
	return parquetNumber(v), nil
}

func parquetNumber(v parquet.Value) float64 {
	switch {
	case v.IsNull():
		return math.NaN()
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case v.Kind() == parquet.Int32:
		return float64(v.Int32())
	case v.Kind() == parquet.Int64:
		return float64(v.Int64())
	case v.Kind() == parquet.Float:
		return float64(v.Float())
	}
	return v.Double()
}

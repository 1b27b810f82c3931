package table

import (
	"bytes"
	"errors"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/iokl/iokl/blas"
)

// parquetReader reads flat numeric columns of a Parquet file. A null is a missing cell.
type parquetReader struct {
	src      *source
	file     *parquet.File
	names    []string // of all columns in the file
	use      []int    // those that are read; nil: all
	at       [][]int  // for each column of the file, where it goes in a row
	group    int      // next row group
	rows     parquet.Rows
	buf      []parquet.Row
	next     int
	err      error // of the row next
	allowNaN bool
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
	r := &parquetReader{src: s, file: file, buf: make([]parquet.Row, 256), allowNaN: opt.AllowNaN}
	fields := file.Schema().Fields()
	for _, f := range fields {
		r.names = append(r.names, f.Name())
	}
	if r.use, err = opt.choose(r.names, len(r.names)); err != nil {
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
	r.at = make([][]int, leaves)
	for k, j := range use {
		if f := fields[j]; !f.Leaf() || f.Repeated() || !numeric(f.Type().Kind()) {
			return bad("%s: column %q is of type %s, not a number", r.src.name, f.Name(), f.Type())
		}
		r.at[leaf[j]] = append(r.at[leaf[j]], k)
	}
	return nil
}

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
	}
	return k
}

func (r *parquetReader) convert(dst []float64, row parquet.Row) error {
	for _, v := range row {
		for _, k := range r.at[v.Column()] {
			dst[k] = parquetNumber(v)
			if x := dst[k]; math.IsInf(x, 0) || math.IsNaN(x) && !v.IsNull() && !r.allowNaN {
				if r.use != nil {
					k = r.use[k]
				}
				return bad("%s: row %d, %s: %v is not a finite number", r.src.name, r.next+1, column(r.names, k), x)
			}
		}
	}
	r.next++
	return nil
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

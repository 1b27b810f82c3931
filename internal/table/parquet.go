package table

import (
	"bytes"
	"errors"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/iokl/iokl/blas"
)

// parquetReader reads the flat numeric columns of a Parquet file. A null is a missing cell.
type parquetReader struct {
	src      *source
	file     *parquet.File
	names    []string
	group    int // next row group
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
	for _, f := range file.Schema().Fields() {
		if !f.Leaf() || f.Repeated() || !numeric(f.Type().Kind()) {
			return nil, bad("%s: column %q is of type %s, not a number", s.name, f.Name(), f.Type())
		}
		r.names = append(r.names, f.Name())
	}
	if file.NumRows() == 0 || len(r.names) == 0 {
		return nil, bad("%s: is empty", s.name)
	}
	return r, nil
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

func (r *parquetReader) Names() []string { return r.names }
func (r *parquetReader) Cols() int       { return len(r.names) }
func (r *parquetReader) Rows() int       { return -1 } // the footer's count is trusted only as far as rows come

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
		j := v.Column()
		missing := v.IsNull()
		switch {
		case missing:
			dst[j] = math.NaN()
		case v.Kind() == parquet.Boolean:
			dst[j] = 0
			if v.Boolean() {
				dst[j] = 1
			}
		case v.Kind() == parquet.Int32:
			dst[j] = float64(v.Int32())
		case v.Kind() == parquet.Int64:
			dst[j] = float64(v.Int64())
		case v.Kind() == parquet.Float:
			dst[j] = float64(v.Float())
		default:
			dst[j] = v.Double()
		}
		if x := dst[j]; math.IsInf(x, 0) || math.IsNaN(x) && !missing && !r.allowNaN {
			return bad("%s: row %d, %s: %v is not a finite number", r.src.name, r.next+1, column(r.names, j), x)
		}
	}
	r.next++
	return nil
}

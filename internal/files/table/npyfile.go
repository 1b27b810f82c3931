// .npy files, read in blocks of rows.

package table

import (
	"errors"
	"io"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/npy"
)

// npyReader reads a .npy file in blocks of rows. Files in Fortran order are read
// column by column at the places where the rows of the block lie.
type npyReader struct {
	src        *source
	h          npy.Header
	rows, cols int
	next       int // row
	buf        []byte
	col        []float64
	opt        *Options
	err        error // of the row next
}

func newNpyReader(s *source, opt Options) (Reader, error) {
	if s.size >= 0 && s.size < 10 {
		return nil, bad("%s: %d bytes are not a .npy file", s.name, s.size)
	}
	h, err := npy.ReadHeader(s.r)
	if err != nil {
		return nil, named(s.name, err)
	}
	rows, cols, err := flat(s.name, h.Shape)
	if err != nil {
		return nil, err
	}
	need := int64(h.Bytes) + int64(h.Len())*int64(h.Size)
	if s.size >= 0 && s.size != need {
		return nil, bad("%s: cut short or damaged: %d bytes where shape %v needs %d", s.name, s.size, h.Shape, need)
	}
	if h.Fortran && cols > 1 && s.at == nil {
		if s.at, s.size, err = s.whole(); err != nil {
			return nil, err
		}
		h.Bytes = 0
	}
	if err := s.held.Add(float64(cols) * float64(2*h.Size+8)); err != nil { // rows are read whole
		return nil, err
	}
	return choosing(&npyReader{src: s, h: h, rows: rows, cols: cols, opt: &opt}, opt)
}

func (r *npyReader) Names() []string { return nil }
func (r *npyReader) Cols() int       { return r.cols }
func (r *npyReader) Close() error    { return r.src.close() }

// Rows is what the header says where the file's size bears it out; where a checksum is to be verified, that is the end.
func (r *npyReader) Rows() int {
	if r.src.at == nil {
		return -1
	}
	return r.rows
}

// block is how many bytes are converted at a time.
const block = 1 << 20

func (r *npyReader) Read(dst blas.General) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	k := min(dst.Rows, r.rows-r.next)
	if k == 0 {
		return 0, io.EOF
	}
	read := r.readRows
	if r.h.Fortran && r.cols > 1 {
		read = r.readColumns
	}
	n, err := read(blas.View(dst, 0, 0, k, r.cols))
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		r.err = bad("%s: cut short at row %d", r.src.name, r.next+n+1)
	case err != nil:
		r.err = named(r.src.name, err)
	}
	n, err = finiteRows(r.src.name, blas.View(dst, 0, 0, n, r.cols), r.next, r.opt)
	if err != nil {
		r.err = err
	}
	if r.next += n; r.next == r.rows && r.src.at == nil && r.err == nil {
		r.err = named(r.src.name, r.src.end())
	}
	if n == 0 {
		return 0, r.err
	}
	return n, nil
}

// readRows returns how many rows were whole.
func (r *npyReader) readRows(dst blas.General) (int, error) {
	line := r.cols * r.h.Size
	step := max(1, block/line)
	for i := 0; i < dst.Rows; i += step {
		k := min(step, dst.Rows-i)
		r.buf = slices.Grow(r.buf[:0], k*line)[:k*line]
		n, err := io.ReadFull(r.src.r, r.buf)
		for j := range n / line {
			r.h.Decode(blas.Row(dst, i+j), r.buf[j*line:])
		}
		if err != nil {
			return i + n/line, err
		}
	}
	return dst.Rows, nil
}

func (r *npyReader) readColumns(dst blas.General) (int, error) {
	r.buf = slices.Grow(r.buf[:0], dst.Rows*r.h.Size)[:dst.Rows*r.h.Size]
	r.col = slices.Grow(r.col[:0], dst.Rows)[:dst.Rows]
	for j := range r.cols {
		off := int64(r.h.Bytes) + (int64(j)*int64(r.rows)+int64(r.next))*int64(r.h.Size)
		if n, err := r.src.at.ReadAt(r.buf, off); n < len(r.buf) {
			return 0, err
		}
		r.h.Decode(r.col, r.buf)
		for i, v := range r.col {
			dst.Data[i*dst.Stride+j] = v
		}
	}
	return dst.Rows, nil
}

//go:build cgo

package main

/*
#define IOKL_TYPES_ONLY
#include "iokl.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/screen"
	"github.com/iokl/iokl/internal/host"
)

// objects are the jobs and models that callers hold.
var objects host.Table

// call runs f, and reports its error as a status and in e, unless that is NULL.
func call(e *C.iokl_error, f func() error) C.iokl_status {
	if e != nil && e.size != C.sizeof_iokl_error {
		return C.IOKL_BAD_INPUT
	}
	err := host.Guard(f)
	status := C.iokl_status(host.StatusOf(err))
	if e != nil {
		e.status = status
		e.message[0] = 0
		if err != nil {
			chars(e.message[:], screen.Safe(err.Error()))
		}
	}
	return status
}

// chars writes text and a zero byte to dst, cut at a character where it is too long.
func chars(dst []C.char, text string) {
	room := len(dst) - 1
	if len(text) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:room]
	}
	for i := range len(text) {
		dst[i] = C.char(text[i])
	}
	dst[len(text)] = 0
}

// given refuses a NULL pointer.
func given[T any](p *T, name string) error {
	if p == nil {
		return host.Input("%s is NULL", name)
	}
	return nil
}

// sized refuses NULL, and a structure whose first field, its size, differs from that of the library.
func sized(structure unsafe.Pointer, want C.size_t, name string) error {
	if structure == nil {
		return host.Input("%s is NULL", name)
	}
	if size := *(*C.size_t)(structure); size != want {
		return host.Input("the size of %s is %d, not %d", name, size, want)
	}
	return nil
}

// put hands out the number of a new object.
func put(at *C.iokl_handle, object any) { *at = C.iokl_handle(objects.Put(object)) }

// made runs f as call does, and hands out its model, which may come with an error.
func made(at *C.iokl_handle, name string, e *C.iokl_error, f func() (*iokl.Model, error)) C.iokl_status {
	return call(e, func() error {
		if err := given(at, name); err != nil {
			return err
		}
		*at = 0
		m, err := f()
		if m != nil {
			put(at, &host.Model{Model: m})
		}
		return err
	})
}

// jsonOf writes the JSON of the object of that number to the caller's buffer.
func jsonOf[T interface{ JSON() ([]byte, error) }](
	h C.iokl_handle, buffer *C.char, capacity C.size_t, needed *C.size_t, e *C.iokl_error,
) C.iokl_status {
	return with(h, e, func(object T) error {
		b, err := object.JSON()
		if err != nil {
			return err
		}
		return copyOut(unsafe.Pointer(buffer), capacity, needed, b, true)
	})
}

// with calls f with the object of that number, as call does.
func with[T any](h C.iokl_handle, e *C.iokl_error, f func(object T) error) C.iokl_status {
	return call(e, func() error {
		object, err := host.Get[T](&objects, uint64(h))
		if err != nil {
			return err
		}
		return f(object)
	})
}

// copyOut writes b, and a zero byte after text, to the caller's buffer.
func copyOut(dst unsafe.Pointer, capacity C.size_t, needed *C.size_t, b []byte, text bool) error {
	n := len(b)
	if text {
		n++
	}
	if needed != nil {
		*needed = C.size_t(n)
	}
	switch {
	case dst == nil && capacity == 0:
		return given(needed, "needed")
	case dst == nil:
		return host.Input("the buffer is NULL")
	case uint64(capacity) < uint64(n):
		return fmt.Errorf("%w: it has %d bytes of %d", host.ErrBuffer, uint64(capacity), n)
	}
	out := unsafe.Slice((*byte)(dst), n)
	copy(out, b)
	if text {
		out[n-1] = 0
	}
	return nil
}

// strided is a matrix in the caller's memory with any strides.
type strided struct {
	data                 unsafe.Pointer
	rows, cols           int
	rowStride, colStride int
}

func (s strided) Dims() (r, c int)    { return s.rows, s.cols }
func (s strided) T() mat.Matrix       { return mat.Transpose{Matrix: s} }
func (s strided) At(i, j int) float64 { return *s.at(i, j) }

func (s strided) at(i, j int) *float64 {
	return (*float64)(unsafe.Add(s.data, 8*(i*s.rowStride+j*s.colStride)))
}

// matrix is m without a copy: a *mat.Dense where its rows are contiguous.
func matrix(m *C.iokl_matrix, name string) (mat.Matrix, error) {
	if m == nil {
		return nil, host.Input("%s is NULL", name)
	}
	rows, cols := int(m.rows), int(m.cols)
	switch {
	case rows < 0 || cols < 0:
		return nil, host.Input("%s is %d×%d", name, rows, cols)
	case rows == 0 || cols == 0:
		return strided{rows: rows, cols: cols}, nil
	case m.data == nil:
		return nil, host.Input("the data of %s are NULL", name)
	case uintptr(unsafe.Pointer(m.data))%8 != 0:
		return nil, host.Input("the data of %s are not aligned to 8 bytes", name)
	}
	s := strided{unsafe.Pointer(m.data), rows, cols, int(m.row_stride), int(m.col_stride)}
	if rows == 1 {
		s.rowStride = cols
	}
	reach := float64(rows)*math.Abs(float64(s.rowStride)) + float64(cols)*math.Abs(float64(s.colStride))
	if max(reach, float64(rows)*float64(cols)) > 1<<59 {
		return nil, host.Input("%s is %d×%d with strides %d and %d", name, rows, cols, s.rowStride, s.colStride)
	}
	if (s.colStride == 1 || cols == 1) && s.rowStride >= cols {
		return blas.Dense(blas.General{
			Rows: rows, Cols: cols, Stride: s.rowStride,
			Data: unsafe.Slice((*float64)(s.data), (rows-1)*s.rowStride+cols),
		}), nil
	}
	return s, nil
}

func matrices(ms *C.iokl_matrix, m C.int64_t, name string) ([]mat.Matrix, error) {
	if ms == nil || m < 1 || m > math.MaxInt32 {
		return nil, host.Input("%d matrices %s", m, name)
	}
	list := make([]mat.Matrix, m)
	for j := range list {
		var err error
		if list[j], err = matrix(&unsafe.Slice(ms, m)[j], fmt.Sprintf("%s[%d]", name, j)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fill has f write a rows×cols result, to the caller's memory itself where its rows are contiguous.
func fill(m *C.iokl_matrix, name string, rows, cols int, f func(dst *mat.Dense) error) error {
	dst, err := matrix(m, name)
	if err != nil {
		return err
	}
	if r, c := dst.Dims(); r != rows || c != cols {
		return host.Input("%s is %d×%d, not %d×%d", name, r, c, rows, cols)
	}
	switch d := dst.(type) {
	case *mat.Dense:
		return f(d)
	case strided:
		if rows == 0 || cols == 0 {
			return host.Input("%s is %d×%d", name, rows, cols)
		}
		tmp := mat.NewDense(rows, cols, nil)
		if err := f(tmp); err != nil {
			return err
		}
		for i := range rows {
			for j := range cols {
				*d.at(i, j) = tmp.At(i, j)
			}
		}
	}
	return nil
}

// text is a C string; NULL is "".
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

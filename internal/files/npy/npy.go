// Package npy reads and writes numpy's array files: .npy, one array, and .npz, a zip archive of them. Every real number
// type is read as float64; arrays are written as little-endian float64 in C order.
//
// Memory is allocated as bytes arrive, not by the lengths that a header claims, and within the limit of package memory.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iokl/iokl/internal/base/memory"
)

// ErrFormat says that the bytes are no array of a kind read here, or are cut short.
var ErrFormat = errors.New("not a readable .npy array")

const magic = "\x93NUMPY"

// maxDims is numpy's.
const maxDims = 64

// Array is an n-dimensional array in C (row-major) order.
type Array struct {
	Shape []int
	Data  []float64
}

// Header describes an array as it lies in a file.
type Header struct {
	Kind    byte // 'f' float, 'i' signed, 'u' unsigned, 'b' boolean
	Size    int  // bytes in an element
	Big     bool // most significant byte first
	Fortran bool // first index fastest
	Shape   []int
	Bytes   int // length of the header itself: the elements start there
}

// Len is the number of elements.
func (h Header) Len() int {
	n := 1
	for _, s := range h.Shape {
		n *= s
	}
	return n
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// ReadHeader reads up to the first element.
func ReadHeader(r io.Reader) (Header, error) {
	var h Header
	var pre [12]byte
	if _, err := io.ReadFull(r, pre[:10]); err != nil {
		return h, bad("shorter than a header")
	}
	if string(pre[:6]) != magic {
		return h, bad("the first bytes are not those of a .npy file")
	}
	n, fixed := int(binary.LittleEndian.Uint16(pre[8:])), 10
	if pre[6] > 1 {
		if _, err := io.ReadFull(r, pre[10:12]); err != nil {
			return h, bad("shorter than a header")
		}
		n, fixed = int(binary.LittleEndian.Uint32(pre[8:])), 12
	}
	if pre[6] == 0 || pre[6] > 3 || n > 1<<20 {
		return h, bad("format version %d.%d with a header of %d bytes", pre[6], pre[7], n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, bad("the header is cut short")
	}
	h.Bytes = fixed + n
	return h, h.parse(string(text))
}

// parse reads the Python dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
func (h *Header) parse(text string) error {
	descr, ok := value(text, "descr", ",")
	if !ok || !h.parseDescr(strings.Trim(descr, `'"`)) {
		return bad("element type %s is not a real number type", descr)
	}
	order, ok := value(text, "fortran_order", ",")
	if !ok || order != "True" && order != "False" {
		return bad("no fortran_order in the header")
	}
	h.Fortran = order == "True"
	shape, ok := value(text, "shape", ")")
	if !ok || !strings.HasPrefix(shape, "(") {
		return bad("no shape in the header")
	}
	n := 1
	for s := range strings.SplitSeq(shape[1:], ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if len(h.Shape) == maxDims {
			return bad("an array of more than %d dimensions", maxDims)
		}
		d, err := strconv.Atoi(strings.TrimSuffix(s, "L"))
		if err != nil || d < 0 || d > 0 && n > math.MaxInt/16/d {
			return bad("shape %s)", shape)
		}
		h.Shape = append(h.Shape, d)
		n *= d
	}
	return nil
}

// value returns what stands between a key of the dictionary and the end mark.
func value(text, key, end string) (string, bool) {
	for _, quote := range []string{"'", `"`} {
		_, rest, ok := strings.Cut(text, quote+key+quote)
		if !ok {
			continue
		}
		rest, ok = strings.CutPrefix(strings.TrimSpace(rest), ":")
		v, _, cut := strings.Cut(rest, end)
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "}")), ok && cut
	}
	return "", false
}

func (h *Header) parseDescr(d string) bool {
	if len(d) < 3 || !strings.ContainsRune("<>|=", rune(d[0])) {
		return false
	}
	size, err := strconv.Atoi(d[2:])
	if err != nil {
		return false
	}
	h.Kind, h.Size, h.Big = d[1], size, d[0] == '>'
	switch h.Kind {
	case 'f':
		return size == 4 || size == 8
	case 'i', 'u':
		return size == 1 || size == 2 || size == 4 || size == 8
	case 'b':
		return size == 1
	}
	return false
}

// Decode converts len(dst) elements that lie in src as the header says.
func (h Header) Decode(dst []float64, src []byte) {
	var order binary.ByteOrder = binary.LittleEndian
	if h.Big {
		order = binary.BigEndian
	}
	if h.Kind == 'f' && h.Size == 8 && !h.Big {
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		}
		return
	}
	for i := range dst {
		dst[i] = h.element(order, src[i*h.Size:])
	}
}

func (h Header) element(order binary.ByteOrder, b []byte) float64 {
	var u uint64
	switch h.Size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(order.Uint16(b))
	case 4:
		u = uint64(order.Uint32(b))
	default:
		u = order.Uint64(b)
	}
	switch {
	case h.Kind == 'f' && h.Size == 4:
		return float64(math.Float32frombits(uint32(u)))
	case h.Kind == 'f':
		return math.Float64frombits(u)
	case h.Kind == 'i':
		shift := 64 - 8*h.Size
		return float64(int64(u<<shift) >> shift)
	}
	return float64(u)
}

// chunk is how many bytes are read at a time.
const chunk = 1 << 20

// Read reads one array. available is how many bytes r holds where that is known,
// and -1 otherwise: it lets the array be allocated in one piece.
func Read(r io.Reader, available int64) (*Array, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	n := h.Len()
	var data []float64
	if available >= 0 {
		if have := available - int64(h.Bytes); have < int64(n)*int64(h.Size) {
			return nil, bad("cut short: %d bytes of elements where shape %v needs %d", max(have, 0), h.Shape,
				int64(n)*int64(h.Size))
		}
	}
	need := 8 * float64(n)
	if h.Fortran {
		need *= 2
	}
	what := fmt.Sprintf("an array of shape %v", h.Shape)
	if err := memory.Check(what, need, "use a smaller one, or more memory"); err != nil {
		return nil, err
	}
	if available >= 0 {
		data = make([]float64, 0, n)
	}
	buf := make([]byte, min(chunk, n*h.Size))
	for len(data) < n {
		k := min(n-len(data), len(buf)/h.Size)
		if _, err := io.ReadFull(r, buf[:k*h.Size]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = bad("cut short after %d of %d elements", len(data), n)
			}
			return nil, err
		}
		data = append(data, make([]float64, k)...)
		h.Decode(data[len(data)-k:], buf)
	}
	if h.Fortran && n > 0 {
		columns := data
		data = make([]float64, n)
		toRowMajor(data, columns, h.Shape, 1)
	}
	return &Array{Shape: h.Shape, Data: data}, nil
}

// toRowMajor writes to out the elements of f, where the first index varies fastest: those that differ by one in it are
// step apart.
func toRowMajor(out, f []float64, shape []int, step int) {
	if len(shape) < 2 {
		for i := range out {
			out[i] = f[i*step]
		}
		return
	}
	n := len(out) / shape[0]
	for i := range shape[0] {
		toRowMajor(out[i*n:(i+1)*n], f[i*step:], shape[1:], step*shape[0])
	}
}

// WriteHeader writes the header of a C-ordered float64 array of the shape, padded
// so that the elements start at a multiple of 64 bytes.
func WriteHeader(w io.Writer, shape ...int) error {
	var b bytes.Buffer
	b.WriteString("{'descr': '<f8', 'fortran_order': False, 'shape': (")
	for _, s := range shape {
		fmt.Fprintf(&b, "%d, ", s)
	}
	b.WriteString("), }")
	pad := 63 - (10+b.Len())%64
	b.WriteString(strings.Repeat(" ", pad) + "\n")
	pre := append([]byte(magic), 1, 0, 0, 0)
	binary.LittleEndian.PutUint16(pre[8:], uint16(b.Len()))
	if _, err := w.Write(pre); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteElements writes float64 elements without a header.
func WriteElements(w io.Writer, data []float64) error {
	var buf []byte
	for part := range slices.Chunk(data, chunk/8) {
		buf, _ = binary.Append(buf[:0], binary.LittleEndian, part) // numbers of a fixed size are no error
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// Write writes one array.
func Write(w io.Writer, a Array) error {
	if (Header{Shape: a.Shape}).Len() != len(a.Data) {
		panic("npy: Write: shape and data disagree")
	}
	if err := WriteHeader(w, a.Shape...); err != nil {
		return err
	}
	return WriteElements(w, a.Data)
}

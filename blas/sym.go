// Symmetric matrices as block rows of their lower triangle, in double or single precision.

package blas

import (
	"fmt"
	"math"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/base/par"
)

// Precision is how the elements of a symmetric matrix are stored.
type Precision int

const (
	Float64 Precision = iota
	Float32
)

func (p Precision) String() string {
	if p == Float32 {
		return "float32"
	}
	return "float64"
}

// MarshalText writes float64 or float32.
func (p Precision) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (p *Precision) UnmarshalText(text []byte) error {
	for _, known := range []Precision{Float64, Float32} {
		if string(text) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("blas: precision %q is neither float64 nor float32", text)
}

// Bytes is the size of one element.
func (p Precision) Bytes() int64 { return 8 >> p }

// SymBlock is the number of rows in a block row of [Sym].
const SymBlock = 64

// Sym is a symmetric matrix of order N that stores its lower triangle only, in
// block rows of SymBlock rows. Block row b covers rows b·SymBlock up to
// min(N, (b+1)·SymBlock) and is one dense row-major panel whose Stride is the
// number of columns it holds, (b+1)·SymBlock cut at N. The square block on the
// diagonal is complete: both its triangles are stored.
//
// It takes a little over half the memory of a dense matrix, and its panels can
// be written and read by matrix-multiply kernels as they are.
type Sym struct {
	N    int
	Prec Precision
	F64  []float64 // the panels one after the other, when Prec is Float64
	F32  []float32 // the same, when Prec is Float32
}

// NewSym returns the zero matrix of order n.
func NewSym(n int, prec Precision) *Sym {
	s := &Sym{N: n, Prec: prec}
	if prec == Float32 {
		s.F32 = make([]float32, symLen(n))
		memory.PreferHuge(s.F32)
	} else {
		s.F64 = make([]float64, symLen(n))
		memory.PreferHuge(s.F64)
	}
	return s
}

// SymBytes is the memory that NewSym(n, prec) takes, in bytes; it saturates at
// the largest int64 where the product overflows.
func SymBytes(n int, prec Precision) int64 {
	if n > math.MaxInt32 {
		return math.MaxInt64
	}
	return int64(symLen(n)) * prec.Bytes()
}

func symLen(n int) int {
	full := n / SymBlock
	rest := n % SymBlock
	return SymBlock*SymBlock*full*(full+1)/2 + rest*n
}

// Panels is the number of block rows.
func (s *Sym) Panels() int { return (s.N + SymBlock - 1) / SymBlock }

// Panel locates block row b: its first row, its number of rows and of columns
// (the stride), and the offset of its first element in F64 or F32.
func (s *Sym) Panel(b int) (row, rows, cols, off int) {
	row = b * SymBlock
	cols = min(row+SymBlock, s.N)
	return row, cols - row, cols, SymBlock * SymBlock * b * (b + 1) / 2
}

// At returns element (i,j).
func (s *Sym) At(i, j int) float64 {
	if j > i {
		i, j = j, i
	}
	row, _, cols, off := s.Panel(i / SymBlock)
	k := off + (i-row)*cols + j
	if s.Prec == Float32 {
		return float64(s.F32[k])
	}
	return s.F64[k]
}

// SetPanel stores the float64 values src (row-major, stride lds) into rows
// [i0,i0+rows) and columns [j0,j0+cols) of block row b. The caller covers the
// diagonal block completely.
func (s *Sym) SetPanel(b, i0, j0, rows, cols int, src []float64, lds int) {
	row, _, ld, off := s.Panel(b)
	for i := range rows {
		k := off + (i0-row+i)*ld + j0
		line := src[i*lds : i*lds+cols]
		if s.Prec == Float32 {
			out := s.F32[k : k+cols]
			for j, v := range line {
				out[j] = float32(v)
			}
		} else {
			copy(s.F64[k:k+cols], line)
		}
	}
}

// SymFrom stores the lower triangle of the dense n×n a.
func SymFrom(a General, prec Precision) *Sym {
	if a.Rows != a.Cols {
		panic("blas: SymFrom of a matrix that is not square")
	}
	s := NewSym(a.Rows, prec)
	par.For(s.Panels(), func(b int) {
		row, rows, cols, _ := s.Panel(b)
		s.SetPanel(b, row, 0, rows, cols, a.Data[row*a.Stride:], a.Stride)
		// The diagonal block takes its upper half from its lower one.
		for i := row; i < row+rows; i++ {
			for j := i + 1; j < row+rows; j++ {
				s.setLocal(i, j, a.Data[j*a.Stride+i])
			}
		}
	})
	return s
}

// setLocal writes element (i,j), j inside the columns that row i stores.
func (s *Sym) setLocal(i, j int, v float64) {
	row, _, cols, off := s.Panel(i / SymBlock)
	k := off + (i-row)*cols + j
	if s.Prec == Float32 {
		s.F32[k] = float32(v)
	} else {
		s.F64[k] = v
	}
}

// Dense writes the full matrix to the n×n dst.
func (s *Sym) Dense(dst General) {
	if dst.Rows != s.N || dst.Cols != s.N {
		panic("blas: Sym.Dense: shape mismatch")
	}
	par.For(s.Panels(), func(b int) {
		row, rows, cols, off := s.Panel(b)
		for i := range rows {
			line := dst.Data[(row+i)*dst.Stride:]
			for j := range cols {
				var v float64
				if s.Prec == Float32 {
					v = float64(s.F32[off+i*cols+j])
				} else {
					v = s.F64[off+i*cols+j]
				}
				line[j] = v
				dst.Data[j*dst.Stride+row+i] = v
			}
		}
	})
}

// Add computes s += w·t for t of the order and the precision of s, which it may be.
func (s *Sym) Add(w float64, t *Sym) {
	if t.N != s.N || t.Prec != s.Prec {
		panic("blas: Sym.Add: matrices of different order or precision")
	}
	par.Ranges(max(len(s.F64), len(s.F32)), addAtOnce, func(lo, hi int) {
		if s.Prec == Float32 {
			for i, v := range t.F32[lo:hi] {
				s.F32[lo+i] = float32(float64(s.F32[lo+i]) + w*float64(v))
			}
			return
		}
		Axpy(w, t.F64[lo:hi], s.F64[lo:hi])
	})
}

// addAtOnce is the number of elements of one iteration of Add's loop.
const addAtOnce = 1 << 16

// Diag writes the diagonal to dst, of length N.
func (s *Sym) Diag(dst []float64) {
	for i := range dst[:s.N] {
		dst[i] = s.At(i, i)
	}
}

// Bytes is the memory the elements take.
func (s *Sym) Bytes() int64 { return SymBytes(s.N, s.Prec) }

func (s *Sym) String() string { return fmt.Sprintf("Sym(%d, %v)", s.N, s.Prec) }

// Packed is a symmetric matrix of order n in the layout that a backend multiplies by fastest. Mul may be called from
// several goroutines at once. No other method may run beside Set or Complete.
type Packed interface {
	Order() int
	Precision() Precision
	Bytes() int64
	// Set makes line the elements (i,j), (i,j+1), … of the lower triangle, j+len(line) ≤ i+1. Several goroutines
	// may set different elements. Complete must follow, when all elements are set.
	Set(i, j int, line []float64)
	Complete()
	// Mul computes dst = A·x for n×k blocks, any k ≥ 1. dst is not read and does not overlap x.
	Mul(dst, x General)
	// Row writes the first len(dst) elements of row i; At is one element.
	Row(i int, dst []float64)
	At(i, j int) float64
}

// Unpack writes the n×n matrix of p to dst.
func Unpack(dst General, p Packed) {
	for i := range p.Order() {
		p.Row(i, Row(dst, i))
	}
}

// PackSum makes p the matrix Σ_j w_j·terms_j, in parallel over block rows. It panics unless all terms have the order of
// p and there is one weight for each; terms of weight 0 are not read.
func PackSum(p Packed, w []float64, terms []*Sym) {
	if len(w) != len(terms) {
		panic("blas: PackSum: one weight for each term")
	}
	n := p.Order()
	shape := &Sym{N: n}
	for _, t := range terms {
		if t.N != n {
			panic("blas: PackSum: terms of different order")
		}
	}
	par.For(shape.Panels(), func(b int) {
		row, rows, cols, off := shape.Panel(b)
		line := make([]float64, cols)
		for i := range rows {
			clear(line)
			for t, s := range terms {
				if w[t] != 0 {
					s.addRow(line, w[t], off+i*cols)
				}
			}
			p.Set(row+i, 0, line[:row+i+1])
		}
	})
	p.Complete()
}

// addRow computes line += w·(the len(line) elements stored from offset off).
func (s *Sym) addRow(line []float64, w float64, off int) {
	if s.Prec == Float64 {
		Axpy(w, s.F64[off:off+len(line)], line)
		return
	}
	for j, v := range s.F32[off : off+len(line)] {
		line[j] += w * float64(v)
	}
}

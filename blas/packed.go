// Packed operators of backends without a layout of their own.

package blas

import (
	"math"
	"sync"
)

// densePacked serves backends without a packed layout of their own.
type densePacked struct {
	be   Backend
	n    int
	prec Precision
	f64  []float64
	f32  []float32

	singles sync.Pool // *single, so that a product of a width met before allocates nothing
	turned  sync.Pool // *[]float64, the same for products in double precision
}

// NewDensePacked returns the operator of the whole matrix of order n, multiplied
// by the gemm of be, or its symv for one column. It starts as the zero matrix.
func NewDensePacked(be Backend, n int, prec Precision) Packed {
	p := &densePacked{be: be, n: n, prec: prec}
	if prec == Float32 {
		p.f32 = make([]float32, n*n)
	} else {
		p.f64 = make([]float64, n*n)
	}
	return p
}

// denseBytes is the memory of the operator of NewDensePacked.
func denseBytes(n int, prec Precision) float64 {
	return float64(n) * float64(n) * float64(prec.Bytes())
}

func (p *densePacked) Order() int           { return p.n }
func (p *densePacked) Precision() Precision { return p.prec }
func (p *densePacked) Bytes() int64         { return int64(denseBytes(p.n, p.prec)) }

func (p *densePacked) Set(i, j int, line []float64) {
	for k, v := range line {
		p.set(i*p.n+j+k, v)
		p.set((j+k)*p.n+i, v)
	}
}

func (p *densePacked) Complete() {}

func (p *densePacked) set(k int, v float64) {
	if p.prec == Float32 {
		p.f32[k] = float32(v)
	} else {
		p.f64[k] = v
	}
}

func (p *densePacked) Mul(dst, x General) {
	n := p.n
	if x.Rows != n || dst.Rows != n || x.Cols != dst.Cols {
		panic("blas: Packed.Mul: shape mismatch")
	}
	switch {
	case n == 0:
	case p.prec == Float32:
		p.mul32(dst, x)
	case x.Cols == 1:
		p.be.Dsymv(Lower, n, 1, p.f64, n, x.Data, x.Stride, 0, dst.Data, dst.Stride)
	default:
		p.mul64(dst, x)
	}
}

// mul64 computes dstᵀ = xᵀ·a with the two blocks transposed beforehand and
// afterwards. Libraries copy a large matrix faster as the right-hand factor of a
// product than as the left-hand one of few columns: with OpenBLAS a product of
// order 3060 takes two thirds of the time, for 2 to 100 columns.
func (p *densePacked) mul64(dst, x General) {
	n, k := p.n, x.Cols
	work, ok := p.turned.Get().(*[]float64)
	if !ok || cap(*work) < 2*n*k {
		s := make([]float64, 2*n*k)
		work = &s
	}
	xt, yt := (*work)[:n*k], (*work)[n*k:2*n*k]
	transpose(xt, n, x.Data, x.Stride, n, k)
	p.be.Dgemm(NoTrans, NoTrans, k, n, n, 1, xt, n, p.f64, n, 0, yt, n)
	transpose(dst.Data, dst.Stride, yt, n, k, n)
	p.turned.Put(work)
}

// transposeTile is the side of the squares that transpose works in.
const transposeTile = 32

// transpose writes the transpose of the m×n src to dst, both row-major.
func transpose(dst []float64, ldd int, src []float64, lds, m, n int) {
	for i0 := 0; i0 < m; i0 += transposeTile {
		i1 := min(i0+transposeTile, m)
		for j0 := 0; j0 < n; j0 += transposeTile {
			for i := i0; i < i1; i++ {
				for j, v := range src[i*lds+j0 : i*lds+min(j0+transposeTile, n)] {
					dst[(j0+j)*ldd+i] = v
				}
			}
		}
	}
}

// single is the memory of one product in single precision.
type single struct {
	scale []float64
	x, y  []float32
}

// mul32 multiplies in single precision, each column scaled so that it cannot overflow.
func (p *densePacked) mul32(dst, x General) {
	n, k := p.n, x.Cols
	s, ok := p.singles.Get().(*single)
	if !ok || len(s.scale) != k {
		s = &single{make([]float64, k), make([]float32, n*k), make([]float32, n*k)}
	}
	clear(s.scale)
	for i := range n {
		for j, v := range Row(x, i) {
			s.scale[j] = max(s.scale[j], math.Abs(v))
		}
	}
	for j, v := range s.scale {
		if !(v > 0) || math.IsInf(v, 0) {
			s.scale[j] = 1
		}
	}
	for i := range n {
		for j, v := range Row(x, i) {
			s.x[i*k+j] = float32(v / s.scale[j])
		}
	}
	p.be.Sgemm(NoTrans, NoTrans, n, k, n, 1, p.f32, n, s.x, k, 0, s.y, k)
	for i := range n {
		out := Row(dst, i)
		for j := range out {
			out[j] = s.scale[j] * float64(s.y[i*k+j])
		}
	}
	p.singles.Put(s)
}

func (p *densePacked) Row(i int, dst []float64) {
	for j := range dst {
		dst[j] = p.At(i, j)
	}
}

func (p *densePacked) At(i, j int) float64 {
	if p.prec == Float32 {
		return float64(p.f32[i*p.n+j])
	}
	return p.f64[i*p.n+j]
}

// Packed operators of the native backend.

package blas

import "github.com/iokl/iokl/blas/native"

// nativePacked keeps the matrix in the panels of the native kernels.
type nativePacked struct {
	n    int
	prec Precision
	a    *native.Symmetric
}

// NewPacked returns an operator that packs the matrix once, when it is set, not
// at every product. In [Float32] it multiplies few columns in double precision
// and many in single.
func (b *Native) NewPacked(n int, prec Precision) Packed {
	return &nativePacked{n: n, prec: prec, a: b.NewSymmetric(n, prec == Float32)}
}

// PackedBytes is the memory of such an operator.
func (b *Native) PackedBytes(n int, prec Precision) float64 {
	return b.SymmetricBytes(n, prec == Float32)
}

func (p *nativePacked) Order() int           { return p.n }
func (p *nativePacked) Precision() Precision { return p.prec }
func (p *nativePacked) Bytes() int64         { return p.a.Bytes() }

func (p *nativePacked) Set(i, j int, line []float64) { p.a.Set(i, j, line) }
func (p *nativePacked) Complete()                    { p.a.Complete() }

func (p *nativePacked) Mul(dst, x General) {
	if x.Rows != p.n || dst.Rows != p.n || x.Cols != dst.Cols {
		panic("blas: Packed.Mul: shape mismatch")
	}
	p.a.Multiply(x.Cols, dst.Data, dst.Stride, x.Data, x.Stride)
}

func (p *nativePacked) Row(i int, dst []float64) { p.a.Row(i, dst) }
func (p *nativePacked) At(i, j int) float64      { return p.a.At(i, j) }

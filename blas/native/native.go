// Package native is this module's own BLAS: packed, blocked and multithreaded kernels in Go and Go assembly, without
// cgo. The type BLAS implements gonum's blas.Float64 and blas.Float32 in full, so that a program can pass it to
// blas64.Use and run gonum's LAPACK on it.
//
// The instruction set is chosen at run time, see [Levels]. The build tag purego leaves the assembly out, and the
// environment variable IOKL_INSTRUCTIONS names a lesser set (generic, avx2). Results have the same bits for any number
// of threads. They differ in rounding between instruction sets.
//
// The bits of element (i,j) of a matrix product depend on row i of the left factor, column j of the right one and the
// element itself alone: not on how many rows and columns share the call, nor on which triangle is computed. The same
// holds for the columns of triangular systems with more than one right-hand side. It does not hold for operations on
// vectors, nor for Symmetric with few columns, which have their own orders of summation.
//
// Block sizes are derived from the sizes of caches and registers. The benchmarks of the package, go test ./blas/native
// -bench ., and mklbench run gemm measure the speed.
package native

import (
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

var (
	_ gblas.Float64 = (*BLAS)(nil)
	_ gblas.Float32 = (*BLAS)(nil)
)

// BLAS computes with the kernels of one level. What it does not define itself it
// has from gonum: the banded and packed-triangle routines, and in single precision
// all but the product of matrices. All methods may be called from several goroutines
// at once, on as many threads together as internal/base/par allows.
type BLAS struct {
	gonum.Implementation
	level Level
	d     *double
	s     *engine[float32]
}

func newBLAS(l Level) *BLAS {
	return &BLAS{level: l, d: &double{newEngine(kernels64(l)), vectors64(l)}, s: newEngine(kernels32(l))}
}

// Level is the instruction set in use.
func (b *BLAS) Level() Level { return b.level }

// Until is b with operations that do nothing once over reports true. They share the scratch memory of b.
func (b *BLAS) Until(over func() bool) *BLAS {
	return &BLAS{level: b.level, d: &double{b.d.until(over), b.d.vectors}, s: b.s.until(over)}
}

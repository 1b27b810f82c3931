//go:build openblas

// The backend on OpenBLAS, in builds with the tag openblas.

package blas

import (
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/blas/openblas"
	"github.com/iokl/iokl/internal/base/par"
)

// OpenBLAS is the backend of OpenBLAS and its LAPACK through cgo. Its results
// depend, in the last bits, on the number of threads.
type OpenBLAS struct{ openblas.Implementation }

func (OpenBLAS) Name() string { return "openblas" }

func (OpenBLAS) Info() Info {
	return Info{Backend: "openblas", Version: openblas.Version(), Kernel: openblas.CoreName(), Threads: par.Threads()}
}

// NewPacked returns the operator of this module's own vector kernels, which pack
// the matrix once where the library's gemm packs it at every product. A machine
// without them has that of [NewDensePacked].
func (b OpenBLAS) NewPacked(n int, prec Precision) Packed {
	if own := b.packs(); own != Backend(b) {
		return own.NewPacked(n, prec)
	}
	return NewDensePacked(b, n, prec)
}

// PackedBytes is the memory of such an operator.
func (b OpenBLAS) PackedBytes(n int, prec Precision) float64 {
	if own := b.packs(); own != Backend(b) {
		return own.PackedBytes(n, prec)
	}
	return denseBytes(n, prec)
}

// packs is the backend that makes b's packed operators.
func (b OpenBLAS) packs() Backend {
	if own, ok := defaultBackend.(*Native); ok && own.Level() != native.Generic {
		return own
	}
	return b
}

func init() { optional = append(optional, OpenBLAS{}) }

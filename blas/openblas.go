//go:build openblas

package blas

import (
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/blas/openblas"
	"github.com/iokl/iokl/internal/par"
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
	if own, ok := defaultBackend.(*Native); ok && own.Level() != native.Generic {
		return own.NewPacked(n, prec)
	}
	return NewDensePacked(b, n, prec)
}

func init() { optional = append(optional, OpenBLAS{}) }

package blas

import (
	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/internal/par"
)

// Native is this module's own backend: the kernels of package native, in Go
// and assembly, without cgo.
type Native struct {
	*native.BLAS
	goLAPACK
}

// NewNative returns the native backend on the fastest instruction set of the machine.
func NewNative() *Native { return &Native{BLAS: native.New()} }

// NewNativeLevel returns the native backend on the given instruction set.
func NewNativeLevel(l native.Level) (*Native, error) {
	b, err := native.NewLevel(l)
	if err != nil {
		return nil, err
	}
	return &Native{BLAS: b}, nil
}

func (*Native) Name() string { return "native" }

func (b *Native) Info() Info {
	return Info{Backend: "native", Version: moduleVersion("github.com/iokl/iokl"), Kernel: b.Level().String(), Threads: par.Threads()}
}

func (b *Native) NewPacked(n int, prec Precision) Packed { return newDensePacked(b, n, prec) }

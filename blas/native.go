package blas

import (
	"context"

	"github.com/iokl/iokl/blas/native"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/dense/lapack"
)

// Native is this module's own backend: the kernels of package native, in Go
// and assembly, without cgo, and the factorizations of package lapack on them.
type Native struct {
	*native.BLAS
	lapack.Implementation
}

// NewNative returns the native backend on the fastest instruction set of the machine.
func NewNative() *Native { return newNative(native.New()) }

func newNative(b *native.BLAS) *Native { return &Native{b, lapack.New(b, b)} }

// NewNativeLevel returns the native backend on the given instruction set.
func NewNativeLevel(l native.Level) (*Native, error) {
	b, err := native.NewLevel(l)
	if err != nil {
		return nil, err
	}
	return newNative(b), nil
}

// Until returns be with operations that do nothing once ctx has ended, if be is the native backend, so that
// factorizations end early. What they have written is then undefined, and they may return an error; the caller checks
// ctx first. Other backends are returned as they are.
func Until(ctx context.Context, be Backend) Backend {
	if b, ok := be.(*Native); ok && ctx.Done() != nil {
		return newNative(b.BLAS.Until(func() bool { return ctx.Err() != nil }))
	}
	return be
}

func (*Native) Name() string { return "native" }

func (b *Native) Info() Info {
	return Info{
		Backend: "native", Version: moduleVersion("github.com/iokl/iokl"), Kernel: b.Level().String(),
		Threads: par.Threads(),
	}
}

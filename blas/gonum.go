package blas

import (
	"runtime/debug"

	"gonum.org/v1/gonum/blas/gonum"
)

// Gonum is the reference backend: gonum's own BLAS and LAPACK.
type Gonum struct {
	gonum.Implementation
	goLAPACK
}

// NewGonum returns the gonum backend.
func NewGonum() *Gonum {
	g := &Gonum{}
	g.goLAPACK = goLAPACK{}
	return g
}

func (*Gonum) Name() string { return "gonum" }

func (*Gonum) Info() Info {
	return Info{Backend: "gonum", Version: moduleVersion("gonum.org/v1/gonum"), Kernel: "gonum", Threads: gonumThreads()}
}

func (g *Gonum) NewPacked(n int, prec Precision) Packed { return newDensePacked(g, n, prec) }

// moduleVersion is the version of a dependency in this build.
func moduleVersion(path string) string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, m := range bi.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "unknown"
}

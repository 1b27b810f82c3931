package blas

import (
	"runtime"
	"runtime/debug"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Gonum is the reference backend: gonum's own BLAS and LAPACK.
type Gonum struct {
	gonum.Implementation
	goLAPACK
}

// NewGonum returns the gonum backend.
func NewGonum() *Gonum { return new(Gonum) }

// Dsyrk is gonum's, which with beta = 0 scales what c holds by 0: NaN stays NaN.
func (g *Gonum) Dsyrk(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	if beta == 0 {
		clearTriangle(ul, n, c, ldc)
		beta = 1
	}
	g.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
}

// Dsyr2k is gonum's, which with beta = 0 scales what c holds by 0: NaN stays NaN.
func (g *Gonum) Dsyr2k(
	ul gblas.Uplo, t gblas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	if beta == 0 {
		clearTriangle(ul, n, c, ldc)
		beta = 1
	}
	g.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// clearTriangle zeroes one triangle of the n×n c, or nothing when it does not fit.
func clearTriangle(ul gblas.Uplo, n int, c []float64, ldc int) {
	if n < 0 || ldc < n || len(c) < (n-1)*ldc+n {
		return // the call that follows panics
	}
	for i := range n {
		if ul == Lower {
			clear(c[i*ldc : i*ldc+i+1])
		} else {
			clear(c[i*ldc+i : i*ldc+n])
		}
	}
}

func (*Gonum) Name() string { return "gonum" }

func (*Gonum) Info() Info {
	// its Dgemm uses every processor and has no setting
	return Info{
		Backend: "gonum", Version: moduleVersion("gonum.org/v1/gonum"), Kernel: "gonum", Threads: runtime.GOMAXPROCS(0),
	}
}

func (g *Gonum) NewPacked(n int, prec Precision) Packed { return NewDensePacked(g, n, prec) }

// PackedBytes is the memory of such an operator.
func (*Gonum) PackedBytes(n int, prec Precision) float64 { return denseBytes(n, prec) }

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

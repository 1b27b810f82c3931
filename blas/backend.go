// The interface of backends, the backends of this build, and the active one.

package blas

import (
	"fmt"
	"sync/atomic"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// General is a row-major Rows×Cols matrix of float64; element (i,j) is Data[i*Stride+j].
type General = blas64.General

// Shorthands for gonum's transpose and triangle flags, so that callers need one import.
const (
	NoTrans = gblas.NoTrans
	Trans   = gblas.Trans
	Lower   = gblas.Lower
	Upper   = gblas.Upper
	Left    = gblas.Left
	Right   = gblas.Right
	NonUnit = gblas.NonUnit
	Unit    = gblas.Unit
)

// Backend is one implementation of the dense kernels. Shapes follow BLAS and
// LAPACK in row-major storage; methods panic on shapes the caller could have
// checked, as gonum's do. With beta = 0 the destination is not read. All
// methods may be called from several goroutines at once.
type Backend interface {
	// Name is the value of the commands' --backend flag: "native", "openblas" or "gonum".
	Name() string
	// Info describes the implementation for reports.
	Info() Info

	// Level 3: float64 and float32 products, symmetric products and triangular solves.
	gblas.Float64Level3
	Sgemm(tA, tB gblas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
		c []float32, ldc int)
	// Level 2.
	Dgemv(tA gblas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64,
		y []float64, incY int)
	Dsymv(ul gblas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
		incY int)

	// LAPACK: the factorizations that the solvers need, on row-major matrices.

	// Potrf overwrites the lower triangle of the symmetric a, of which only that
	// triangle is read, by the Cholesky factor L of a = L·Lᵀ. It reports false
	// when a is not positive definite.
	Potrf(a General) bool
	// Potri overwrites the factor of Potrf in the lower triangle of a by that triangle
	// of the inverse of the matrix that was factorized.
	Potri(a General)
	// Syevd overwrites the symmetric a, of which the lower triangle is read, by
	// orthonormal eigenvectors, one per column, and w by the eigenvalues in
	// ascending order.
	Syevd(a General, w []float64) error
	// Syevals is Syevd without the vectors; a is destroyed.
	Syevals(a General, w []float64) error
	// Sytrd reduces the symmetric a (lower triangle read) to the tridiagonal
	// T = QᵀaQ with diagonal d (n) and off-diagonal e (n-1); a and tau (n-1) then
	// hold Q for Ormtr. Their layout is the backend's own.
	Sytrd(a General, d, e, tau []float64)
	// Ormtr overwrites c (n×k) by Q·c, or Qᵀ·c when trans, with Q from Sytrd.
	Ormtr(trans bool, a General, tau []float64, c General)
	// QR overwrites the m×n a, m ≥ n, by the n orthonormal columns of its thin QR
	// factorization and, when r.Data is not nil, the n×n r by the upper triangular factor.
	QR(a, r General)
	// SVD computes the thin singular value decomposition a = u·diag(s)·vt with
	// k = min(m,n): u is m×k, s has length k and descends, vt is k×n; a is destroyed.
	SVD(a General, s []float64, u, vt General) error
	// Schur overwrites the square a by the real quasi-triangular T of a = q·T·qᵀ
	// (2×2 blocks standardised as LAPACK's) and q by the orthogonal factor.
	Schur(a, q General) error

	// NewPacked returns an operator for symmetric matrices of order n that keeps
	// the matrix in the layout its multiply reads fastest, stored in the given
	// precision. It starts as the zero matrix.
	NewPacked(n int, prec Precision) Packed
	// PackedBytes is the memory of the elements of such an operator.
	PackedBytes(n int, prec Precision) float64
}

// Info describes a backend for reports.
type Info struct {
	Backend string `json:"backend"`
	Version string `json:"version"` // library version
	Kernel  string `json:"kernel"`  // instruction set or core name in use
	Threads int    `json:"threads"`
}

var active atomic.Pointer[Backend]

// Use makes b the backend of every solver that is not given one. Programs call
// it once at start; libraries do not.
func Use(b Backend) { active.Store(&b) }

// Active returns the backend set by Use, or the default one.
func Active() Backend {
	if b := active.Load(); b != nil {
		return *b
	}
	return Default()
}

// Or returns b, or the active backend when b is nil.
func Or(b Backend) Backend {
	if b != nil {
		return b
	}
	return Active()
}

// Beside returns the backend to compute with between products by packed operators of be: the one whose kernels these
// operators use. Threads of two libraries would otherwise compete for the same processors.
func Beside(be Backend) Backend {
	if p, ok := be.(interface{ packs() Backend }); ok {
		return p.packs()
	}
	return be
}

// ByName returns the backend of that name: native, openblas or gonum.
func ByName(name string) (Backend, error) {
	for _, b := range Backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	if name == "openblas" {
		return nil, fmt.Errorf("blas: backend %q is not in this build: rebuild with -tags openblas", name)
	}
	return nil, fmt.Errorf("blas: unknown backend %q (have native, openblas, gonum)", name)
}

// Default is the backend of a program that has not called [Use].
func Default() Backend { return defaultBackend }

var defaultBackend Backend = NewNative()

// Backends lists the backends in this build, the default first.
func Backends() []Backend { return append([]Backend{defaultBackend}, optional...) }

// optional holds the other backends; build tags add to it.
var optional = []Backend{NewGonum()}

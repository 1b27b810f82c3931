package blastest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/blas"
)

// increments are tried for x and y.
var increments = [][2]int{{1, 1}, {2, 3}, {-1, 2}, {3, -2}}

// strided is a vector of n elements inc apart in a matrix of one row per element,
// so that what lies between them can be checked.
func strided(rng *rand.Rand, n, inc int, beta float64) blas.General {
	if inc < 0 {
		inc = -inc
	}
	v := destination(rng, n, 1, beta, nil)
	out := blas.General{Rows: n, Cols: 1, Stride: inc, Data: make([]float64, max((n-1)*inc+1, 1))}
	for i := range out.Data {
		out.Data[i] = v.Data[1] // NaN, as everything that is not an element
	}
	for i := range n {
		out.Data[i*inc] = v.Data[i*v.Stride]
	}
	return out
}

func gemv(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, s := range append(sizes, [3]int{700, 600, 0}) {
		for _, tr := range transposes {
			for _, inc := range increments {
				m, n := s[0], s[1]
				for _, ab := range scalars(m * n) {
					lenX, lenY := n, m
					if tr != gblas.NoTrans {
						lenX, lenY = m, n
					}
					a := matrix(rng, m, n, nil)
					x, y := strided(rng, lenX, inc[0], 1), strided(rng, lenY, inc[1], ab[1])
					if m == 0 || n == 0 {
						continue // gonum leaves y, LAPACK's reference too; others scale it
					}
					want := expected(y, ab[1])
					reference.Dgemv(tr, m, n, ab[0], a.Data, a.Stride, x.Data, inc[0], ab[1], want.Data, inc[1])
					be.Dgemv(tr, m, n, ab[0], a.Data, a.Stride, x.Data, inc[0], ab[1], y.Data, inc[1])
					equal(t, fmt.Sprintf("%d×%d %c increments %v alpha,beta %v", m, n, tr, inc, ab), y, want, nil,
						rounding(lenX, ab[0], ab[1]))
				}
			}
		}
	}
}

func symv(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 66, 130, 700} {
		for _, ul := range triangles {
			for _, inc := range increments {
				for _, ab := range scalars(n * n) {
					a := matrix(rng, n, n, inTriangle(ul))
					x, y := strided(rng, n, inc[0], 1), strided(rng, n, inc[1], ab[1])
					want := expected(y, ab[1])
					reference.Dsymv(ul, n, ab[0], a.Data, a.Stride, x.Data, inc[0], ab[1], want.Data, inc[1])
					be.Dsymv(ul, n, ab[0], a.Data, a.Stride, x.Data, inc[0], ab[1], y.Data, inc[1])
					equal(t, fmt.Sprintf("%d %c increments %v alpha,beta %v", n, ul, inc, ab), y, want, nil,
						rounding(n, ab[0], ab[1]))
				}
			}
		}
	}
}

// shapes checks that wrong shapes panic.
func shapes(t *testing.T, be blas.Backend) {
	v := make([]float64, 9)
	no := gblas.NoTrans
	for name, f := range map[string]func(){
		"gemm: short a":      func() { be.Dgemm(no, no, 3, 3, 3, 1, v[:8], 3, v, 3, 0, v, 3) },
		"gemm: short b":      func() { be.Dgemm(no, no, 3, 3, 3, 1, v, 3, v[:8], 3, 0, v, 3) },
		"gemm: short c":      func() { be.Dgemm(no, no, 3, 3, 3, 1, v, 3, v, 3, 0, v[:8], 3) },
		"gemm: bad stride":   func() { be.Dgemm(no, no, 3, 3, 3, 1, v, 2, v, 3, 0, v, 3) },
		"gemm: negative":     func() { be.Dgemm(no, no, -1, 3, 3, 1, v, 3, v, 3, 0, v, 3) },
		"symm: short a":      func() { be.Dsymm(gblas.Left, gblas.Lower, 3, 3, 1, v[:8], 3, v, 3, 0, v, 3) },
		"syrk: short c":      func() { be.Dsyrk(gblas.Lower, no, 3, 3, 1, v, 3, 0, v[:8], 3) },
		"syr2k: short b":     func() { be.Dsyr2k(gblas.Lower, no, 3, 3, 1, v, 3, v[:8], 3, 0, v, 3) },
		"trsm: short a":      func() { be.Dtrsm(gblas.Left, gblas.Lower, no, gblas.Unit, 3, 3, 1, v[:8], 3, v, 3) },
		"trmm: short b":      func() { be.Dtrmm(gblas.Left, gblas.Lower, no, gblas.Unit, 3, 3, 1, v, 3, v[:8], 3) },
		"gemv: short x":      func() { be.Dgemv(no, 3, 3, 1, v, 3, v[:2], 1, 0, v, 1) },
		"gemv: no increment": func() { be.Dgemv(no, 3, 3, 1, v, 3, v, 0, 0, v, 1) },
		"symv: short y":      func() { be.Dsymv(gblas.Lower, 3, 1, v, 3, v, 1, 0, v[:2], 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

var triangles = []gblas.Uplo{gblas.Lower, gblas.Upper}

func symm(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, s := range sizes {
		for _, side := range []gblas.Side{gblas.Left, gblas.Right} {
			for _, ul := range triangles {
				m, n := s[0], s[1]
				for _, ab := range scalars(m * n * max(m, n)) {
					order := m
					if side == gblas.Right {
						order = n
					}
					a, b := matrix(rng, order, order, inTriangle(ul)), matrix(rng, m, n, nil)
					c := destination(rng, m, n, ab[1], nil)
					want := expected(c, ab[1])
					reference.Dsymm(side, ul, m, n, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], want.Data,
						want.Stride)
					be.Dsymm(side, ul, m, n, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], c.Data, c.Stride)
					equal(t, fmt.Sprintf("%d×%d %c%c alpha,beta %v", m, n, side, ul, ab), c, want, nil,
						rounding(order, ab[0], ab[1]))
				}
			}
		}
	}
}

func syrk(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, s := range sizes {
		for _, tr := range transposes {
			for _, ul := range triangles {
				n, k := s[0], s[2]
				for _, ab := range scalars(n * n * k) {
					keep := inTriangle(ul)
					a, b := operand(rng, tr, n, k), operand(rng, tr, n, k)
					b.Data = append(b.Data, make([]float64, len(a.Data))...)
					what := fmt.Sprintf("%d, %d %c%c alpha,beta %v", n, k, tr, ul, ab)

					c := destination(rng, n, n, ab[1], keep)
					want := expected(c, ab[1])
					reference.Dsyrk(ul, tr, n, k, ab[0], a.Data, a.Stride, ab[1], want.Data, want.Stride)
					be.Dsyrk(ul, tr, n, k, ab[0], a.Data, a.Stride, ab[1], c.Data, c.Stride)
					equal(t, "syrk "+what, c, want, keep, rounding(k, ab[0], ab[1]))

					c = destination(rng, n, n, ab[1], keep)
					want = expected(c, ab[1])
					reference.Dsyr2k(ul, tr, n, k, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], want.Data,
						want.Stride)
					be.Dsyr2k(ul, tr, n, k, ab[0], a.Data, a.Stride, b.Data, b.Stride, ab[1], c.Data, c.Stride)
					equal(t, "syr2k "+what, c, want, keep, rounding(2*k, ab[0], ab[1]))
				}
			}
		}
	}
}

// triangular tries the products and the solves with a triangular matrix, on all
// its forms. The diagonal is made large enough for the solves to be well
// conditioned, or NaN when it is taken to be 1.
func triangular(t *testing.T, be blas.Backend) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, s := range sizes {
		for _, side := range []gblas.Side{gblas.Left, gblas.Right} {
			for _, ul := range triangles {
				for _, tr := range transposes {
					for _, d := range []gblas.Diag{gblas.NonUnit, gblas.Unit} {
						triangularOnce(t, be, rng, s[0], s[1], side, ul, tr, d)
					}
				}
			}
		}
	}
}

func triangularOnce(
	t *testing.T, be blas.Backend, rng *rand.Rand, m, n int, side gblas.Side, ul gblas.Uplo, tr gblas.Transpose,
	d gblas.Diag,
) {
	t.Helper()
	order := m
	if side == gblas.Right {
		order = n
	}
	keep := inTriangle(ul)
	a := matrix(rng, order, order, func(i, j int) bool { return keep(i, j) && (i != j || d == gblas.NonUnit) })
	for i := range order {
		for j := range order {
			a.Data[i*a.Stride+j] /= float64(order)
		}
		if d == gblas.NonUnit {
			a.Data[i*a.Stride+i] = 1 + rng.Float64()
		}
	}
	what := fmt.Sprintf("%d×%d %c%c%c%c", m, n, side, ul, tr, d)
	for _, alpha := range []float64{1, -0.5, 0} {
		b := matrix(rng, m, n, nil)
		want := duplicate(b)
		c := duplicate(b)
		reference.Dtrmm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, want.Data, want.Stride)
		be.Dtrmm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, c.Data, c.Stride)
		equal(t, "trmm "+what, c, want, nil, rounding(order, alpha))

		want, c = duplicate(b), duplicate(b)
		reference.Dtrsm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, want.Data, want.Stride)
		be.Dtrsm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, c.Data, c.Stride)
		equal(t, "trsm "+what, c, want, nil, 4*rounding(order, alpha))
	}
}

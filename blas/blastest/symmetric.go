// This file tests operations on symmetric and triangular matrices.

package blastest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/blas"
)

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
		want := copyOf(b)
		c := copyOf(b)
		reference.Dtrmm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, want.Data, want.Stride)
		be.Dtrmm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, c.Data, c.Stride)
		equal(t, "trmm "+what, c, want, nil, rounding(order, alpha))

		want, c = copyOf(b), copyOf(b)
		reference.Dtrsm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, want.Data, want.Stride)
		be.Dtrsm(side, ul, tr, d, m, n, alpha, a.Data, a.Stride, c.Data, c.Stride)
		equal(t, "trsm "+what, c, want, nil, 4*rounding(order, alpha))
	}
}

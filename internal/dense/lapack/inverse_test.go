package lapack

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// TestInverses multiplies matrices of norm and inverse of order one by their
// inverses, at orders of a leaf, just above, and of several levels of halving. The
// triangles that are not to be read hold random numbers.
func TestInverses(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for _, n := range []int{1, luLeaf, inverseLeaf, inverseLeaf + 1, 130, 333} {
		full := zeros(n, n)
		for i := range full.Data {
			full.Data[i] = rng.NormFloat64() / float64(4*n)
		}
		for i := range n {
			row(full, i)[i] += 1 + rng.Float64()
		}
		check := func(name string, a, inverse matrix) {
			t.Helper()
			if r := distance(multiply(a, inverse, false), identity(n)); !(r <= 20*float64(n)*eps) {
				t.Errorf("%s of order %d: ‖A·A⁻¹ − I‖ is %.3g·n·eps", name, n, r/(float64(n)*eps))
			}
		}
		copied := func() matrix {
			a := zeros(n, n)
			copyMatrix(a, full)
			return a
		}
		a := copied()
		exchange(a, []int{n - 1, n / 2}[:min(n, 2)])
		swapped, pivots := zeros(n, n), make([]int, n)
		copyMatrix(swapped, a)
		if !reference.LU(a, pivots) {
			t.Fatalf("LU of order %d found a zero pivot", n)
		}
		reference.Getri(a, pivots)
		check("Getri", swapped, a)
		for _, ul := range []blas.Uplo{blas.Lower, blas.Upper} {
			for _, d := range []blas.Diag{blas.NonUnit, blas.Unit} {
				x := copied()
				reference.Trtri(ul, d, x)
				check(fmt.Sprintf("Trtri %c%c", ul, d), triangleOf(ul, d, full), triangleOf(ul, d, x))
			}
			x := copied()
			if !reference.Cholesky(ul, x) {
				t.Fatalf("Cholesky %c of order %d failed", ul, n)
			}
			reference.CholeskyInverse(ul, x)
			check(fmt.Sprintf("Potri %c", ul), symmetricOf(ul, full), symmetricOf(ul, x))
		}
	}
}

// triangleOf is one triangle of a and zeros elsewhere, its diagonal ones when unit.
func triangleOf(ul blas.Uplo, d blas.Diag, a matrix) matrix {
	out := zeros(a.Rows, a.Cols)
	for i := range a.Rows {
		for j, v := range row(a, i) {
			if j == i && d == blas.Unit {
				v = 1
			}
			if j == i || (j < i) == (ul == blas.Lower) {
				row(out, i)[j] = v
			}
		}
	}
	return out
}

// symmetricOf is the symmetric matrix of which a has one triangle.
func symmetricOf(ul blas.Uplo, a matrix) matrix {
	out := triangleOf(ul, blas.NonUnit, a)
	for i := range a.Rows {
		for j := range a.Cols {
			if (j < i) == (ul == blas.Lower) && j != i {
				row(out, j)[i] = row(out, i)[j]
			}
		}
	}
	return out
}

// TestTallAndWideLU multiplies the factors of rectangular matrices, which share zero columns too.
func TestTallAndWideLU(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	for _, s := range [][2]int{{1, 1}, {5, 70}, {70, 5}, {100, 33}, {33, 100}, {200, 170}, {300, 900}, {700, 450}} {
		m, n := s[0], s[1]
		k := min(m, n)
		full := zeros(m, n)
		for i := range full.Data {
			full.Data[i] = rng.NormFloat64()
		}
		for _, zero := range []int{-1, k / 2} {
			if zero >= 0 {
				for i := range m {
					row(full, i)[zero] = 0
				}
			}
			a, pivots := zeros(m, n), make([]int, k)
			copyMatrix(a, full)
			if reference.LU(a, pivots) == (zero >= 0) {
				t.Errorf("%v, column %d zero: LU reports the wrong thing", s, zero)
			}
			L, U := zeros(m, k), zeros(k, n)
			for i := range m {
				copy(row(L, i)[:min(i, k)], row(a, i))
				if i < k {
					row(L, i)[i] = 1
					copy(row(U, i)[i:], row(a, i)[i:])
				}
			}
			want := zeros(m, n)
			copyMatrix(want, full)
			exchange(want, pivots)
			if r := distance(multiply(L, U, false), want); !(r <= 20*float64(max(m, n))*eps) {
				t.Errorf("%v, column %d zero: ‖P·A − L·U‖ = %g", s, zero, r)
			}
		}
	}
}

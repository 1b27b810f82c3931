package native

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
)

// TestColumnsAlone checks that the columns of a product, and where it is stated its rows, have the same
// bits when others are computed with them and when not.
func TestColumnsAlone(t *testing.T) {
	eachLevel(t, func(t *testing.T, b *BLAS) {
		t.Run("float64", func(t *testing.T) { gemmAlone(t, b.d.engine) })
		t.Run("float32", func(t *testing.T) { gemmAlone(t, b.s) })
		t.Run("triangular", func(t *testing.T) { triangularAlone(t, b) })
		t.Run("operator", func(t *testing.T) { operatorAlone(t, b) })
	})
}

// gemmAlone compares products with those of some of their rows and columns. With so many steps there are
// several blocks of them, and the shapes are square, thin and very thin.
func gemmAlone[T element](t *testing.T, e *engine[T]) {
	rng := rand.New(rand.NewPCG(4, 3))
	for _, k := range []int{10, e.kc - 1, 2*e.kc + 77} {
		m, n := 3*e.nr+1, 2*e.mr+5
		ld := max(n, k)
		a, b := fill(rng, make([]T, ld*ld)), fill(rng, make([]T, ld*ld))
		c0 := fill(rng, make([]T, m*n))
		for _, fa := range []form{byFree, bySum} {
			for _, fb := range []form{byFree, bySum} {
				all := append([]T(nil), c0...)
				x, y := operand[T]{a, ld, fa}, operand[T]{b, ld, fb}
				e.gemm(x, y, m, n, k, 0.7, 1.5, all, n, whole)
				for _, r := range [][4]int{
					{0, 1, 0, n}, {2, 2 + e.nr - 1, 0, n}, {1, m, 0, e.mr + 1}, {0, m, n - 1, n}, {m - 2, m, 1, 4},
				} {
					part := append([]T(nil), c0...)
					at := r[0]*n + r[2]
					e.gemm(x.from(r[0]), y.from(r[2]), r[1]-r[0], r[3]-r[2], k, 0.7, 1.5, part[at:], n, whole)
					what := fmt.Sprintf("forms %d %d, %d steps", fa, fb, k)
					sameBits(t, what, part, all, n, r)
				}
				if m >= n {
					continue
				}
				for _, want := range []part{lower, upper} {
					part := append([]T(nil), c0...)
					e.gemm(x, y, m, m, k, 0.7, 1.5, part, n, want)
					for i := range m {
						r := [4]int{i, i + 1, 0, i + 1}
						if want == upper {
							r[2], r[3] = i, m
						}
						sameBits(t, fmt.Sprintf("forms %d %d, part %d, %d steps", fa, fb, want, k), part, all, n, r)
					}
				}
			}
		}
	}
}

// from is o without the first i of its free index.
func (o operand[T]) from(i int) operand[T] {
	if o.form == byFree {
		o.data = o.data[i:]
	} else {
		o.data = o.data[i*o.ld:]
	}
	return o
}

// sameBits compares rows r[0] to r[1] and columns r[2] to r[3] of two matrices of n columns.
func sameBits[T element](t *testing.T, what string, got, want []T, n int, r [4]int) {
	t.Helper()
	for i := r[0]; i < r[1]; i++ {
		for j := r[2]; j < r[3]; j++ {
			if got[i*n+j] != want[i*n+j] {
				t.Errorf("%s: element (%d,%d) is %v alone in rows %d:%d, columns %d:%d, and %v with all",
					what, i, j, got[i*n+j], r[0], r[1], r[2], r[3], want[i*n+j])
				return
			}
		}
	}
}

// triangularAlone solves and multiplies with a triangle on either side of all columns, or rows, and of two or more.
func triangularAlone(t *testing.T, b *BLAS) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, w = 70, triangleWidth + 21
	a := fill(rng, make([]float64, n*n))
	for i := range n {
		a[i*n+i] += 30
	}
	no, tr := gblas.NoTrans, gblas.Trans
	for _, tA := range []gblas.Transpose{no, tr} {
		for _, ul := range []gblas.Uplo{gblas.Lower, gblas.Upper} {
			for name, f := range map[string]func(s gblas.Side, rows, cols int, c []float64){
				"trsm": func(s gblas.Side, rows, cols int, c []float64) {
					b.Dtrsm(s, ul, tA, gblas.NonUnit, rows, cols, 1.5, a, n, c, max(n, w))
				},
				"trmm": func(s gblas.Side, rows, cols int, c []float64) {
					b.Dtrmm(s, ul, tA, gblas.NonUnit, rows, cols, 1.5, a, n, c, max(n, w))
				},
			} {
				what := fmt.Sprintf("%s %c %c", name, ul, tA)
				c0 := fill(rng, make([]float64, w*w))
				left, right := append([]float64(nil), c0...), append([]float64(nil), c0...)
				f(gblas.Left, n, w, left)
				f(gblas.Right, w, n, right)
				for _, r := range [][2]int{{0, 1}, {0, 2}, {3, 17}, {1, w}} {
					some := append([]float64(nil), c0...)
					f(gblas.Left, n, r[1]-r[0], some[r[0]:])
					sameBits(t, what+" left", some, left, w, [4]int{0, n, r[0], r[1]})
					some = append([]float64(nil), c0...)
					f(gblas.Right, r[1]-r[0], n, some[r[0]*w:])
					sameBits(t, what+" right", some, right, w, [4]int{r[0], r[1], 0, n})
				}
			}
		}
	}
}

// operatorAlone multiplies packed symmetric matrices by some columns, more than have kernels of their own,
// in one block of rows and in several.
func operatorAlone(t *testing.T, b *BLAS) {
	rng := rand.New(rand.NewPCG(4, 5))
	const n, k = 2*panelSteps + 1, 150
	x := fill(rng, make([]float64, n*k))
	for _, single := range []bool{false, true} {
		s, _ := randomSymmetric(rng, b, n, single, true)
		few := 0
		if s.few != nil {
			few = s.few.most
		}
		all := make([]float64, n*k)
		s.Multiply(k, all, k, x, k)
		for _, c := range [][2]int{{0, few + 1}, {20, 53}, {k - 101, k}} {
			some := make([]float64, n*k)
			s.Multiply(c[1]-c[0], some[c[0]:], k, x[c[0]:], k)
			sameBits(t, fmt.Sprintf("single %v", single), some, all, k, [4]int{0, n, c[0], c[1]})
		}
	}
}

package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestTriangularSolve compares solutions with gonum's at orders of several blocks.
// What a triangle does not have, and what lies between the elements of x, is NaN.
func TestTriangularSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, l := range Levels() {
		b, err := NewLevel(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 2, 15, 16, 17, 35, 100, 600} {
			for _, ul := range []gblas.Uplo{gblas.Lower, gblas.Upper} {
				for _, tA := range []gblas.Transpose{gblas.NoTrans, gblas.Trans} {
					for _, d := range []gblas.Diag{gblas.NonUnit, gblas.Unit} {
						for _, inc := range []int{1, 2, -3} {
							name := fmt.Sprintf("%v n=%d %c%c%c inc=%d", l, n, ul, tA, d, inc)
							solves(t, name, b, rng, n, ul, tA, d, inc)
						}
					}
				}
			}
		}
	}
}

func solves(
	t *testing.T, name string, b *BLAS, rng *rand.Rand, n int, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, inc int,
) {
	step := max(inc, -inc)
	ld := n + 3
	a, x := make([]float64, n*ld), make([]float64, 1+(n-1)*step)
	for i := range a {
		a[i] = math.NaN()
		if r, c := i/ld, i%ld; c < n && ((c < r) == (ul == gblas.Lower) && c != r) {
			a[i] = rng.NormFloat64() / float64(n)
		} else if c == r && d == gblas.NonUnit {
			a[i] = 1 + rng.Float64()
		}
	}
	for i := range x {
		x[i] = math.NaN()
		if i%step == 0 {
			x[i] = rng.NormFloat64()
		}
	}
	want := append([]float64(nil), x...)
	gonum.Implementation{}.Dtrsv(ul, tA, d, n, a, ld, want, inc)
	b.Dtrsv(ul, tA, d, n, a, ld, x, inc)
	for i, w := range want {
		if math.IsNaN(w) {
			if !math.IsNaN(x[i]) {
				t.Fatalf("%s: wrote between the elements", name)
			}
			continue
		}
		// The inverses are of norm 3 at most, x of order one.
		bound := 100 * float64(n) * 0x1p-53
		if !(math.Abs(x[i]-w) <= bound) {
			t.Fatalf("%s: element %d is %g, want %g", name, i, x[i], w)
		}
	}
}

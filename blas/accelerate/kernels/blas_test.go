package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// TestBLAS compares every operation that has a size from which it is the native
// kernels' with gonum's, below and above that size.
func TestBLAS(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, m := range []int{3, 170} {
		n, k := m+1, m+3
		ld := k + 2
		random := func() []float64 {
			x := make([]float64, (k+1)*ld)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			return x
		}
		triangle := random()
		for i := range triangle {
			if triangle[i] /= float64(m); i%(ld+1) == 0 {
				triangle[i] = 1 + rng.Float64()
			}
		}
		a, b, c := random(), random(), random()
		for _, op := range []call{
			{"Dgemm", []any{gblas.NoTrans, gblas.Trans, m, n, k, 0.5, a, ld, b, ld, 2.0, c, ld}},
			{"Dsymm", []any{gblas.Right, gblas.Upper, m, n, 0.5, a, ld, b, ld, 2.0, c, ld}},
			{"Dsymm", []any{gblas.Left, gblas.Lower, m, n, 0.5, a, ld, b, ld, 2.0, c, ld}},
			{"Dsyrk", []any{gblas.Upper, gblas.NoTrans, n, k, 0.5, a, ld, 2.0, c, ld}},
			{"Dsyr2k", []any{gblas.Lower, gblas.Trans, n, k, 0.5, a, ld, b, ld, 2.0, c, ld}},
			{"Dtrmm", []any{gblas.Left, gblas.Upper, gblas.Trans, gblas.Unit, m, n, 0.5, triangle, ld, c, ld}},
			{"Dtrsm", []any{gblas.Right, gblas.Lower, gblas.NoTrans, gblas.NonUnit, m, n, 0.5, triangle, ld, c, ld}},
			{"Dgemv", []any{gblas.Trans, m, n, 0.5, a, ld, b, 1, 2.0, c, 1}},
			{"Dgemv", []any{gblas.NoTrans, m, n, 0.5, a, ld, b, 2, 2.0, c, -1}},
			{"Dsymv", []any{gblas.Upper, n, 0.5, a, ld, b, 1, 2.0, c, 1}},
			{"Dger", []any{m, n, 0.5, a, 1, b, 1, c, ld}},
			{"Dger", []any{m, n, 0.5, a, ld, b, 2, c, ld}},
			{"Dtrsv", []any{gblas.Lower, gblas.Trans, gblas.NonUnit, n, triangle, ld, c, 1}},
			{"Dsyr", []any{gblas.Lower, n, 0.5, a, 1, c, ld}},
			{"Dsyr2", []any{gblas.Upper, n, 0.5, a, 2, b, 1, c, ld}},
			{"Ddot", []any{3 * m, a, 1, b, 1}},
			{"Daxpy", []any{3 * m, 0.5, a, 1, c, 1}},
		} {
			want, wantResult, _ := do(gonum.Implementation{}, op.name, op.args)
			got, gotResult, panicked := do(NewBLAS(), op.name, op.args)
			if panicked != nil || gotResult != wantResult {
				t.Errorf("%s of order %d: %s, panicked with %v, want %s", op.name, m, gotResult, panicked, wantResult)
				continue
			}
			for i := range want {
				w, ok := want[i].([]float64)
				for j := range w {
					if g := got[i].([]float64)[j]; ok && !(math.Abs(g-w[j]) <= 1e-14*float64(m)*(1+math.Abs(w[j]))) {
						t.Fatalf("%s of order %d: element %d of argument %d is %g, want %g", op.name, m, j, i, g, w[j])
					}
				}
			}
		}
	}
}

// TestNegativeIncrements adds an outer product of vectors that are read backward.
func TestNegativeIncrements(t *testing.T) {
	a := make([]float64, 6)
	NewBLAS().Dger(2, 3, 1, []float64{10, 0, 20}, -2, []float64{1, 2, 3}, -1, a, 3)
	if want := []float64{60, 40, 20, 30, 20, 10}; !slices.Equal(a, want) {
		t.Errorf("%g, want %g", a, want)
	}
}

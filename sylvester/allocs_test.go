package sylvester_test

import (
	"context"
	"math/rand/v2"
	"testing"

	gblas "gonum.org/v1/gonum/blas"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// plain is a backend whose product allocates nothing, so that what a test counts
// is the solver's own.
type plain struct{ blas.Backend }

func (plain) Dgemm(
	tA, tB gblas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64,
	c []float64, ldc int,
) {
	at := func(t gblas.Transpose, x []float64, ld, i, j int) float64 {
		if t == blas.Trans {
			i, j = j, i
		}
		return x[i*ld+j]
	}
	for i := range m {
		for j := range n {
			var s float64
			for p := range k {
				s += at(tA, a, lda, i, p) * at(tB, b, ldb, p, j)
			}
			if beta != 0 {
				s += beta / alpha * c[i*ldc+j]
			}
			c[i*ldc+j] = alpha * s
		}
	}
}

// TestAllocations asserts that a second solve of a size allocates nothing.
func TestAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	be := plain{blas.Active()}
	sys := sylvester.System{
		K: linop.NewDense(spectrum(rng, decay(200, 30, 0.97)), be), L: outputKernel(rng, 6, decay(4, 2, 0.6)), Mu: 0.05,
	}
	Y := gaussian(rng, 200, 6)
	for _, name := range []string{"rotated", "nystrom", "eigen"} {
		t.Run(name, func(t *testing.T) {
			s, err := sylvester.New(name, sylvester.Config{Backend: be})
			if err != nil {
				t.Fatal(err)
			}
			C := blas.NewGeneral(200, 6)
			ctx := context.Background()
			solve := func() {
				blas.Zero(C)
				if _, err := s.Solve(ctx, C, sys, Y, sylvester.Options{Tol: 1e-6}); err != nil {
					t.Fatal(err)
				}
			}
			for range 12 { // a sketch may still grow in the first solves
				solve()
			}
			if a := testing.AllocsPerRun(3, solve); a > 0 {
				t.Errorf("%v allocations", a)
			}
		})
	}
}

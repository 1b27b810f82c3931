package sylvester_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/sylvester"
)

// TestThreads asserts that results do not depend on the number of threads.
func TestThreads(t *testing.T) {
	defer par.SetThreads(0)
	rng := rand.New(rand.NewPCG(9, 10))
	K := spectrum(rng, decay(400, 30, 0.98))
	L := outputKernel(rng, 9, decay(9, 2, 0.6))
	Y := gaussian(rng, 400, 9)
	for _, name := range sylvester.Names() {
		t.Run(name, func(t *testing.T) {
			var first blas.General
			for _, threads := range []int{1, 2, 5} {
				par.SetThreads(threads)
				C := blas.NewGeneral(400, 9)
				if _, err := solverNamed(t, name).Solve(context.Background(), C, system(K, L, 0.05), Y,
					sylvester.Options{Tol: 1e-6}); err != nil {
					t.Fatal(err)
				}
				if first.Data == nil {
					first = C
				}
				for i, v := range C.Data {
					if v != first.Data[i] {
						t.Fatalf("%d threads: element %d is %v, with one thread %v", threads, i, v, first.Data[i])
					}
				}
			}
		})
	}
}

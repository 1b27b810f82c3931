package lanczos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/lanczos"
	"github.com/iokl/iokl/linop"
)

// BenchmarkEigs finds the smallest eigenvalues of matrices of normal elements,
// whose ends of the spectrum are not well apart.
func BenchmarkEigs(b *testing.B) {
	for _, c := range []struct {
		n, k int
		tol  float64
	}{{102, 1, 1e-3}, {102, 1, 1e-10}, {500, 1, 1e-3}, {500, 1, 1e-10}, {500, 3, 1e-8}, {2000, 3, 1e-8}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.n)))
		A := blas.NewGeneral(c.n, c.n)
		for i := range c.n {
			for j := range i + 1 {
				v := rng.NormFloat64()
				A.Data[i*c.n+j], A.Data[j*c.n+i] = v, v
			}
		}
		op := linop.NewDense(A, nil)
		b.Run(fmt.Sprintf("op=lanczos/n=%d/k=%d/tol=%g", c.n, c.k, c.tol), func(b *testing.B) {
			var w lanczos.Workspace
			applies := 0
			for b.Loop() {
				r, err := w.Eigs(context.Background(), op, lanczos.Options{
					K: c.k, Block: 1, Which: lanczos.Smallest, Tol: c.tol, Seed: 1, MaxIter: 5000,
				})
				if err != nil {
					b.Fatal(err)
				}
				applies = r.Applies
			}
			b.ReportMetric(float64(applies), "columns")
		})
	}
}

package kernel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// BenchmarkGram builds Gram matrices at l = 3000 beside the multiplies inside
// them alone: the same tiles, into the same scratch memory.
func BenchmarkGram(b *testing.B) {
	const l = 3000
	rng := rand.New(rand.NewPCG(1, 1))
	for _, d := range []int{1, 10, 40, 100} {
		X := positiveX(rng, l, d)
		flops := float64(l) * float64(l) * float64(d) // of the lower triangle, twice d an element
		for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
			for _, spec := range []string{
				"linear", "gaussian", "gaussian:all:median*1,2,4,8", "matern52", "poly:3",
				"laplacian", "chi2", "cauchy",
			} {
				dict, err := Build([]string{spec}, X, nil, 1)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("op=gram/kernel=%s/d=%d/prec=%v", spec, d, prec), func(b *testing.B) {
					a, err := dict.lay(X, "", nil, all)
					if err != nil {
						b.Fatal(err)
					}
					g := builder{laid: a}
					g.allocate(GramOptions{Precision: prec})
					for b.Loop() {
						if err := g.run(context.Background()); err != nil {
							b.Fatal(err)
						}
					}
					seconds := b.Elapsed().Seconds() / float64(b.N)
					b.ReportMetric(flops/seconds/1e9, "GFLOP/s")
					b.ReportMetric(seconds*1e9/(l*l/2)/float64(len(dict)), "ns/elem")
				})
			}
		}
		b.Run(fmt.Sprintf("op=gemm/d=%d", d), func(b *testing.B) {
			be := blas.Active()
			for b.Loop() {
				g := builder{laid: laid{X: X}}
				all := g.tiles(0)
				par.For(len(all), func(i int) {
					s := scratches.Get().(*scratch)
					row, rows, cols, _ := (&blas.Sym{N: l}).Panel(all[i].p)
					cols = min(tileCols, cols-all[i].j0)
					be.Dgemm(blas.NoTrans, blas.Trans, rows, cols, d, 1, X.Data[row*d:], d, X.Data[all[i].j0*d:], d, 0,
						s.tile, cols)
					scratches.Put(s)
				})
			}
			b.ReportMetric(flops/(b.Elapsed().Seconds()/float64(b.N))/1e9, "GFLOP/s")
		})
	}
}

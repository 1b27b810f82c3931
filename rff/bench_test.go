package rff

import (
	"fmt"
	"testing"

	"github.com/iokl/iokl/blas"
)

// BenchmarkTransform also compares the samplers that kernel.Approximation.Cheapest chooses between.
func BenchmarkTransform(b *testing.B) {
	type size struct {
		l, d, D int
		how     string
	}
	sizes := []size{{20000, 20, 2000, "orthogonal"}, {20000, 20, 2000, "orthogonal:phases"}}
	for _, d := range []int{16, 32, 64, 65, 100, 128, 200, 256, 300, 512, 600, 1000, 1500} {
		for _, how := range []string{"orthogonal", "hadamard", "orthogonal:phases", "hadamard:phases"} {
			sizes = append(sizes, size{2000, d, 4000, how})
		}
	}
	for _, c := range sizes {
		X := randomX(1, c.l, c.d)
		k := build(b, fmt.Sprintf("rff:gaussian:all:10:%d:%s", c.D, c.how), X)[0]
		m, err := New(b.Context(), k, X, 1, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		Z := blas.NewGeneral(2000, c.D)
		b.Run(fmt.Sprintf("op=rff/d=%d/D=%d/sampler=%s", c.d, c.D, c.how), func(b *testing.B) {
			for b.Loop() {
				if err := m.Transform(Z, blas.View(X, 0, 0, 2000, c.d)); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			flops := float64(c.d) * float64(c.D)
			if m.Form != "" {
				flops *= 2
			}
			b.ReportMetric(2000*flops/seconds/1e9, "GFLOP/s")
			b.ReportMetric(seconds*1e9/2000/float64(c.D), "ns/feature")
		})
	}
}

package rff

import (
	"fmt"
	"testing"

	"github.com/iokl/iokl/blas"
)

func BenchmarkTransform(b *testing.B) {
	for _, c := range []struct {
		l, d, D int
		sampler string
	}{{20000, 20, 2000, "orthogonal"}, {4000, 1000, 4000, "orthogonal"}, {4000, 1000, 4000, "hadamard"}} {
		X := randomX(1, c.l, c.d)
		k := build(b, fmt.Sprintf("rff:gaussian:all:median:%d:%s", c.D, c.sampler), X)[0]
		m, err := New(k, X, 1, 0)
		if err != nil {
			b.Fatal(err)
		}
		Z := blas.NewGeneral(2000, c.D)
		b.Run(fmt.Sprintf("op=rff/d=%d/D=%d/sampler=%s", c.d, c.D, c.sampler), func(b *testing.B) {
			for b.Loop() {
				if err := m.Transform(Z, blas.View(X, 0, 0, 2000, c.d)); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(2000*float64(c.d)*float64(c.D)/seconds/1e9, "GFLOP/s")
			b.ReportMetric(seconds*1e9/2000/float64(c.D), "ns/feature")
		})
	}
}

package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

// BenchmarkPass measures the pass, transform included, beside the products in it:
// GFLOP/s counts D² + 2Dn flops a row.
func BenchmarkPass(b *testing.B) {
	const d, n, block = 20, 20, 1024
	rng := rand.New(rand.NewPCG(1, 1))
	X, Y := blas.NewGeneral(16*block, d), blas.NewGeneral(16*block, n)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
		Y.Data[i] = rng.NormFloat64()
	}
	dict, err := kernel.Build([]string{"rff:gaussian:all:median*0.5,1,2,4:500"}, X, nil, 1)
	if err != nil {
		b.Fatal(err)
	}
	maps, err := rff.NewMaps(b.Context(), dict, X, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	D := maps.Dim()
	flops := float64(X.Rows) * float64(D) * float64(D+2*n)
	for _, folds := range []int{1, 5} {
		b.Run(fmt.Sprintf("op=pass/D=%d/n=%d/folds=%d", D, n, folds), func(b *testing.B) {
			for b.Loop() {
				a := New(maps, d, n, Options{Folds: folds})
				if err := a.Run(b.Context(), FromMatrices("memory", X, Y)); err != nil {
					b.Fatal(err)
				}
				if _, err := a.Sums(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
	Z := blas.NewGeneral(block, D)
	for i := range Z.Data {
		Z.Data[i] = rng.NormFloat64()
	}
	s, ones := newSums(D, n, false), slices.Repeat([]float64{1}, block)
	b.Run(fmt.Sprintf("op=syrk/D=%d", D), func(b *testing.B) {
		for b.Loop() {
			s.add(blas.Active(), Z, blas.View(Y, 0, 0, block, n), ones)
		}
		b.ReportMetric(flops/16*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
	C := blas.NewGeneral(D, D)
	b.Run(fmt.Sprintf("op=gemm/D=%d", D), func(b *testing.B) {
		for b.Loop() {
			blas.Mul(blas.Active(), C, true, false, Z, Z)
		}
		b.ReportMetric(2*block*float64(D)*float64(D)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

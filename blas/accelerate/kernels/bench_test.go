package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/blas/accelerate/kernels"
)

// operations are what a program asks of gonum's mat, on a square a, a symmetric
// positive definite s, and a right-hand side b of ten columns.
var operations = []struct {
	name string
	run  func(a *mat.Dense, s *mat.SymDense, b *mat.Dense)
}{
	{"Mul", func(a *mat.Dense, _ *mat.SymDense, _ *mat.Dense) { new(mat.Dense).Mul(a, a) }},
	{"Cholesky", func(_ *mat.Dense, s *mat.SymDense, _ *mat.Dense) { new(mat.Cholesky).Factorize(s) }},
	{"LU", func(a *mat.Dense, _ *mat.SymDense, _ *mat.Dense) { new(mat.LU).Factorize(a) }},
	{"QR", func(a *mat.Dense, _ *mat.SymDense, _ *mat.Dense) { new(mat.QR).Factorize(a) }},
	{"EigenSym", func(_ *mat.Dense, s *mat.SymDense, _ *mat.Dense) { new(mat.EigenSym).Factorize(s, true) }},
	{"SVD", func(a *mat.Dense, _ *mat.SymDense, _ *mat.Dense) { new(mat.SVD).Factorize(a, mat.SVDThin) }},
	{"Solve", func(a *mat.Dense, _ *mat.SymDense, b *mat.Dense) { _ = new(mat.Dense).Solve(a, b) }},
	{"Inverse", func(a *mat.Dense, _ *mat.SymDense, _ *mat.Dense) { _ = new(mat.Dense).Inverse(a) }},
}

// BenchmarkMat runs operations of gonum's mat in turns on gonum's own kernels and
// on these. It reports the medians of both and of the ratios of neighbours in time.
func BenchmarkMat(b *testing.B) {
	for _, op := range operations {
		for _, n := range []int{100, 1000} {
			b.Run(fmt.Sprintf("op=%s/n=%d", op.name, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, uint64(n)))
				a, rhs := mat.NewDense(n, n, nil), mat.NewDense(n, 10, nil)
				a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
				rhs.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, rhs)
				s := mat.NewSymDense(n, nil)
				s.SymOuterK(1, a)
				for i := range n {
					s.SetSym(i, i, s.At(i, i)+1)
				}
				timed := func() float64 {
					start := time.Now()
					op.run(a, s, rhs)
					return time.Since(start).Seconds()
				}
				var own, ours, ratio []float64
				for b.Loop() {
					own = append(own, timed())
					restore := kernels.Use()
					timed()
					ours = append(ours, timed())
					restore()
					ratio = append(ratio, own[len(own)-1]/ours[len(ours)-1])
				}
				b.ReportMetric(median(own)*1e3, "gonum-ms")
				b.ReportMetric(median(ours)*1e3, "accelerated-ms")
				b.ReportMetric(median(ratio), "times-faster")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return stat.Quantile(0.5, stat.Empirical, x, nil)
}

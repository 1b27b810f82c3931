package sylvester_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/sylvester"
)

// BenchmarkBackwardError runs every exact solver once on matrices of order 500 to
// 2000 with random, graded, clustered and vanishing eigenvalues, and the general
// solvers on random matrices; it fails where the backward-error ratio, which it
// reports, reaches 30. With -benchtime 1x it takes a minute or two.
func BenchmarkBackwardError(b *testing.B) {
	for _, l := range []int{500, 1000, 2000} {
		rng := rand.New(rand.NewPCG(31, uint64(l)))
		random := make([]float64, l)
		for i := range random {
			random[i] = 1 - rng.Float64()
		}
		slices.Sort(random)
		slices.Reverse(random)
		vanishing := decay(l, 1, 0.9)
		clear(vanishing[l/4:])
		for _, c := range []struct {
			name string
			s    []float64
			mu   float64
		}{
			{"random", random, 1e-6},
			{"graded", decay(l, 1, 0.97), 1e-13},
			{
				"clustered", slices.Concat(slices.Repeat([]float64{1}, l/2), slices.Repeat([]float64{1 - 1e-13},
					l-l/2)),
				1e-3,
			},
			{"singular", vanishing, 1e-9},
		} {
			K, L, Y := spectrum(rng, c.s), outputKernel(rng, 20, decay(20, 1, 0.8)), gaussian(rng, l, 20)
			for _, name := range exactNames {
				b.Run(fmt.Sprintf("l=%d/K=%s/op=%s", l, c.name, name), func(b *testing.B) {
					C, r := blas.NewGeneral(l, 20), 0.0
					for b.Loop() {
						sys := sylvester.System{K: dense{K, blas.Active()}, L: L, Mu: c.mu}
						if _, err := newSolver(b, name, nil).Solve(context.Background(), C, sys, Y,
							sylvester.Options{}); err != nil {
							b.Fatal(err)
						}
						r = backward(K, 1, L, c.mu, C, Y)
					}
					report(b, r)
				})
			}
		}
		A, B, Q := gaussian(rng, l, l), gaussian(rng, 20, 20), gaussian(rng, l, 20)
		s := new(sylvester.BartelsStewart)
		b.Run(fmt.Sprintf("l=%d/K=general/op=bartels-stewart", l), func(b *testing.B) {
			X, r := blas.NewGeneral(l, 20), 0.0
			for b.Loop() {
				if err := s.Factor(A, B); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Solve(X, 2, Q); err != nil {
					b.Fatal(err)
				}
				r = equationResidual(A, B, 2, X, Q)
			}
			report(b, r)
		})
	}
}

// report shows a backward-error ratio and holds it to what LAPACK accepts.
func report(b *testing.B, ratio float64) {
	b.Helper()
	b.ReportMetric(ratio, "ratio")
	if !(ratio < 30) {
		b.Errorf("backward-error ratio %g", ratio)
	}
}

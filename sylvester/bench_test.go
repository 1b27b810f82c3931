package sylvester_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

// BenchmarkSolvers times a solve from nothing (start=cold) and one for a nearby L
// from its solution (start=warm).
func BenchmarkSolvers(b *testing.B) {
	for _, size := range []struct{ l, n int }{{250, 10}, {1000, 100}, {3060, 102}} {
		for _, lambda := range []float64{1e-3, 1e-5} {
			for _, be := range blas.Backends() {
				if be.Name() == "gonum" {
					continue // the reference, not for speed
				}
				rng := rand.New(rand.NewPCG(1, 2))
				K := sylvester.GaussianKernel(rng, size.l, 10, 0.05, be)
				Y := gaussian(rng, size.l, size.n)
				V := outputKernel(rng, size.n, decay(size.n, 0.3*float64(size.n), 0.7))
				near := &linop.Spectral{V: V.V, S: decay(size.n, 0.32*float64(size.n), 0.69)}
				sys := sylvester.System{K: K, L: V, Mu: lambda * float64(size.l)}
				for _, name := range []string{"eigen", "tridiagonal", "cg", "rotated", "nystrom", "auto"} {
					if name == "cg" && lambda < 1e-3 {
						continue // a minute and more
					}
					where := fmt.Sprintf("op=%s/l=%d/n=%d/lambda=%g/impl=%s", name, size.l, size.n, lambda, be.Name())
					b.Run(where+"/start=cold", func(b *testing.B) { benchmarkSolver(b, name, be, sys, Y, nil) })
					b.Run(where+"/start=warm", func(b *testing.B) { benchmarkSolver(b, name, be, sys, Y, near) })
				}
			}
		}
	}
}

// benchmarkSolver times solves of sys by new solvers or, when near is given,
// second solves with that L.
func benchmarkSolver(
	b *testing.B, name string, be blas.Backend, sys sylvester.System, Y blas.General, near *linop.Spectral,
) {
	ctx, opt := context.Background(), sylvester.Options{Tol: 1e-6}
	var res sylvester.Result
	for b.Loop() {
		if near != nil {
			b.StopTimer()
		}
		s, err := sylvester.New(name, sylvester.Config{Backend: be})
		if err != nil {
			b.Fatal(err)
		}
		C := blas.NewGeneral(Y.Rows, Y.Cols)
		if res, err = s.Solve(ctx, C, sys, Y, opt); err != nil {
			b.Fatal(err)
		}
		if near == nil {
			continue
		}
		b.StartTimer()
		if res, err = s.Solve(ctx, C, sylvester.System{K: sys.K, L: near, Mu: sys.Mu}, Y, opt); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(res.Residual, "residual")
	b.ReportMetric(float64(res.Columns), "columns")
	b.ReportMetric(float64(res.Iter), "iterations")
}

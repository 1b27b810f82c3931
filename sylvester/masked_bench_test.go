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

// BenchmarkMasked times systems with 30 % of the cells missing at random, relative
// residual 1e-6: from nothing (start=cold), and for a nearby L from the solution and
// with what is kept (start=warm). Method full is the full grid, by solver auto.
func BenchmarkMasked(b *testing.B) {
	for _, size := range []struct{ l, n int }{{1000, 30}, {3060, 102}} {
		for _, lambda := range []float64{1e-3, 1e-6} {
			be := blas.Active()
			rng := rand.New(rand.NewPCG(1, 2))
			K := sylvester.GaussianKernel(rng, size.l, 10, 0.05, be)
			Y := gaussian(rng, size.l, size.n)
			V := outputKernel(rng, size.n, decay(size.n, 0.3*float64(size.n), 0.7))
			near := &linop.Spectral{V: V.V, S: decay(size.n, 0.32*float64(size.n), 0.69)}
			holes := linop.NewCells(size.l, size.n, func(int, int) bool { return rng.Float64() >= 0.3 })
			none := linop.NewCells(size.l, size.n, func(int, int) bool { return true })
			sys := sylvester.System{K: K, L: V, Mu: lambda * float64(size.l)}
			for _, name := range []string{"full", "auto", "nystrom", "eigen", "cg"} {
				if name == "cg" && lambda < 1e-3 {
					continue // minutes
				}
				cells, method := holes, name
				if name == "full" {
					cells, method = none, "auto"
				}
				where := fmt.Sprintf("op=%s/l=%d/n=%d/lambda=%g/impl=%s", name, size.l, size.n, lambda, be.Name())
				b.Run(where+"/start=cold", func(b *testing.B) { benchmarkMasked(b, method, cells, sys, Y, nil) })
				b.Run(where+"/start=warm", func(b *testing.B) { benchmarkMasked(b, method, cells, sys, Y, near) })
			}
		}
	}
}

func benchmarkMasked(
	b *testing.B, name string, cells *linop.Cells, sys sylvester.System, Y blas.General, near *linop.Spectral,
) {
	ctx, opt := context.Background(), sylvester.Options{Tol: 1e-6, MaxIter: 20000}
	var res sylvester.Result
	for b.Loop() {
		if near != nil {
			b.StopTimer()
		}
		s := newMasked(b, name, cells)
		C := blas.NewGeneral(Y.Rows, Y.Cols)
		var err error
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

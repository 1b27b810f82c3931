// Package algebra has the cases about dense kernels: matrix products, the packed
// operator, Gram matrices, eigenpairs and factorizations, as shares of what the machine can do.
package algebra

import (
	"context"
	"runtime"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Register(bench.Case{
		Name:     "gemm",
		Does:     "matrix products of every backend, as a share of the machine's peak",
		Minutes:  1,
		Run:      runGemm,
		Conclude: concludeSpeed("matrix products"),
		Figures:  gemmFigures,
	})
}

// gemmShape is C = A·B with A m×k and B k×n.
type gemmShape struct{ m, n, k int }

// runGemm measures Dgemm and Sgemm of every backend side by side.
func runGemm(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	shapes := bench.Pick(env,
		[]gemmShape{{768, 768, 768}, {1024, 102, 1024}},
		[]gemmShape{
			{512, 512, 512},
			{1024, 1024, 1024},
			{2048, 2048, 2048},
			{3060, 102, 3060},
			{3060, 10, 3060},
			{3060, 102, 102},
		})
	var results []bench.Result
	for _, threads := range bench.ThreadCounts(env.Threads) {
		for _, s := range shapes {
			for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
				part, err := gemmOne(ctx, env, s, prec, threads)
				results = append(results, part...)
				if err != nil {
					return results, err
				}
			}
		}
	}
	return results, nil
}

// gemmOne measures one shape on all backends in turn.
func gemmOne(
	ctx context.Context, env *bench.Env, s gemmShape, prec blas.Precision, threads int,
) ([]bench.Result, error) {
	blas.SetThreads(threads)
	defer blas.SetThreads(env.Threads)
	flops := 2 * float64(s.m) * float64(s.n) * float64(s.k)
	var all []bench.Contender
	for _, be := range blas.Backends() {
		run := gemmCall(be, s, prec)
		if be.Name() == "gonum" && threads < env.Threads {
			if flops > 4e9 {
				continue // seconds that show nothing new
			}
			run = onProcessors(threads, run)
		}
		all = append(all, bench.Contender{Name: be.Name(), Run: run})
	}
	plan := bench.Plan{
		Count: env.Repeats(bench.Pick(env, 5, 9)), Warm: true, Follow: true,
		MinSample: 20 * time.Millisecond, Budget: 2 * time.Second,
	}
	results, err := bench.Race(ctx, plan, map[string]any{
		"m": s.m, "n": s.n, "k": s.k, "precision": prec.String(), "threads": threads,
	}, all)
	for i := range results {
		results[i].Rate(flops, 0)
	}
	return results, err
}

// gemmCall is one product of random matrices.
func gemmCall(be blas.Backend, s gemmShape, prec blas.Precision) func() error {
	fill := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i%17)/16 - 0.5
		}
		return x
	}
	a, b, c := fill(s.m*s.k), fill(s.k*s.n), make([]float64, s.m*s.n)
	if prec == blas.Float64 {
		return func() error {
			be.Dgemm(blas.NoTrans, blas.NoTrans, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n)
			return nil
		}
	}
	a32, b32, c32 := single(a), single(b), single(c)
	return func() error {
		be.Sgemm(blas.NoTrans, blas.NoTrans, s.m, s.n, s.k, 1, a32, s.k, b32, s.n, 0, c32, s.n)
		return nil
	}
}

// onProcessors limits the processors of the program for run, where the backend has
// no thread setting of its own.
func onProcessors(n int, run func() error) func() error {
	return func() error {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		return run()
	}
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

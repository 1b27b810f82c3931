package cases

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
)

// gemmShape is C = A·B with A m×k and B k×n.
type gemmShape struct{ m, n, k int }

// runGemm measures Dgemm and Sgemm of every backend side by side.
func runGemm(ctx context.Context, env *bench.Env) error {
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
	for _, threads := range slices.Compact([]int{1, env.Threads}) {
		for _, s := range shapes {
			for _, prec := range []blas.Precision{blas.Float64, blas.Float32} {
				if err := gemmOne(ctx, env, s, prec, threads); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// gemmOne measures one shape on all backends in turn, by a program that has a processor for each thread.
func gemmOne(ctx context.Context, env *bench.Env, s gemmShape, prec blas.Precision, threads int) error {
	processors := runtime.GOMAXPROCS(0)
	bench.SetThreads(threads)
	defer func() {
		runtime.GOMAXPROCS(processors)
		blas.SetThreads(env.Threads)
	}()
	flops := 2 * float64(s.m) * float64(s.n) * float64(s.k)
	var all []bench.Contender
	for _, be := range blas.Backends() {
		if be.Name() == "gonum" && threads < env.Threads && flops > 4e9 {
			continue // seconds that show nothing new
		}
		all = append(all, bench.Contender{Name: be.Name(), Run: gemmCall(be, s, prec)})
	}
	params := map[string]any{"m": s.m, "n": s.n, "k": s.k, "precision": prec.String(), "threads": threads}
	return env.Race(ctx, productPlan(env), params, all, func(results []bench.Result) {
		for i := range results {
			results[i].Rate(flops, 0)
		}
	})
}

// productPlan is how products are repeated.
func productPlan(env *bench.Env) bench.Plan {
	return bench.Plan{
		Count: env.Repeats(bench.Pick(env, 5, 9)), Warm: true, Follow: true,
		MinSample: 20 * time.Millisecond, Budget: 2 * time.Second,
	}
}

// gemmCall is one product of random matrices.
func gemmCall(be blas.Backend, s gemmShape, prec blas.Precision) func() error {
	a, b, c := pattern[float64](s.m*s.k), pattern[float64](s.k*s.n), make([]float64, s.m*s.n)
	if prec == blas.Float64 {
		return func() error {
			be.Dgemm(blas.NoTrans, blas.NoTrans, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n)
			return nil
		}
	}
	a32, b32, c32 := pattern[float32](s.m*s.k), pattern[float32](s.k*s.n), make([]float32, s.m*s.n)
	return func() error {
		be.Sgemm(blas.NoTrans, blas.NoTrans, s.m, s.n, s.k, 1, a32, s.k, b32, s.n, 0, c32, s.n)
		return nil
	}
}

// pattern are n numbers from −1/2 to 1/2.
func pattern[T float32 | float64](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(i%17)/16 - 0.5
	}
	return x
}

// againstOpenBLAS adds to the native results how many times as long OpenBLAS took, as the
// median over the rounds: what slows the machine for a while slows both runs of a round.
func againstOpenBLAS(results []bench.Result) {
	for _, other := range results {
		for i := range results {
			if r := &results[i]; r.Name == "native" && other.Name == "openblas" &&
				r.Without("backend") == other.Without("backend") {
				ratios := make([]float64, min(len(r.Samples), len(other.Samples)))
				for round := range ratios {
					ratios[round] = other.Samples[round] / r.Samples[round]
				}
				r.Metric("openblas_over_native", bench.Median(ratios))
			}
		}
	}
}

// gemmFigures is the roofline of all products of the run.
func gemmFigures(_ []bench.Result, f *bench.File) []picture.Figure {
	return roofline(f.Results, f.Machine.Limits).Figures("roofline")
}

// roofline puts every product that was measured in float64 under the
// roofs of this machine: peak, and what each level of memory delivers times the
// operations done with each byte. It has no curve where nothing was measured.
func roofline(results []bench.Result, limits *bench.Limits) picture.Chart {
	fig := picture.Chart{
		Title: "roofline of this machine, float64",
		X:     "operations for each byte (logarithmic)", Y: "GFLOP/s (logarithmic)", LogX: true, LogY: true,
	}
	if limits == nil {
		return fig
	}
	threads := 0 // the most that limits were measured with
	for _, p := range limits.FMA {
		threads = max(threads, p.Threads)
	}
	var points picture.Chart
	for _, r := range results {
		x := intensity(r)
		switch {
		case r.Params["precision"] != "float64" || !(r.GFlops > 0) || !(x > 0):
		case r.Case == "gemm" && int(r.Number("threads")) == threads:
			points.Point("A·B, "+r.Name, x, r.GFlops)
		case r.Case == "operator":
			points.Point("K·X, "+r.Name, x, r.GFlops)
		}
	}
	peak := limits.Peak("float64", threads)
	if points.Curves == nil || peak == 0 {
		return fig
	}
	for _, bytes := range []float64{1 << 20, 24 << 20, 256 << 20} {
		if read := limits.Read(bytes, threads); read > 0 {
			x := []float64{0.1, peak / read, 200}
			fig.Curves = append(fig.Curves, picture.Curve{
				Name: "limit of data in " + bench.Bytes(bytes), Line: true,
				XY: picture.XY(x, []float64{0.1 * read, peak, min(peak, 200*read)}),
			})
		}
	}
	for _, c := range points.Curves {
		c.Dots = true
		fig.Curves = append(fig.Curves, c)
	}
	return fig
}

// intensity is the number of operations for each byte that has to come from
// memory once: what the case counted, or both factors and the result of a product.
func intensity(r bench.Result) float64 {
	if r.GBytes > 0 {
		return r.GFlops / r.GBytes
	}
	m, n, k := r.Number("m"), r.Number("n"), r.Number("k")
	return 2 * m * n * k / (8 * (m*k + k*n + m*n))
}

// Package algebra has the cases about dense kernels: matrix products, the packed
// operator, Gram matrices, eigenpairs and factorizations, as shares of what the machine can do.
package algebra

import (
	"context"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
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
	results, err := bench.Race(ctx, productPlan(env), map[string]any{
		"m": s.m, "n": s.n, "k": s.k, "precision": prec.String(), "threads": threads,
	}, all)
	for i := range results {
		results[i].Rate(flops, 0)
	}
	env.Add(results...)
	return err
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

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// concludeSpeed compares native with each other backend, and Gram matrices with products.
func concludeSpeed(what string) func(group []bench.Result) []string {
	return bench.Say(`
{{$all := without "kernel" "product" .}}
		{{range $other := names .}}{{$r := ratios "native" $other "seconds" $all}}{{if and $r (ne $other "native")}}
		{{$g := geomean $r}}The native backend is
		{{if ge $g 1.0}}{{times $g}} faster{{else}}{{div 1.0 $g | times}} slower{{end}} than {{$other}} on average in
		` + what + ` (its speed is from {{printf "%.2g" (least $r)}} to {{printf "%.2g" (most $r)}} times over
		{{plural (len $r) "shape"}}).
		{{end}}{{end}}{{with named "native" $all | where "memory" "new" | values "of_product"}}
		Native Gram matrices, made in new memory, take shape at {{least . | printf "%.2f"}} to {{most . | printf
"%.2f"}}
		of the speed of the product X·Xᵀ alone, which goes to old memory.
		{{end}}{{with named "native" $all | ordered "of_peak"}}
		At best native computes at {{last . | value "of_peak" | mul 100.0 | printf "%.0f"}} % of this machine's peak.
		{{end}}`)
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
	return machineRoofline(f.Results, f.Machine.Limits).Figures("roofline")
}

// machineRoofline puts every product that was measured in float64 under the
// roofs of this machine: peak, and what each level of memory delivers times the
// operations done with each byte. It has no curve where nothing was measured.
func machineRoofline(results []bench.Result, limits *bench.Limits) picture.Chart {
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
		x, name := intensity(r), ""
		switch {
		case r.Params["precision"] != "float64" || !(r.GFlops > 0) || !(x > 0):
			continue
		case r.Case == "gemm" && int(r.Number("threads")) == threads:
			name = "A·B, " + r.Name
		case r.Case == "operator":
			name = "K·X, " + r.Name
		default:
			continue
		}
		points.Point(name, x, r.GFlops)
	}
	peak := limits.Peak("float64", threads)
	if points.Curves == nil || peak == 0 {
		return fig
	}
	for _, size := range []float64{1 << 20, 24 << 20, 256 << 20} {
		roof := picture.Curve{Name: "limit of data in " + bench.Bytes(size), Line: true}
		read := limits.Read(size, threads)
		if read == 0 {
			continue
		}
		for _, x := range []float64{0.1, peak / read, 200} {
			roof.XY = append(roof.XY, plotter.XY{X: x, Y: min(peak, x*read)})
		}
		fig.Curves = append(fig.Curves, roof)
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

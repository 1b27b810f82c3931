package cases

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
	"github.com/iokl/iokl/kernel"
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

// runOperator multiplies a packed Gram matrix into k columns with every backend;
// with OpenBLAS also through its own symmetric and vector routines, since a user
// of it might choose those.
func runOperator(ctx context.Context, env *bench.Env) error {
	l := bench.Pick(env, 1024, 3060)
	sum, err := data.GaussianGram(ctx, env, l)
	if err != nil {
		return err
	}
	dense := blas.NewGeneral(l, l)
	sum.Dense(dense)
	precisions := []blas.Precision{blas.Float64, blas.Float32}
	packed := map[string]blas.Packed{}
	for _, be := range blas.Backends() {
		for _, prec := range precisions {
			p := be.NewPacked(l, prec)
			if be.Name() == "openblas" {
				// by its own routines, which its operator leaves to the native kernels
				p = blas.NewDensePacked(be, l, prec)
			}
			blas.PackSum(p, []float64{1}, []*blas.Sym{sum.Term(0)})
			packed[be.Name()+prec.String()] = p
		}
	}
	for _, k := range bench.Pick(env, []int{1, 10, 102}, []int{1, 2, 4, 10, 32, 102, 204}) {
		var all []bench.Contender
		for _, prec := range precisions {
			all = append(all, multipliers(env, packed, dense, prec, k)...)
		}
		slices.SortStableFunc(all, func(a, b bench.Contender) int { // what spins last: fewer waits for it to end
			return strings.Compare(a.Name, b.Name)
		})
		params := map[string]any{"l": l, "k": k, "threads": env.Threads}
		err := env.Race(ctx, productPlan(env), params, all, func(part []bench.Result) {
			for i := range part {
				bytes := 8 * float64(l*l) // what a plain multiply reads
				if p := packed[part[i].Name+part[i].Param("precision")]; p != nil {
					bytes = float64(p.Bytes())
				}
				part[i].Rate(2*float64(l*l*k), bytes)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// multipliers are the ways to compute K·X for k columns.
func multipliers(
	env *bench.Env, packed map[string]blas.Packed, dense blas.General, prec blas.Precision, k int,
) []bench.Contender {
	l := dense.Rows
	X, Y := data.Normal(env.Rand(uint64(k)), l, k), blas.NewGeneral(l, k)
	var all []bench.Contender
	add := func(name string, run func()) {
		all = append(all, bench.Contender{
			Name: name, Params: map[string]any{"precision": prec.String()}, Run: func() error { run(); return nil },
		})
	}
	for _, be := range blas.Backends() {
		p := packed[be.Name()+prec.String()]
		add(be.Name(), func() { p.Mul(Y, X) })
		switch {
		case be.Name() != "openblas" || prec != blas.Float64:
		case k == 1:
			add("openblas dgemv", func() {
				be.Dgemv(blas.Trans, l, l, 1, dense.Data, dense.Stride, X.Data, 1, 0, Y.Data, 1)
			})
		default:
			add("openblas dsymm", func() {
				be.Dsymm(blas.Left, blas.Lower, l, k, 1, dense.Data, dense.Stride, X.Data, X.Stride, 0, Y.Data,
					Y.Stride)
			})
		}
	}
	return all
}

// gramKernels are those whose Gram matrices are built.
var gramKernels = []string{"linear", "gaussian", "laplacian", "matern32", "chi2"}

// gramShape is l samples of d features.
type gramShape struct{ l, d int }

// runGram builds the Gram matrices of single kernels with every backend, in turn with the lower triangle of X·Xᵀ alone,
// which goes to memory that is there already. The matrices are made in new memory each time, as by a fit, and in old
// memory too. Operations are counted as the product counts them, two for each feature of each pair of samples, whatever
// the kernel does with a pair, so that rates compare; bytes are those of the samples read and the matrix written.
func runGram(ctx context.Context, env *bench.Env) error {
	for _, s := range bench.Pick(env, []gramShape{{1024, 40}}, []gramShape{
		{500, 40},
		{1000, 40},
		{3060, 10},
		{3060, 40},
		{3060, 100},
	}) {
		l, d := s.l, s.d
		X := data.Normal(env.Rand(5), l, d)
		for i, v := range X.Data {
			X.Data[i] = math.Abs(v)
		}
		all, err := gramContenders(ctx, env, X)
		if err != nil {
			return err
		}
		plan := bench.Plan{
			Count: env.Repeats(7), Warm: true, Follow: true, MinSample: 10 * time.Millisecond, Budget: 2 * time.Second,
		}
		params := map[string]any{"l": l, "d": d, "precision": "float64"}
		err = env.Race(ctx, plan, params, all, func(part []bench.Result) {
			product := map[any]float64{} // seconds, by backend
			for i := range part {
				r := &part[i]
				bytes := float64(blas.SymBytes(l, blas.Float64)) + 8*float64(l*d)
				r.Rate(float64(l*l)*float64(d), bytes)
				r.Metric("million_elements_per_second", float64(l)*float64(l+1)/2/r.Seconds/1e6)
				if r.Params["kernel"] == "product" {
					product[r.Params["backend"]] = r.Seconds
				}
				r.Metric("of_product", product[r.Params["backend"]]/r.Seconds)
			}
			againstOpenBLAS(part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gramContenders are the backends computing X·Xᵀ and the Gram matrices of X.
func gramContenders(ctx context.Context, env *bench.Env, X blas.General) ([]bench.Contender, error) {
	var all []bench.Contender
	add := func(be blas.Backend, kernel, memory string, run func() error) {
		all = append(all, bench.Contender{
			Name: be.Name(), Params: map[string]any{"kernel": kernel, "memory": memory}, Run: run,
		})
	}
	l, d := X.Rows, X.Cols
	G := blas.NewGeneral(l, l)
	for _, be := range blas.Backends() {
		add(be, "product", "old", func() error {
			be.Dsyrk(blas.Lower, blas.NoTrans, l, d, 1, X.Data, d, 0, G.Data, l)
			return nil
		})
	}
	into := []*blas.Sym{blas.NewSym(l, blas.Float64)}
	for _, spec := range gramKernels {
		dict, err := kernel.Build([]string{spec + ":all"}, X, nil, env.Seed)
		if err != nil {
			return nil, err
		}
		for _, be := range blas.Backends() {
			add(be, spec, "new", func() error {
				_, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: be})
				return err
			})
			add(be, spec, "old", func() error {
				_, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: be, Into: into})
				return err
			})
		}
	}
	return all, nil
}

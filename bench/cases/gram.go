package cases

import (
	"context"
	"math"
	"time"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

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

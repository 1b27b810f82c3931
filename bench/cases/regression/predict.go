// This file is the case predict: the rate of predictions for many new points.

package regression

import (
	"context"
	"fmt"
	"runtime"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Register(bench.Case{
		Name: "predict",
		Does: "predicting many new points, as a share of the rate of products",
		Run:  runPredict,
	})
}

// runPredict predicts many new points with a fitted model. What has to be multiplied
// is K_η(X*,X)·(CL), 2tln flops, after the distances of K_η, 2tld; the exponentials
// are not counted. The rate of a plain product of the same shape stands beside it.
func runPredict(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	l := bench.Pick(env, 500, 2000)
	wide, err := predictions(ctx, env, "", l, bench.Pick(env, 4000, 50000), 64, 100)
	if err != nil {
		return wide, err
	}
	narrow, err := predictions(ctx, env, ", 20 inputs and outputs", l, bench.Pick(env, 8000, 100000), 20, 20)
	return append(wide, narrow...), err
}

// predictions measures one shape: t new points of d inputs and n outputs. title ends the names.
func predictions(ctx context.Context, env *bench.Env, title string, l, t, d, n int) ([]bench.Result, error) {
	rng := env.Rand(20)
	X, Xt := blas.Dense(data.Normal(rng, l, d)), blas.Dense(data.Normal(rng, t, d))
	Y := mat.NewDense(l, n, nil)
	Y.Mul(X, blas.Dense(data.Normal(rng, d, n)))
	dst := mat.NewDense(t, n, nil)
	var results []bench.Result
	for _, kernels := range [][]string{{"gaussian:all:median"}, {"gaussian:all:median*0.5,1,2"}} {
		m, err := iokl.Fit(ctx, X, Y, iokl.Options{
			Kernels: kernels, Lambda: 1e-2, Learn: "none", Backend: env.Backend, Seed: env.Seed,
		})
		if err != nil {
			return results, err
		}
		r := bench.Result{
			Name:   fmt.Sprintf("%d Gaussian kernels%s", len(m.Eta()), title),
			Params: map[string]any{"t": t, "l": l, "d": d, "n": n, "kernels": len(m.Eta())},
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := m.PredictTo(dst, Xt); err != nil {
			return results, err
		}
		runtime.ReadMemStats(&after)
		seconds, err := repeat(ctx, env, func() error { return m.PredictTo(dst, Xt) })
		if err != nil {
			return results, err
		}
		r.Time(seconds)
		r.GFlops = 2 * float64(t) * float64(l) * float64(d+n) / r.Seconds / 1e9
		r.Metric("rows a second", float64(t)/r.Seconds)
		r.Metric("allocated MB", float64(after.TotalAlloc-before.TotalAlloc)/1e6)
		results = append(results, r)
	}
	plain, err := plainProduct(ctx, env, title, t, l, d+n)
	return append(results, plain), err
}

// repeat times f.
func repeat(ctx context.Context, env *bench.Env, f func() error) ([]float64, error) {
	samples, err := bench.Interleave(ctx, bench.Plan{Count: env.Repeats(3)}, []bench.Variant{{Run: f}})
	return samples[0], err
}

// plainProduct multiplies blocks of a t×l matrix by an l×k matrix, as prediction does.
func plainProduct(ctx context.Context, env *bench.Env, title string, t, l, k int) (bench.Result, error) {
	const block = 1024
	rng := env.Rand(21)
	K, B, P := data.Normal(rng, block, l), data.Normal(rng, l, k), blas.NewGeneral(block, k)
	r := bench.Result{Name: "the products alone" + title, Params: map[string]any{"t": t, "l": l, "k": k}}
	seconds, err := repeat(ctx, env, func() error {
		for range t / block {
			blas.Mul(env.Backend, P, false, false, K, B)
		}
		return nil
	})
	r.Time(seconds)
	r.GFlops = 2 * float64(t/block*block) * float64(l) * float64(k) / r.Seconds / 1e9
	return r, err
}

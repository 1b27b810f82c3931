// This file is the case ridge: ridge regression on explicit features beside scikit-learn.

package peers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/regularizer"
	"github.com/iokl/iokl/rff"
)

func init() {
	bench.Register(bench.Case{
		Name:    "ridge",
		Does:    "ridge regression on random features beside scikit-learn on the same data",
		Run:     runRidge,
		Minutes: 1.5,
	})
}

// ridgeData is a regression problem, the same for all contenders.
type ridgeData struct {
	X, Y, Xt, Yt  blas.General
	features      int
	width, lambda float64
}

// runRidge fits ridge regression on random and on Nyström features of a Gaussian
// kernel, with one kernel and L = I, beside scikit-learn on the same data.
func runRidge(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	l, d, n := bench.Pick(env, 4000, 20000), 20, 50
	p := &ridgeData{features: bench.Pick(env, 300, 1000), width: 5, lambda: 1e-5}
	p.X, p.Y, p.Xt, p.Yt = data.SmoothSamples(env.Rand(41), l, 2000, d, n)
	var results []bench.Result
	for _, method := range []string{"rff", "rff phases", "rff qmc phases", "nystrom"} {
		r, err := p.ours(ctx, env, method)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	theirs, err := otherPrograms(ctx, env, peerJob{
		script: "rff_ridge.py", count: p.draws(env, "rff"), params: p.params(), data: map[string]blas.General{
			"X": p.X, "Y": p.Y, "Xt": p.Xt, "Yt": p.Yt,
		},
		args: []string{
			strconv.Itoa(p.features), fmt.Sprint(1 / (2 * p.width * p.width)),
			fmt.Sprint(p.lambda * float64(l)), strconv.Itoa(p.draws(env, "nystrom")),
		},
	})
	return append(results, theirs...), err
}

func (r *ridgeData) params() map[string]any {
	return map[string]any{"l": r.X.Rows, "d": r.X.Cols, "n": r.Y.Cols, "D": r.features}
}

// draws is the number of draws of features that errors are averages over. One draw
// of random features differs from the next by some 4 % of the error, which takes
// more of them to tell from another program's.
func (r *ridgeData) draws(env *bench.Env, method string) int {
	if strings.HasPrefix(method, "rff") {
		return env.Repeats(bench.Pick(env, 8, 32))
	}
	return env.Repeats(8)
}

// ours takes the features, sums them and solves (Γ + λl·I)W = H.
func (r *ridgeData) ours(ctx context.Context, env *bench.Env, method string) (bench.Result, error) {
	out := bench.Result{Name: "iokl " + method, Params: r.params()}
	words := strings.Fields(method)
	spec := strings.Join(append([]string{fmt.Sprintf("%s:gaussian:all:%g:%d", words[0], r.width, r.features)},
		words[1:]...), ":")
	var samples, mse []float64
	for repeat := range 1 + r.draws(env, method) { // the first warms up
		start := time.Now()
		dict, err := kernel.Build([]string{spec}, r.X, nil, env.Seed)
		if err != nil {
			return out, err
		}
		maps, err := rff.NewMaps(ctx, dict, r.X, env.Seed+uint64(repeat))
		if err != nil {
			return out, err
		}
		W, err := r.solve(ctx, env, maps)
		if err != nil {
			return out, err
		}
		seconds := time.Since(start).Seconds()
		if repeat == 0 {
			continue
		}
		samples = append(samples, seconds)
		P, err := data.FeaturePredictions(env, maps, r.Xt, W)
		if err != nil {
			return out, err
		}
		blas.AddScaled(P, -1, r.Yt)
		e := blas.Frob(P)
		mse = append(mse, e*e/float64(P.Rows*P.Cols))
	}
	out.Time(samples)
	out.Metric("test_mse", stat.Mean(mse, nil))
	out.Metric("test_mse_stderr", stat.StdErr(stat.StdDev(mse, nil), float64(len(mse))))
	return out, nil
}

func (r *ridgeData) solve(ctx context.Context, env *bench.Env, maps rff.Maps) (blas.General, error) {
	sums, err := data.FeatureSums(ctx, env, maps, r.X, r.Y)
	if err != nil {
		return blas.General{}, err
	}
	n := r.Y.Cols
	res, err := bcd.Solve(ctx, &bcd.Problem{
		Space: data.FeatureSpace(env, maps, sums), Lambda: r.lambda, Tau: float64(n), Norm: regularizer.Lp{P: 1},
		Eta: []float64{1}, L: linop.ScaledIdentity(n, 1), Model: bcd.Neither,
	}, bcd.Options{Sylvester: "cholesky", Tol: 1e-6, Backend: env.Backend, Seed: env.Seed})
	if err != nil {
		return blas.General{}, err
	}
	return res.C, nil
}

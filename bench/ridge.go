package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
)

// ridgeData is a regression problem, the same for all contenders.
type ridgeData struct {
	X, Y, Xt, Yt  blas.General
	features      int
	width, lambda float64
}

// runRidge fits ridge regression on random and on Nyström features of a Gaussian
// kernel, with one kernel and L = I, beside scikit-learn on the same data.
func runRidge(ctx context.Context, env *Env) ([]Result, error) {
	l, d, n := pick(env, 4000, 20000), 20, 50
	data := &ridgeData{features: pick(env, 300, 1000), width: 5, lambda: 1e-5}
	data.X, data.Y, data.Xt, data.Yt = smoothSamples(env.rng(41), l, 2000, d, n)
	var results []Result
	for _, method := range []string{"rff", "rff phases", "rff qmc phases", "nystrom"} {
		r, err := data.ours(ctx, env, method)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	theirs, err := env.theirs(ctx, peerJob{
		script: "rff_ridge.py", count: data.draws(env, "rff"), params: data.params(), data: map[string]blas.General{"X": data.X, "Y": data.Y, "Xt": data.Xt, "Yt": data.Yt},
		args: []string{strconv.Itoa(data.features), fmt.Sprint(1 / (2 * data.width * data.width)), fmt.Sprint(data.lambda * float64(l)), strconv.Itoa(data.draws(env, "nystrom"))},
	})
	return append(results, theirs...), err
}

// smoothSamples draws l samples X (l×d) to train on, tests more to test on, and n
// targets that are mixtures of three smooth functions of the inputs, with noise.
func smoothSamples(rng *rand.Rand, l, tests, d, n int) (X, Y, Xt, Yt blas.General) {
	X, Y = blas.NewGeneral(l+tests, d), blas.NewGeneral(l+tests, n)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	for i := range X.Rows {
		x, y := blas.Row(X, i), blas.Row(Y, i)
		f := [3]float64{math.Sin(x[0] + x[1]), math.Exp(-x[2] * x[2]), x[3] * x[4] / 2}
		for j := range y {
			y[j] = f[j%3] + f[(j+1)%3]*float64(j)/float64(n) + 0.1*rng.NormFloat64()
		}
	}
	return blas.View(X, 0, 0, l, d), blas.View(Y, 0, 0, l, n), blas.View(X, l, 0, tests, d), blas.View(Y, l, 0, tests, n)
}

func (r *ridgeData) params() map[string]any {
	return map[string]any{"l": r.X.Rows, "d": r.X.Cols, "n": r.Y.Cols, "D": r.features}
}

// draws is the number of draws of features that errors are averages over. One draw
// of random features differs from the next by some 4 % of the error, which takes
// more of them to tell from another program's.
func (r *ridgeData) draws(env *Env, method string) int {
	if strings.HasPrefix(method, "rff") {
		return env.count(pick(env, 8, 32))
	}
	return env.count(8)
}

// ours takes the features, sums them and solves (Γ + λl·I)W = H.
func (r *ridgeData) ours(ctx context.Context, env *Env, method string) (Result, error) {
	out := Result{Name: "iokl " + method, Params: r.params()}
	words := strings.Fields(method)
	spec := strings.Join(append([]string{fmt.Sprintf("%s:gaussian:all:%g:%d", words[0], r.width, r.features)}, words[1:]...), ":")
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
		P, err := featurePredictions(env, maps, r.Xt, W)
		if err != nil {
			return out, err
		}
		blas.AddScaled(P, -1, r.Yt)
		e := blas.Frob(P)
		mse = append(mse, e*e/float64(P.Rows*P.Cols))
	}
	out.time(samples)
	out.metric("test_mse", stat.Mean(mse, nil))
	if len(mse) > 1 {
		out.metric("test_mse_stderr", standardError(mse))
	}
	return out, nil
}

func (r *ridgeData) solve(ctx context.Context, env *Env, maps rff.Maps) (blas.General, error) {
	sums, err := onePass(ctx, env, maps, r.X, r.Y)
	if err != nil {
		return blas.General{}, err
	}
	n := r.Y.Cols
	res, err := bcd.Solve(ctx, &bcd.Problem{
		Space:  featureSpace(env, maps, sums),
		Lambda: r.lambda, Tau: float64(n), Norm: bcd.Lp{P: 1},
		Eta: []float64{1}, L: linop.ScaledIdentity(n, 1), FixEta: true, FixL: true,
	}, bcd.Options{Sylvester: "cholesky", Tol: 1e-6, Backend: env.Backend, Seed: env.Seed})
	if err != nil {
		return blas.General{}, err
	}
	return res.C, nil
}

package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/rff"
	"github.com/iokl/iokl/stream"
)

const (
	scaleInputs  = 20
	scaleOutputs = 20
	scaleBlock   = 4096
)

// generator hands out l random rows: standard normal inputs, and targets that are
// smooth functions of them with noise.
type generator struct {
	l, at int64
	rng   *rand.Rand
	mix   blas.General
	be    blas.Backend
	X, Y  blas.General
}

func newGenerator(env *Env, l int64, stream uint64) *generator {
	g := &generator{l: l, rng: env.rng(stream), be: env.Backend, mix: blas.NewGeneral(scaleInputs, scaleOutputs)}
	g.X, g.Y = blas.NewGeneral(scaleBlock, scaleInputs), blas.NewGeneral(scaleBlock, scaleOutputs)
	mix := env.rng(99) // the same function whatever the rows
	for i := range g.mix.Data {
		g.mix.Data[i] = mix.NormFloat64() / math.Sqrt(scaleInputs)
	}
	return g
}

// Next makes the next block of rows.
func (g *generator) Next() (stream.Block, error) {
	if g.at == g.l {
		return stream.Block{}, io.EOF
	}
	rows := int(min(scaleBlock, g.l-g.at))
	X, Y := blas.View(g.X, 0, 0, rows, scaleInputs), blas.View(g.Y, 0, 0, rows, scaleOutputs)
	for i := range X.Data {
		X.Data[i] = g.rng.NormFloat64()
	}
	blas.Mul(g.be, Y, false, false, X, g.mix)
	for i := range Y.Data {
		Y.Data[i] = math.Sin(Y.Data[i]) + 0.3*g.rng.NormFloat64()
	}
	b := stream.Block{X: X, Y: Y, Row: g.at, Source: "generated"}
	g.at += int64(rows)
	return b, nil
}

// scaleMaps are four Gaussian kernels of different width with so many features each.
func scaleMaps(env *Env, features int) (rff.Maps, error) {
	probe, err := newGenerator(env, 1000, 3).Next()
	if err != nil {
		return nil, err
	}
	d, err := kernel.Build([]string{fmt.Sprintf("rff:gaussian:all:median*0.5,1,2,4:%d", features)}, probe.X, nil, env.Seed)
	if err != nil {
		return nil, err
	}
	return rff.NewMaps(d, probe.X, env.Seed)
}

// runScale streams more and more rows through random features and fits what is
// left of them, whose cost does not depend on how many there were.
func runScale(ctx context.Context, env *Env) ([]Result, error) {
	maps, err := scaleMaps(env, pick(env, 125, 500))
	if err != nil {
		return nil, err
	}
	limits := env.Limits()
	var results []Result
	for _, l := range pick(env, []int64{4096, 16384, 65536}, []int64{1e4, 1e5, 1e6}) {
		before := gemmRates(env, maps.Dim())
		r, err := scaleOne(ctx, env, maps, l)
		if err != nil {
			return results, err
		}
		D := float64(maps.Dim())
		r.rate(float64(l)*(D*D+2*D*scaleOutputs+D*scaleInputs), 0, limits.Peak("float64", env.Threads), 0)
		gemm := median(append(before, gemmRates(env, maps.Dim())...))
		r.metric("gemm_gflops", gemm)
		r.metric("of_gemm", r.GFlops/gemm)
		results = append(results, r)
		env.Log("  l = %d: %.1f s", l, r.Seconds)
	}
	return results, nil
}

// gemmRates are the GFLOP/s of some products of order n, taken just before and
// after a pass so that both see the machine in the same state.
func gemmRates(env *Env, n int) []float64 {
	a, c := blas.NewGeneral(n, n), blas.NewGeneral(n, n)
	for i := range a.Data {
		a.Data[i] = float64(i%17)/16 - 0.5
	}
	rates := make([]float64, pick(env, 3, 5))
	for i := range rates {
		start := time.Now()
		blas.Mul(env.Backend, c, true, false, a, a)
		rates[i] = 2 * math.Pow(float64(n), 3) / time.Since(start).Seconds() / 1e9
	}
	return rates
}

// scaleOne is one pass and the fit after it.
func scaleOne(ctx context.Context, env *Env, maps rff.Maps, l int64) (Result, error) {
	r := Result{Name: fmt.Sprintf("l = %d", l), Params: map[string]any{"l": l, "D": maps.Dim(), "n": scaleOutputs, "d": scaleInputs, "m": len(maps)}}
	resetPeakRSS()
	start := time.Now()
	acc := stream.New(maps, scaleInputs, scaleOutputs, stream.Options{Seed: env.Seed, Backend: env.Backend})
	if err := acc.Run(ctx, newGenerator(env, l, 17)); err != nil {
		return r, err
	}
	sums, err := acc.Sums()
	if err != nil {
		return r, err
	}
	r.time([]float64{time.Since(start).Seconds()})
	start = time.Now()
	res, err := fitSums(ctx, env, maps, sums[0])
	if err != nil {
		return r, err
	}
	r.Params["seconds_after_pass"] = time.Since(start).Seconds()
	r.metric("rows_per_second", float64(l)/r.Seconds)
	r.Objective, r.RelativeGap = Num(res.Objective), Num(res.RelativeGap)
	r.PeakRSS = peakRSS()
	return r, nil
}

// fitSums learns kernels and outputs from the sums alone.
func fitSums(ctx context.Context, env *Env, maps rff.Maps, s stream.Sums) (*bcd.Result, error) {
	var yy float64
	for _, v := range s.YY {
		yy += v
	}
	p := &bcd.Problem{
		Space:  bcd.NewFeatures(s.Gamma, s.H, yy, int(s.Rows), maps.Blocks(), env.Backend),
		Lambda: 1e-4, Tau: scaleOutputs, Norm: bcd.Lp{P: 1.5},
	}
	return bcd.Solve(ctx, p, bcd.Options{Tol: 1e-3, Backend: env.Backend, Seed: env.Seed})
}

// runRFF measures how near random features come to their kernel as they grow in
// number, for each way to draw them.
func runRFF(ctx context.Context, env *Env) ([]Result, error) {
	l, d := pick(env, 400, 1000), scaleInputs
	rng := env.rng(23)
	X := blas.NewGeneral(l, d)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	var results []Result
	for _, kind := range []string{"gaussian", "laplacian", "matern32", "cauchy"} {
		exact, err := denseGram(ctx, env, kind+":all", X)
		if err != nil {
			return results, err
		}
		samplers := []string{"orthogonal", "mc", "qmc"}
		if kind == "gaussian" || kind == "matern32" {
			samplers = append(samplers, "hadamard") // serves kernels of the Euclidean distance
		}
		for _, sampler := range samplers {
			for _, D := range pick(env, []int{64, 256}, []int{64, 128, 256, 512, 1024, 2048, 4096}) {
				if err := ctx.Err(); err != nil {
					return results, err
				}
				r, err := featureError(env, fmt.Sprintf("rff:%s:all:median:%d:%s", kind, D, sampler), X, exact)
				if err != nil {
					return results, err
				}
				r.Name = sampler
				r.Params = map[string]any{"kernel": kind, "D": D, "l": l, "d": d}
				results = append(results, r)
			}
		}
	}
	return results, nil
}

func denseGram(ctx context.Context, env *Env, spec string, X blas.General) (blas.General, error) {
	dict, err := kernel.Build([]string{spec}, X, nil, env.Seed)
	if err != nil {
		return blas.General{}, err
	}
	grams, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: env.Backend})
	if err != nil {
		return blas.General{}, err
	}
	K, sum := blas.NewGeneral(X.Rows, X.Rows), linop.NewGramSum(grams, env.Backend, blas.Float64)
	sum.SetWeights([]float64{1})
	sum.Dense(K)
	return K, nil
}

// featureError times the transform and records ‖ZZᵀ − K‖_F/‖K‖_F, the mean over
// several draws.
func featureError(env *Env, spec string, X, exact blas.General) (Result, error) {
	var r Result
	dict, err := kernel.Build([]string{spec}, X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	var samples []float64
	var errors []float64
	for draw := range uint64(5) {
		maps, err := rff.NewMaps(dict, X, env.Seed+draw)
		if err != nil {
			return r, err
		}
		Z, K := blas.NewGeneral(X.Rows, maps.Dim()), blas.Clone(exact)
		start := time.Now()
		if err := maps.Transform(Z, X); err != nil {
			return r, err
		}
		samples = append(samples, time.Since(start).Seconds())
		blas.Gemm(env.Backend, false, true, 1, Z, Z, -1, K)
		errors = append(errors, blas.Frob(K)/blas.Frob(exact))
	}
	r.time(samples)
	r.metric("kernel_error", average(errors))
	return r, nil
}

// runNystrom fits the same data by exact Gram matrices, random and Nyström
// features: time, and the error on held-out samples.
func runNystrom(ctx context.Context, env *Env) ([]Result, error) {
	l := int64(pick(env, 1000, 4000))
	train, test := newGenerator(env, l, 31), newGenerator(env, 2000, 32)
	X, Y, err := drain(train)
	if err != nil {
		return nil, err
	}
	Xt, Yt, err := drain(test)
	if err != nil {
		return nil, err
	}
	var results []Result
	exact, err := exactRidge(ctx, env, X, Y, Xt, Yt)
	if err != nil {
		return nil, err
	}
	results = append(results, exact)
	for _, D := range pick(env, []int{200}, []int{250, 500, 1000, 2000}) {
		for _, spec := range []string{
			"rff:gaussian:all:median:%d", "nystrom:gaussian:all:median:%d:uniform",
			"nystrom:gaussian:all:median:%d:kmeans", "nystrom:gaussian:all:median:%d:leverage",
		} {
			r, err := featureRidge(ctx, env, fmt.Sprintf(spec, D), X, Y, Xt, Yt)
			if err != nil {
				return results, err
			}
			r.Params["D"], r.Params["l"], r.Params["n"] = D, l, scaleOutputs
			results = append(results, r)
		}
	}
	return results, nil
}

// drain collects all rows of a generator.
func drain(g *generator) (X, Y blas.General, err error) {
	X, Y = blas.NewGeneral(int(g.l), scaleInputs), blas.NewGeneral(int(g.l), scaleOutputs)
	for at := 0; ; {
		b, err := g.Next()
		if err == io.EOF {
			return X, Y, nil
		}
		if err != nil {
			return X, Y, err
		}
		blas.Copy(blas.View(X, at, 0, b.X.Rows, scaleInputs), b.X)
		blas.Copy(blas.View(Y, at, 0, b.Y.Rows, scaleOutputs), b.Y)
		at += b.X.Rows
	}
}

// nystromLambda regularizes all fits of the case alike.
const nystromLambda = 1e-4

func exactRidge(ctx context.Context, env *Env, X, Y, Xt, Yt blas.General) (Result, error) {
	r := Result{Name: "exact kernel", Params: map[string]any{"l": X.Rows, "n": Y.Cols}}
	start := time.Now()
	dict, err := kernel.Build([]string{"gaussian:all:median"}, X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	grams, err := dict.Grams(ctx, X, kernel.GramOptions{Backend: env.Backend})
	if err != nil {
		return r, err
	}
	p := &bcd.Problem{
		Space:  bcd.NewSamples(linop.NewGramSum(grams, env.Backend, blas.Float64), Y),
		Lambda: nystromLambda, Tau: float64(Y.Cols), FixEta: true, FixL: true,
	}
	res, err := bcd.Solve(ctx, p, bcd.Options{Tol: 1e-4, Backend: env.Backend, Seed: env.Seed})
	if err != nil {
		return r, err
	}
	r.time([]float64{time.Since(start).Seconds()})
	K, P := blas.NewGeneral(Xt.Rows, X.Rows), blas.NewGeneral(Yt.Rows, Yt.Cols)
	if err := dict.CrossSum(K, res.Eta, Xt, X); err != nil {
		return r, err
	}
	blas.Mul(env.Backend, P, false, false, K, res.C) // L = I
	r.metric("r2", r2(P, Yt))
	r.Objective = Num(res.Objective)
	return r, nil
}

func featureRidge(ctx context.Context, env *Env, spec string, X, Y, Xt, Yt blas.General) (Result, error) {
	r := Result{Name: spec[:len("rff")], Params: map[string]any{"features": spec}}
	if spec[:3] == "nys" {
		r.Name = "nystrom"
	}
	start := time.Now()
	dict, err := kernel.Build([]string{spec}, X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	maps, err := rff.NewMaps(dict, X, env.Seed)
	if err != nil {
		return r, err
	}
	acc := stream.New(maps, X.Cols, Y.Cols, stream.Options{Seed: env.Seed, Backend: env.Backend})
	if err := acc.Run(ctx, stream.FromMatrices("rows", X, Y)); err != nil {
		return r, err
	}
	sums, err := acc.Sums()
	if err != nil {
		return r, err
	}
	var yy float64
	for _, v := range sums[0].YY {
		yy += v
	}
	p := &bcd.Problem{
		Space:  bcd.NewFeatures(sums[0].Gamma, sums[0].H, yy, X.Rows, maps.Blocks(), env.Backend),
		Lambda: nystromLambda, Tau: float64(Y.Cols), FixEta: true, FixL: true,
	}
	res, err := bcd.Solve(ctx, p, bcd.Options{Tol: 1e-4, Backend: env.Backend, Seed: env.Seed})
	if err != nil {
		return r, err
	}
	r.time([]float64{time.Since(start).Seconds()})
	Z, P := blas.NewGeneral(Xt.Rows, maps.Dim()), blas.NewGeneral(Yt.Rows, Yt.Cols)
	if err := maps.Transform(Z, Xt); err != nil {
		return r, err
	}
	blas.Mul(env.Backend, P, false, false, Z, res.C) // L = I and η = 1
	r.metric("r2", r2(P, Yt))
	r.Objective = Num(res.Objective)
	return r, nil
}

// r2 is 1 − ‖Y − P‖²/‖Y − Ȳ‖².
func r2(P, Y blas.General) float64 {
	mean := make([]float64, Y.Cols)
	for i := range Y.Rows {
		blas.Axpy(1/float64(Y.Rows), blas.Row(Y, i), mean)
	}
	var miss, total float64
	for i := range Y.Rows {
		p := blas.Row(P, i)
		for j, y := range blas.Row(Y, i) {
			miss += (y - p[j]) * (y - p[j])
			total += (y - mean[j]) * (y - mean[j])
		}
	}
	return 1 - miss/total
}

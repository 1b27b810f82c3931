// Package features has the cases about random and Nyström features: their error, and
// fits of streams and of MPI ranks.
package features

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/rff"
)

func init() {
	bench.Register(bench.Case{
		Name:     "rff",
		Does:     "random features: error of the kernel against their number, by way of drawing them",
		Run:      runRFF,
		Minutes:  1.5,
		Conclude: concludeFeatures,
		Figures:  featureFigures,
	})
}

// featureKernels are SPECs of the kernels that have random Fourier features.
var featureKernels = func() (specs []string) {
	for _, kind := range kernel.Kinds() {
		if kind.HasFrequencies() {
			specs = append(specs, kind.Example())
		}
	}
	return specs
}()

// samplers are the ways to draw the frequencies of a kernel. Hadamard blocks
// serve kernels of the Euclidean distance.
func samplers(spec string) []string {
	kind, _, _ := strings.Cut(spec, ":")
	if radial, _ := (&kernel.Kernel{Kind: kernel.Kind(kind)}).Frequencies(); radial == nil {
		return []string{"orthogonal", "orthogonal:phases", "mc", "qmc"}
	}
	return []string{"orthogonal", "orthogonal:phases", "mc", "qmc", "hadamard"}
}

// runRFF measures how near random features come to their kernel as they grow in
// number, for each way to draw them, and what a fit with them loses and gains.
func runRFF(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	results, err := kernelErrors(ctx, env)
	if err != nil {
		return results, err
	}
	more, err := featureFits(ctx, env)
	return append(results, more...), err
}

func kernelErrors(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	l, d := bench.Pick(env, 400, 1000), scaleInputs
	X := data.Normal(env.Rand(23), l, d)
	var results []bench.Result
	for _, kind := range featureKernels {
		exact, err := denseGram(env, kind+":all", X)
		if err != nil {
			return results, err
		}
		for _, sampler := range samplers(kind) {
			for _, D := range bench.Pick(env, []int{64, 256}, []int{64, 128, 256, 512, 1024, 2048, 4096}) {
				if err := ctx.Err(); err != nil {
					return results, err
				}
				r, err := featureError(ctx, env, featureSpec(kind, D, sampler), X, exact)
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

func featureSpec(kind string, D int, sampler string) string {
	return fmt.Sprintf("rff:%s:all:median:%d:%s", kind, D, sampler)
}

// fitName tells the fits with features apart from the features alone.
func fitName(sampler string) string { return "fit, " + sampler }

// featureFits fits by random features what the Gram matrix of the same kernel fits.
func featureFits(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	f, err := newFits(env, bench.Pick(env, 500, 4000))
	if err != nil {
		return nil, err
	}
	var results []bench.Result
	for _, kind := range []string{"gaussian", "laplacian", "matern32"} {
		exact, err := f.byGram(ctx, env, kind+":all:median")
		if err != nil {
			return results, err
		}
		exact.Params["kernel"] = kind
		results = append(results, exact)
		for _, sampler := range samplers(kind) {
			for _, D := range bench.Pick(env, []int{256}, []int{512, 1024, 2048}) {
				r, err := f.byFeatures(ctx, env, fitName(sampler), featureSpec(kind, D, sampler))
				if err != nil {
					return results, err
				}
				r.Params["kernel"], r.Params["D"] = kind, D
				results = append(results, r)
			}
		}
	}
	return results, nil
}

// denseGram is the Gram matrix of one kernel.
func denseGram(env *bench.Env, spec string, X blas.General) (blas.General, error) {
	K := blas.NewGeneral(X.Rows, X.Rows)
	dict, err := kernel.Build([]string{spec}, X, nil, env.Seed)
	if err != nil {
		return K, err
	}
	return K, dict.CrossSum(K, []float64{1}, X, X)
}

// featureError times the transform and records ‖ZZᵀ − K‖_F/‖K‖_F, the mean over
// several draws.
func featureError(ctx context.Context, env *bench.Env, spec string, X, exact blas.General) (bench.Result, error) {
	var r bench.Result
	dict, err := kernel.Build([]string{spec}, X, nil, env.Seed)
	if err != nil {
		return r, err
	}
	var samples []float64
	var errors []float64
	for draw := range uint64(5) {
		maps, err := rff.NewMaps(ctx, dict, X, env.Seed+draw)
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
	r.Time(samples)
	r.Metric("kernel_error", stat.Mean(errors, nil))
	return r, nil
}

// concludeFeatures compares the ways to draw random features by their error at equal numbers, and the fits.
func concludeFeatures(group []bench.Result) []string {
	return append(concludeDraws(group), concludeFits(group)...)
}

var concludeDraws = bench.Say(`
{{$all := .}}{{range $name := names .}}{{with ratios "orthogonal" $name "kernel_error" $all}}
{{if ne $name "orthogonal"}}At equal number of features, drawing them {{printf "%q" $name}} leaves
{{geomean . | printf "%.2g"}} times the kernel error of orthogonal ones on average ({{least . | printf "%.2g"}} to
{{most . | printf "%.2g"}}).
{{end}}{{end}}{{end}}`)

// This file is the case sparse: whether kernel weights single out the relevant inputs.

package learning

import (
	"context"
	"math"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/regularizer"
)

func init() {
	bench.Register(bench.Case{
		Name:     "sparse",
		Does:     "finding 3 relevant inputs among 10 with 130 kernels",
		Run:      runSparse,
		Conclude: concludeSparse,
	})
}

const (
	sparseInputs   = 10
	sparseRelevant = 3
	sparseOutputs  = 5
	sparseWidths   = 13
)

// sparseTask has targets that depend on the first three of ten inputs, and a
// Gaussian kernel for each input at each of 13 widths.
func sparseTask(ctx context.Context, env *bench.Env, l int) (*task, error) {
	rng := env.Rand(13)
	t := &task{
		X: blas.NewGeneral(l, sparseInputs), Y: blas.NewGeneral(l, sparseOutputs), lambda: 1e-3,
		norm: regularizer.Lp{P: 1},
	}
	for i := range t.X.Data {
		t.X.Data[i] = 4*rng.Float64() - 2
	}
	mix := data.Normal(rng, sparseRelevant, sparseOutputs)
	for i := range l {
		x, y := blas.Row(t.X, i), blas.Row(t.Y, i)
		shape := []float64{math.Sin(2 * x[0]), x[1] * x[1] / 2, math.Exp(-x[2])/2 - 1}
		for j := range y {
			for k, s := range shape {
				y[j] += s * blas.Row(mix, k)[j]
			}
			y[j] += 0.1 * rng.NormFloat64()
		}
	}
	data.Standardise(t.Y, blas.General{})
	d, err := kernel.Build([]string{"gaussian:each:2^-6..2^6"}, t.X, nil, env.Seed)
	if err != nil {
		return nil, err
	}
	return t, t.build(ctx, env, d, blas.General{})
}

// runSparse finds the relevant inputs among many by p = 1.
func runSparse(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	t, err := sparseTask(ctx, env, bench.Pick(env, 200, 1000))
	if err != nil {
		return nil, err
	}
	budget := bench.Duration(bench.Pick(env, 4.0, 30))
	results, err := fitAll(ctx, env, t, []approach{
		{name: "reduced-fast", opt: bcd.Options{Tol: 1e-6}, budget: budget},
		{name: "reduced-exact", opt: bcd.Options{Tol: 1e-6, Sylvester: "eigen"}, budget: budget},
		{name: "closed-exact", opt: bcd.Options{Tol: 1e-6, Solver: "closed", Sylvester: "eigen"}, budget: budget},
	})
	for i := range results {
		right, stray := inputWeights(results[i].eta)
		results[i].Metric("weight_on_relevant", right)
		results[i].Metric("largest_stray_weight", stray)
	}
	timeToTarget(results)
	return lines(results), err
}

// inputWeights are the share of the weight on kernels of relevant inputs, and the
// largest share on any other input.
func inputWeights(eta []float64) (right, stray float64) {
	if len(eta) == 0 {
		return math.NaN(), math.NaN()
	}
	perInput := make([]float64, sparseInputs)
	var total float64
	for j, v := range eta {
		perInput[j/sparseWidths] += v
		total += v
	}
	for i, v := range perInput {
		if i < sparseRelevant {
			right += v / total
			continue
		}
		stray = max(stray, v/total)
	}
	return right, stray
}

var concludeSparse = bench.Say(`
{{range named "reduced-fast" .}}Of ten inputs the three relevant ones get
{{value "weight_on_relevant" . | mul 100.0 | printf "%.1f"}} % of the weight and no other more than
{{value "largest_stray_weight" . | mul 100.0 | printf "%.1f"}} %, after {{value "c_solves" . | printf "%.0f"}} solves of
the linear system.{{end}}`)

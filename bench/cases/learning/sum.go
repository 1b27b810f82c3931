// This file is the case sum: an output kernel for each kernel against one of all.

package learning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/picture"
	"github.com/iokl/iokl/regularizer"
)

func init() {
	bench.Register(bench.Case{
		Name: "sum",
		Does: "an output kernel for each kernel against one L: errors with paired standard errors, time, global " +
			"gaps; one set alone is sum:SET",
		Run:     runSum,
		Minutes: 15,
		Parts: []string{
			"caltech", "leaves", "slump", "andro", "edm", "jura", "enb", "scpf", "wq", "oes97", "rf1", "wheat",
		},
		Conclude: concludeSum,
		Figures:  sumCurves,
	})
}

// The lines of a set.
const (
	sumProduct = "one L"
	sumSum     = "an L each"
	sumEither  = "chosen of the two"
)

func runSum(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	switch env.Part {
	case "caltech":
		t, err := caltechTask(ctx, env, bench.Pick(env, 5, caltechSamples))
		if err != nil {
			return nil, err
		}
		return sumGaps(ctx, env, t)
	case "leaves":
		t, err := leaves(env).task(ctx, env)
		if err != nil {
			return nil, err
		}
		t.lambda, t.norm = 1e-3, regularizer.Lp{P: 1}
		return sumGaps(ctx, env, t)
	}
	return sumErrors(ctx, env, env.Part)
}

// sumGaps minimises both models to a relative gap of 1e-3 and finds how far the product is
// from what the sum's bound leaves possible. The time of the sum includes its start, the product.
func sumGaps(ctx context.Context, env *bench.Env, t *task) ([]bench.Result, error) {
	var results []outcome
	var err error
	for _, a := range []approach{
		{name: sumProduct, opt: bcd.Options{Tol: 1e-3}},
		{name: sumSum, opt: bcd.Options{Tol: 1e-3}, model: bcd.Sum, budget: bench.Duration(bench.Pick(env, 20.0, 300))},
	} {
		bench.ResetPeakRSS()
		var part []outcome
		part, err = fitAll(ctx, env, t, []approach{a})
		for i := range part {
			part[i].PeakRSS = bench.PeakRSS()
		}
		if results = append(results, part...); err != nil {
			break
		}
	}
	out := lines(results)
	for i := range out {
		out[i].Params["set"] = env.Part
		if len(out) == 2 && out[1].Objective != nil && out[0].Objective != nil {
			low := *out[1].Objective * (1 - *out[1].RelativeGap)
			out[i].Metric("global_gap", 1 - low / *out[i].Objective)
		}
	}
	return out, err
}

// sumKernels are, on inputs of variance 1/d, a linear kernel and Gaussians exp(−r²/(w·median r)²) for w of 1/4 to 2,
// all of mean diagonal 1. Those of sumRows rows or more have explicit features.
var (
	sumKernels  = []string{"gaussian:all:median*0.17677670,0.35355339,0.70710678,1.41421356", "linear:all"}
	sumFeatures = []string{"nystrom:" + sumKernels[0] + ":200", sumKernels[1]}
)

const sumRows = 4000

// sumErrors cross-validates both models and the choice between them, the norm and λ chosen as Fit
// does within each of ten folds, and the error of a fold being the mean over targets of √(Σ(y−ŷ)²/Σ(y−ȳ_train)²).
func sumErrors(ctx context.Context, env *bench.Env, set string) (results []bench.Result, err error) {
	if env.Quick {
		return nil, fmt.Errorf("%w: cross-validation within ten folds takes minutes; run it without --quick",
			bench.ErrSkipped)
	}
	X, Y, err := sumData(env, set)
	if err != nil {
		return nil, err
	}
	splits, err := iokl.Folds(X.Rows, 10, 1, nil, false, env.Seed)
	if err != nil {
		return nil, err
	}
	models, kernels := []iokl.ModelKind{"product", "sum"}, sumKernels
	if X.Rows >= sumRows {
		kernels = sumFeatures
	}
	seconds := make([]float64, 3)
	logs := make([][]float64, 3) // of the errors of the folds: one L, an L each, the better of these within the fold
	for _, s := range splits {
		x, xt, y, yt := blas.TakeRows(X, s.Train), blas.TakeRows(X, s.Test), blas.TakeRows(Y, s.Train),
			blas.TakeRows(Y, s.Test)
		data.Standardise(x, xt)
		blas.Scal(1/math.Sqrt(float64(x.Cols)), x.Data)
		blas.Scal(1/math.Sqrt(float64(x.Cols)), xt.Data)
		least, chosen := math.Inf(1), 0.0
		for k, model := range models {
			start := time.Now()
			opt := iokl.Options{
				Kernels: kernels, Standardize: "y", Model: model, Tol: 1e-3, IntervalFolds: -1,
				Seed: env.Seed, Backend: env.Backend,
			}
			opt.CV = iokl.CVOptions{
				Lambdas: []float64{1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6},
				Norms:   []string{"lp:1", "lp:2"},
			}.ForFit(x.Rows)
			cv, err := iokl.CrossValidate(ctx, blas.Dense(x), blas.Dense(y), opt)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", set, model, err)
			}
			m, err := cv.Fit(ctx)
			if err != nil && !(m != nil && errors.Is(err, bcd.ErrNotConverged)) {
				return nil, fmt.Errorf("%s: %s: %w", set, model, err)
			}
			P, err := m.Predict(blas.Dense(xt))
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", set, model, err)
			}
			e := math.Log(iokl.NewScores(P, blas.Dense(yt), data.Means(y)).ARRMSE)
			if v := stat.GeometricMean(cv.Chosen().Folds, nil); v < least {
				least, chosen = v, e
			}
			logs[k] = append(logs[k], e)
			seconds[k] += time.Since(start).Seconds()
		}
		logs[2] = append(logs[2], chosen)
	}
	seconds[2] = seconds[0] + seconds[1]
	for k, name := range []string{sumProduct, sumSum, sumEither} {
		r := bench.Result{Name: name, Params: map[string]any{
			"set": set, "rows": X.Rows, "targets": Y.Cols, "kernels": 5,
		}}
		r.Time(seconds[k : k+1])
		r.Metric("error", math.Exp(stat.Mean(logs[k], nil)))
		ratio := slices.Clone(logs[k])
		blas.Axpy(-1, logs[0], ratio)
		m, sd := stat.MeanStdDev(ratio, nil)
		r.Metric("ratio", math.Exp(m))
		r.Metric("ratio_standard_error", stat.StdErr(sd, float64(len(ratio))))
		results = append(results, r)
		env.Log("  %s, %s: error %.4f, %.3f ± %.3f times that of one L, %.3g s", set, name, r.Metrics["error"],
			r.Metrics["ratio"], r.Metrics["ratio_standard_error"], r.Seconds)
	}
	return results, nil
}

// sumData is a set of multi-target regression, or the markers and yields of wheat.
func sumData(env *bench.Env, set string) (X, Y blas.General, err error) {
	if set != "wheat" {
		return data.MTR(env, set)
	}
	markers, err := data.Read(env, "wheat", "X.csv.gz")
	if err != nil {
		return X, Y, err
	}
	yields, err := data.Read(env, "wheat", "Y.csv")
	if err != nil {
		return X, Y, err
	}
	return markers.Data, yields.Data, nil
}

var concludeSum = bench.Say(`
{{range .}}{{if and (ne .Name "one L") (index .Metrics "ratio")}}{{.Param "set"}}: the error of {{.Name}} is
{{value "ratio" . | printf "%.3f"}} ± {{value "ratio_standard_error" . | printf "%.3f"}} times that of one L.
{{end}}{{if index .Metrics "global_gap"}}{{.Param "set"}}: {{.Name}} ends within
{{value "global_gap" . | mul 100.0 | printf "%.2g"}} % of the global minimum, after {{printf "%.3g" .Seconds}} s, with
{{bytes .PeakRSS}} of memory at most.
{{end}}{{end}}`)

// sumCurves draws the certified gap of the sum against time.
func sumCurves(group []bench.Result, _ *bench.Limits) []picture.Figure {
	var curves []picture.Curve
	for _, r := range group {
		c := picture.Curve{Name: r.Param("set")}
		for _, p := range r.Trace {
			if r.Name == sumSum && p.RelativeGap != nil && *p.RelativeGap > 0 && p.Seconds > 0 {
				c.XY = append(c.XY, plotter.XY{X: p.Seconds, Y: *p.RelativeGap})
			}
		}
		if len(c.XY) > 0 {
			curves = append(curves, c)
		}
	}
	if curves == nil {
		return nil
	}
	return picture.Chart{
		Title: "Global gap of an output kernel for each kernel", X: "seconds", Y: "gap, relative",
		LogX: true, LogY: true, Curves: curves,
	}.Figures("sum")
}

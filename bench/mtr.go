package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
)

// mtrSets are the data sets of multi-target regression, the quick ones first.
var mtrSets = []string{"slump", "andro", "edm", "jura", "enb", "oes97", "wq", "scpf"}

// Names of the lines of a set.
const (
	mtrRidge  = "ridge"
	mtrKernel = "kernel ridge"
	mtrOurs   = "iokl, zero Options"
)

// runMTR cross-validates zero Options on one set of multi-target regression beside
// ridge and kernel ridge regression (one Gaussian kernel), tuned within each fold: ten
// folds, and the error √(Σ(y−ŷ)²/Σ(y−ȳ_train)²) averaged over targets. What zero
// Options try was settled on other data and on simulated functions.
func runMTR(ctx context.Context, env *Env, set string) ([]Result, error) {
	if env.Quick {
		return nil, fmt.Errorf("%w: cross-validation within ten folds takes minutes; run it without --quick", ErrSkipped)
	}
	X, Y, err := mtrData(env, set)
	if err != nil {
		return nil, err
	}
	fit := func(opt iokl.Options) predictor {
		return func(ctx context.Context, X, Y, Xt blas.General) (blas.General, error) {
			opt.Seed, opt.Backend = env.Seed, env.Backend
			return fitPredict(ctx, X, Y, Xt, opt)
		}
	}
	kernelRidge := iokl.Options{Learn: "none"}
	for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
		kernelRidge.CV.Kernels = append(kernelRidge.CV.Kernels, []string{"gaussian:all:median*" + w})
	}
	var results []Result
	for _, m := range []struct {
		name string
		f    predictor
	}{
		{mtrRidge, func(_ context.Context, X, Y, Xt blas.General) (blas.General, error) {
			return tuned(X, Y, Xt, func(X, Y, Xt blas.General, lambda float64) (blas.General, error) {
				return affine(env, X, Y, Xt, lambda)
			})
		}},
		{mtrKernel, fit(kernelRidge)},
		{mtrOurs, fit(iokl.Options{})},
	} {
		r, err := crossValidate(ctx, env, X, Y, m.f)
		if err != nil {
			return results, fmt.Errorf("%s: %s: %w", set, m.name, err)
		}
		r.Name, r.Params = m.name, map[string]any{"set": set, "rows": X.Rows, "inputs": X.Cols, "targets": Y.Cols}
		results = append(results, r)
	}
	env.Log("  %s: ridge %.3f, kernel ridge %.3f, iokl %.4f in %.3g s", set,
		results[0].Metrics["arrmse"], results[1].Metrics["arrmse"], results[2].Metrics["arrmse"], results[2].Seconds)
	return results, nil
}

// mtrData splits the columns of a set into inputs and targets, with the column
// mean for what is missing.
func mtrData(env *Env, set string) (X, Y blas.General, err error) {
	t, err := env.readData("mtr", set+".csv")
	if err != nil {
		return X, Y, err
	}
	var xs, ys []int
	for j, name := range t.Names {
		if strings.HasPrefix(name, "y_") {
			ys = append(ys, j)
		} else {
			xs = append(xs, j)
		}
	}
	pickColumns := func(cols []int) blas.General {
		out := blas.NewGeneral(t.Data.Rows, len(cols))
		for i := range out.Rows {
			for k, j := range cols {
				blas.Row(out, i)[k] = blas.Row(t.Data, i)[j]
			}
		}
		return out
	}
	X, Y = pickColumns(xs), pickColumns(ys)
	fillMissing(X)
	return X, Y, nil
}

func fillMissing(X blas.General) {
	for j := range X.Cols {
		var sum, count float64
		for i := range X.Rows {
			if v := blas.Row(X, i)[j]; !math.IsNaN(v) {
				sum, count = sum+v, count+1
			}
		}
		for i := range X.Rows {
			if p := &blas.Row(X, i)[j]; math.IsNaN(*p) {
				*p = sum / max(count, 1)
			}
		}
	}
}

// crossValidate scores a predictor over ten shuffled folds.
func crossValidate(ctx context.Context, env *Env, X, Y blas.General, f predictor) (Result, error) {
	var r Result
	miss, total := make([]float64, Y.Cols), make([]float64, Y.Cols)
	start := time.Now()
	for _, split := range tenFolds(env.rng(10), X.Rows) {
		in, out := split[0], split[1]
		Xin, Yin, Xout, Yout := takeRows(X, in), takeRows(Y, in), takeRows(X, out), takeRows(Y, out)
		standardise(Xin, Xout)
		P, err := f(ctx, Xin, Yin, Xout)
		if err != nil {
			return r, err
		}
		mean := columnMeans(Yin)
		for i := range Yout.Rows {
			for j, y := range blas.Row(Yout, i) {
				d := y - blas.Row(P, i)[j]
				miss[j] += d * d
				total[j] += (y - mean[j]) * (y - mean[j])
			}
		}
	}
	r.time([]float64{time.Since(start).Seconds()})
	var e []float64
	for j := range miss {
		e = append(e, math.Sqrt(miss[j]/total[j]))
	}
	r.metric("arrmse", stat.Mean(e, nil))
	return r, nil
}

// tuned chooses λ on a fifth of the training samples and fits to all of them.
func tuned(X, Y, Xt blas.General, f func(X, Y, Xt blas.General, lambda float64) (blas.General, error)) (blas.General, error) {
	var in, out []int
	for i := range X.Rows {
		if i%5 == 0 {
			out = append(out, i)
		} else {
			in = append(in, i)
		}
	}
	best, lambda := math.Inf(1), 1.0
	for _, c := range []float64{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1} {
		P, err := f(takeRows(X, in), takeRows(Y, in), takeRows(X, out), c)
		if err != nil {
			return P, err
		}
		if miss := -r2(P, takeRows(Y, out)); miss < best {
			best, lambda = miss, c
		}
	}
	return f(X, Y, Xt, lambda)
}

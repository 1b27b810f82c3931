// This file is the case mtr: zero Options beside tuned baselines on sets of multi-target regression.

package regression

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
)

func init() {
	bench.Register(bench.Case{
		Name:         "mtr",
		Topic:        bench.Targets,
		Does:         "multi-target regression with zero Options, ten folds; one set alone is mtr:SET",
		Run:          runMTR,
		Minutes:      20,
		Parts:        mtrSets,
		Shown:        mtrSets[:7],
		ShownMinutes: 3,
		Conclude:     concludeMTR,
		Published:    mtrTable,
		Figures:      mtrFigures,
	})
}

// mtrSets are the data sets of multi-target regression, the quick ones first.
var mtrSets = []string{"slump", "andro", "edm", "jura", "enb", "oes97", "wq", "scpf"}

// Names of the lines of a set.
const (
	mtrRidge  = "ridge"
	mtrKernel = "kernel ridge"
	mtrOurs   = "iokl, zero Options"
)

// runMTR cross-validates zero Options on one set of multi-target regression beside
// ridge and kernel ridge regression (one linear, one Gaussian kernel), tuned within each fold: ten
// folds, and the error √(Σ(y−ŷ)²/Σ(y−ȳ_train)²) averaged over targets. What zero
// Options try was settled on other data and on simulated functions.
func runMTR(ctx context.Context, env *bench.Env) error {
	if env.Quick {
		return fmt.Errorf("%w: cross-validation within ten folds takes minutes; run it without --quick",
			bench.ErrSkipped)
	}
	set := env.Part
	X, Y, err := data.MTR(env, set)
	if err != nil {
		return err
	}
	fit := func(opt iokl.Options) predictor {
		return func(ctx context.Context, X, Y, Xt blas.General) (blas.General, error) {
			opt.Seed, opt.Backend = env.Seed, env.Backend
			return data.FitPredict(ctx, X, Y, Xt, opt)
		}
	}
	kernelRidge := iokl.Options{Learn: "none"}
	for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
		kernelRidge.CV.Kernels = append(kernelRidge.CV.Kernels, []string{"gaussian:all:median*" + w})
	}
	for _, m := range []struct {
		name string
		f    predictor
	}{
		{mtrRidge, fit(iokl.Options{Kernels: []string{"linear:all"}, Learn: "none"})},
		{mtrKernel, fit(kernelRidge)},
		{mtrOurs, fit(iokl.Options{})},
	} {
		r, err := crossValidate(ctx, env, X, Y, m.f)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", set, m.name, err)
		}
		r.Name, r.Params = m.name, map[string]any{"set": set, "rows": X.Rows, "inputs": X.Cols, "targets": Y.Cols}
		env.Log("  %s, %s: %.4f in %.3g s", set, m.name, r.Metrics["arrmse"], r.Seconds)
		env.Add(r)
	}
	return nil
}

// crossValidate scores a predictor over ten shuffled folds.
func crossValidate(ctx context.Context, env *bench.Env, X, Y blas.General, f predictor) (bench.Result, error) {
	var r bench.Result
	start := time.Now()
	splits, err := iokl.Folds(X.Rows, 10, 1, nil, false, env.Seed)
	if err != nil {
		return r, err
	}
	found, targets := blas.NewGeneral(Y.Rows, Y.Cols), blas.Clone(Y) // less the mean of the training samples
	for _, s := range splits {
		Yin := blas.TakeRows(Y, s.Train)
		P, err := f(ctx, blas.TakeRows(X, s.Train), Yin, blas.TakeRows(X, s.Test))
		if err != nil {
			return r, err
		}
		mean := data.Means(Yin)
		for k, i := range s.Test {
			copy(blas.Row(found, i), blas.Row(P, k))
			blas.Axpy(-1, mean, blas.Row(found, i))
			blas.Axpy(-1, mean, blas.Row(targets, i))
		}
	}
	r.Time([]float64{time.Since(start).Seconds()})
	r.Metric("arrmse", iokl.NewScores(blas.Dense(found), blas.Dense(targets), make([]float64, Y.Cols)).ARRMSE)
	return r, nil
}

// concludeMTR compares zero Options with ridge regression and kernel ridge
// regression on the same folds, and with what scikit-learn reached on its own.
var concludeMTR = bench.Say(`
{{$all := .}}{{with named "iokl, zero Options" . | values "arrmse"}}With zero Options iokl has a mean relative error of
{{mean . | printf "%.3f"}} over {{plural (len .) "set"}}{{with named "kernel ridge" $all | values "arrmse"}}, tuned
kernel
ridge regression one of {{mean . | printf "%.3f"}}{{end}}.{{end}}`)

// mtrReference are errors of scikit-learn 1.2.1 on the same sets: ridge, tuned
// RBF kernel ridge, random forest (0: not measured).
var mtrReference = map[string][3]float64{
	"andro": {.627, .617, .435}, "edm": {.780, .680, .631}, "enb": {.314, .222, .123}, "jura": {.605, .566, .594},
	"oes97": {.403, .421, 0}, "scpf": {.868, .872, .936}, "slump": {.662, .575, .683}, "wq": {.952, .926, .901},
}

func mtrTable(group []bench.Result) *bench.Table {
	p := &bench.Table{
		Title: "Average relative error beside scikit-learn:",
		Head: []string{
			"set", "ridge", "kernel ridge, tuned", "random forest", "ridge, here", "kernel ridge, here",
			"iokl, zero Options, here", "seconds of its ten fits",
		},
		Source: "scikit-learn 1.2.1 on the same sets and protocol (ten shuffled folds, inputs standardised); its " +
			"folds are drawn differently.",
	}
	p.Beside(group, []string{"set"}, []bench.Column{
		{mtrOurs, "arrmse", "%.3f"},
		{mtrRidge, "arrmse", "%.3g"},
		{mtrKernel, "arrmse", "%.3g"},
		{mtrOurs, "seconds", "%.3g"},
	})
	for i, row := range p.Rows {
		var published []string
		for _, v := range mtrReference[row[0]] {
			published = append(published, bench.OrDash(bench.Positive(v)))
		}
		p.Rows[i] = slices.Concat(row[:1], published, []string{row[2], row[3], row[1], row[4]})
	}
	return p
}

// mtrFigures show the errors here beside the published ones of random forests.
func mtrFigures(group []bench.Result, f *bench.File) []picture.Figure {
	group = bench.Quoted(group, mtrOurs, "random forest, published", "arrmse", func(r *bench.Result) float64 {
		return mtrReference[r.Param("set")][2]
	})
	chart := picture.Chart{Title: "errors of ten folds", X: "data", Y: "average relative error", LogY: true}
	return bench.Dots(chart, "arrmse", "set")(group, f)
}

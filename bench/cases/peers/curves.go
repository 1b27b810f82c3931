// This file is the case curves: zero Options and the axis of times on learning curves with missing tails, beside a
// Gaussian process.

package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
)

func init() {
	c := bench.Case{
		Name:  "curves",
		Topic: bench.Curves,
		Shown: []string{"adult-0.5", "higgs-0.5"},
		Does: "learning curves with missing tails by zero Options and the axis of times, beside a Gaussian process " +
			"of settings and times; one alone is curves:SET-SHARE",
		Run:          runCurves,
		Minutes:      48,
		ShownMinutes: 8,
		Published:    curvesTable,
		Figures: bench.Dots(picture.Chart{
			Title: "errors of the cells that were cut", X: "curves and share that lost its tail", Y: "error",
		}, "rmse", "set", "cut"),
	}
	for _, set := range []string{madeCurves, "adult", "higgs", "Fashion-MNIST"} {
		for _, share := range []string{"0.1", "0.5", "0.9"} {
			c.Parts = append(c.Parts, set+"-"+share)
		}
	}
	bench.Register(c)
}

// madeCurves is the set that is drawn from the seed.
const madeCurves = "made"

// Names of the lines of a set.
const (
	curvesOurs  = "iokl, zero Options"
	curvesLast  = "last value"
	curvesTorch = "PyTorch"
)

// runCurves fits curves of which a share has lost its tail, and scores what fills it.
func runCurves(ctx context.Context, env *bench.Env) error {
	if env.Quick && env.Part != madeCurves+"-0.5" {
		return fmt.Errorf("%w: --quick runs curves:%s-0.5 alone", bench.ErrSkipped, madeCurves)
	}
	c, params, err := curves(env)
	if err != nil {
		return err
	}
	last := bench.Result{Name: curvesLast, Params: params}
	e, _ := c.Score(c.LastValue(), blas.General{})
	last.Metric("rmse", e)
	env.Add(last)
	t := blas.NewGeneral(c.Y.Cols, 1)
	for k := range t.Data {
		t.Data[k] = math.Log(float64(k+1)) / math.Log(float64(len(t.Data)+1))
	}
	ours, err := fitCurves(ctx, env, c, t, params)
	if err != nil {
		return err
	}
	env.Add(ours)
	env.Log("  %s: error %.4f, negative log density %.3f in %.3g s; last value %.4f", env.Part, ours.Metrics["rmse"],
		ours.Metrics["neg_log_density"], ours.Seconds, e)
	return otherPrograms(ctx, env, peerJob{
		script: "latent_kronecker_torch.py", count: 1, params: params,
		data: map[string]blas.General{"X": c.X, "Y": c.Y, "Z": c.Z, "t": t},
		args: []string{strconv.Itoa(bench.Pick(env, 20, 100)), strconv.Itoa(bench.Pick(env, 100, 500)), "64"},
	})
}

// curves are those of the part that runs.
func curves(env *bench.Env) (c *data.Curves, params map[string]any, err error) {
	at := strings.LastIndex(env.Part, "-")
	set := env.Part[:at]
	share, err := strconv.ParseFloat(env.Part[at+1:], 64)
	if err != nil {
		return nil, nil, err
	}
	if set == madeCurves {
		c = data.MadeCurves(env.Rand(61), bench.Pick(env, 120, 2000), bench.Pick(env, 12, 52), share)
	} else if c, err = data.LCBench(env, set, share); err != nil {
		return nil, nil, err
	}
	return c, map[string]any{"set": set, "cut": share, "rows": c.Y.Rows, "epochs": c.Y.Cols}, nil
}

// fitCurves is our line, of curves at the times t.
func fitCurves(
	ctx context.Context, env *bench.Env, c *data.Curves, t blas.General, params map[string]any,
) (bench.Result, error) {
	r := bench.Result{Name: curvesOurs, Params: params}
	opt := iokl.Options{
		Seed: env.Seed, Backend: env.Backend, Budget: iokl.Budget(env.Budget), OutputAxis: blas.Dense(t),
	}
	if env.Quick {
		opt.CV.Folds, opt.CV.Repeats = 3, 1
	}
	start := time.Now()
	m, err := iokl.Fit(ctx, blas.Dense(c.X), blas.Dense(c.Z), opt)
	if m == nil || err != nil && !errors.Is(err, bcd.ErrNotConverged) {
		return r, err
	}
	F, err := m.Predict(blas.Dense(c.X))
	if err != nil {
		return r, err
	}
	r.Time([]float64{time.Since(start).Seconds()})
	return r, score(ctx, &r, m, c.X, func(D blas.General) (rmse, density float64) { return c.Score(F.RawMatrix(), D) })
}

func curvesTable(group []bench.Result) *bench.Table {
	t := &bench.Table{
		Title: "Error, and negative log density, in the missing cells, in deviations of the last epoch:",
		Head: []string{
			"curves", "cut", "error", "log density", "seconds", "peak, MiB", "last value", "PyTorch, error",
			"PyTorch, log density", "PyTorch, seconds",
		},
		Source: "The Gaussian process is that of Lin et al., Scalable Gaussian Processes with Latent Kronecker " +
			"Structure, ICML 2025, with lengths learned from 500 curves in 100 steps, deviations from 64 " +
			"samples; its lines say how many iterations that took and which residuals are left.",
	}
	t.Beside(group, []string{"set", "cut"}, []bench.Column{
		{curvesOurs, "rmse", "%.3f"},
		{curvesOurs, "neg_log_density", "%.3f"},
		{curvesOurs, "seconds", "%.3g"},
		{curvesOurs, "peak", "%.0f"},
		{curvesLast, "rmse", "%.3f"},
		{curvesTorch, "rmse", "%.3f"},
		{curvesTorch, "neg_log_density", "%.3f"},
		{curvesTorch, "seconds", "%.3g"},
	})
	return t
}

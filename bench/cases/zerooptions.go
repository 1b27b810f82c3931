package cases

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

// zeroOptions is the name of our line where the user gives no options.
const zeroOptions = "iokl, zero Options"

// quickRows is how many rows a quick run trains on.
const quickRows = 250

// runUCI fits the rows that the published split trains on, and scores the predictions for those it holds out in
// standard deviations of the training targets.
func runUCI(ctx context.Context, env *bench.Env) error {
	s, err := data.UCI(env, env.Part)
	if err != nil {
		return err
	}
	if env.Quick {
		s.X, s.Y = blas.View(s.X, 0, 0, quickRows, s.X.Cols), blas.View(s.Y, 0, 0, quickRows, 1)
	}
	params := map[string]any{"set": env.Part, "rows": s.X.Rows, "inputs": s.X.Cols, "held_out": s.Xt.Rows}
	var m *iokl.Model
	r, err := env.Time(zeroOptions, params, func() (err error) {
		m, err = data.Fit(ctx, env, s.X, s.Y, iokl.Options{})
		return err
	})
	if err != nil {
		return err
	}
	start := time.Now()
	F, err := m.Predict(blas.Dense(s.Xt))
	if err != nil {
		return err
	}
	r.Metric("prediction_seconds", time.Since(start).Seconds())
	_, scale := stat.PopMeanStdDev(s.Y.Data, nil)
	err = score(ctx, r, m, s.Xt, func(D blas.General) (rmse, density float64) {
		rmse, density = data.Score(F.RawMatrix(), D, s.Yt, func(int, int) bool { return true })
		return rmse / scale, density - math.Log(scale)
	})
	if err != nil {
		return err
	}
	return otherPrograms(ctx, env, peerJob{
		script: "boosting.py", count: 1, params: params,
		data: map[string]blas.General{"X": s.X, "Y": s.Y, "Xt": s.Xt, "Yt": s.Yt},
		args: []string{strconv.Itoa(bench.Pick(env, 50, 500))},
	})
}

// score adds the error and, where the model tells deviations, the negative log density that of says of them.
func score(
	ctx context.Context, r *bench.Result, m *iokl.Model, X blas.General,
	of func(D blas.General) (rmse, density float64),
) error {
	D, err := deviations(ctx, r, m, X)
	if err != nil {
		return err
	}
	rmse, density := of(D)
	r.Metric("rmse", rmse)
	if D.Data != nil {
		r.Metric("neg_log_density", density)
	}
	return nil
}

// deviations are those of new observations at X, none where the model tells none.
func deviations(ctx context.Context, r *bench.Result, m *iokl.Model, X blas.General) (blas.General, error) {
	start := time.Now()
	D, err := m.PredictDeviation(ctx, blas.Dense(X))
	if errors.Is(err, iokl.ErrInput) {
		return blas.General{}, nil
	}
	if err != nil {
		return blas.General{}, err
	}
	sigma, err := m.Noise(ctx)
	if err != nil {
		return blas.General{}, err
	}
	D.Apply(func(_, k int, v float64) float64 { return math.Hypot(v, sigma[k]) }, D)
	r.Metric("deviation_seconds", time.Since(start).Seconds())
	return D.RawMatrix(), nil
}

// madeCurves is the set that is drawn from the seed.
const madeCurves = "made"

// runCurves fits curves of which a share has lost its tail, and scores what fills it.
func runCurves(ctx context.Context, env *bench.Env) error {
	c, params, err := curves(env)
	if err != nil {
		return err
	}
	last := bench.Result{Name: "last value", Params: params}
	e, _ := c.Score(c.LastValue(), blas.General{})
	last.Metric("rmse", e)
	env.Add(last)
	t := blas.NewGeneral(c.Y.Cols, 1)
	for k := range t.Data {
		t.Data[k] = math.Log(float64(k+1)) / math.Log(float64(len(t.Data)+1))
	}
	opt := iokl.Options{Budget: iokl.Budget(env.Budget), OutputAxis: blas.Dense(t)}
	if env.Quick {
		opt.CV.Folds, opt.CV.Repeats = 3, 1
	}
	var m *iokl.Model
	var F *mat.Dense
	ours, err := env.Time(zeroOptions, params, func() (err error) {
		if m, err = data.Fit(ctx, env, c.X, c.Z, opt); err == nil {
			F, err = m.Predict(blas.Dense(c.X))
		}
		return err
	})
	if err != nil {
		return err
	}
	err = score(ctx, ours, m, c.X, func(D blas.General) (rmse, density float64) { return c.Score(F.RawMatrix(), D) })
	if err != nil {
		return err
	}
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

// runMTR cross-validates zero Options on one set of multi-target regression beside
// ridge and kernel ridge regression (one linear, one Gaussian kernel), tuned within each fold: ten
// folds, and the error √(Σ(y−ŷ)²/Σ(y−ȳ_train)²) averaged over targets. What zero
// Options try was settled on other data and on simulated functions.
func runMTR(ctx context.Context, env *bench.Env) error {
	X, Y, err := data.MTR(env, env.Part)
	if err != nil {
		return err
	}
	kernelRidge := iokl.Options{Learn: "none"}
	for _, w := range []string{"0.25", "0.5", "1", "2", "4"} {
		kernelRidge.CV.Kernels = append(kernelRidge.CV.Kernels, []string{"gaussian:all:median*" + w})
	}
	for _, m := range []struct {
		name string
		opt  iokl.Options
	}{
		{"ridge", iokl.Options{Kernels: []string{"linear:all"}, Learn: "none"}},
		{"kernel ridge", kernelRidge},
		{zeroOptions, iokl.Options{}},
	} {
		var arrmse float64
		params := map[string]any{"set": env.Part, "rows": X.Rows, "inputs": X.Cols, "targets": Y.Cols}
		r, err := env.Time(m.name, params, func() (err error) {
			arrmse, err = crossValidate(env, X, Y, func(X, Y, Xt blas.General) (blas.General, error) {
				return data.FitPredict(ctx, env, X, Y, Xt, m.opt)
			})
			return err
		})
		if err != nil {
			return err
		}
		r.Metric("arrmse", arrmse)
		env.Log("  %s, %s: %.4f in %.3g s", env.Part, m.name, arrmse, r.Seconds)
	}
	return nil
}

// crossValidate is the error of a predictor over ten shuffled folds.
func crossValidate(env *bench.Env, X, Y blas.General, f predictor) (arrmse float64, err error) {
	splits, err := iokl.Folds(X.Rows, 10, 1, nil, false, env.Seed)
	if err != nil {
		return 0, err
	}
	found, targets := blas.NewGeneral(Y.Rows, Y.Cols), blas.Clone(Y) // less the mean of the training samples
	for _, s := range splits {
		Yin := blas.TakeRows(Y, s.Train)
		P, err := f(blas.TakeRows(X, s.Train), Yin, blas.TakeRows(X, s.Test))
		if err != nil {
			return 0, err
		}
		mean := data.Means(Yin)
		for k, i := range s.Test {
			copy(blas.Row(found, i), blas.Row(P, k))
			blas.Axpy(-1, mean, blas.Row(found, i))
			blas.Axpy(-1, mean, blas.Row(targets, i))
		}
	}
	return iokl.NewScores(blas.Dense(found), blas.Dense(targets), make([]float64, Y.Cols)).ARRMSE, nil
}

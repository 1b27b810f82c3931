package cases

import (
	"context"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

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

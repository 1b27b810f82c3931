package cases

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

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

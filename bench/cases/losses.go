package cases

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

// runLosses fits by each loss that suits the set, all else left open, and scores the predictions for held-out rows.
func runLosses(ctx context.Context, env *bench.Env) error {
	s, tasks, err := lossSplit(env)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		own := *s
		if task == "outliers" {
			own.Y = withOutliers(env, s.Y)
		}
		if err := runLoss(ctx, env, task, &own); err != nil {
			return err
		}
	}
	return nil
}

// lossSplit is the rows to train and to test on, with targets in standard deviations, or 0 and 1 for classes, and what
// is learned of them.
func lossSplit(env *bench.Env) (s *data.Split, tasks []string, err error) {
	var X, Y blas.General
	var labels []int
	switch env.Part {
	case "airfoil", "concrete":
		s, err = data.UCI(env, env.Part)
	case "enb":
		X, Y, err = data.MTR(env, env.Part)
	case "digits":
		X, labels, err = data.Digits()
	case "mfeat":
		var t []blas.General
		if t, err = data.ReadAll(env, "mfeat", "pix.csv", "labels.csv"); err == nil {
			X, labels = t[0], data.Ints(t[1].Data)
		}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case labels != nil:
		return heldOutShare(env, X, data.OneHot(labels)), []string{"classes"}, nil
	case s == nil:
		s = heldOutShare(env, X, Y)
	}
	data.Standardise(s.Y, s.Yt)
	return s, []string{"quantiles", "outliers"}, nil
}

// heldOutShare holds a third of the rows out at random.
func heldOutShare(env *bench.Env, X, Y blas.General) *data.Split {
	order := env.Rand(57).Perm(X.Rows)
	test, train := order[:X.Rows/3], order[X.Rows/3:]
	if env.Quick {
		train = train[:quickRows]
	}
	return data.SplitRows(X, Y, train, test)
}

// withOutliers adds ten standard deviations to 5 % of the targets, up or down.
func withOutliers(env *bench.Env, Y blas.General) blas.General {
	rng := env.Rand(58)
	Y = blas.Clone(Y)
	for i := range Y.Data {
		if rng.Float64() < 0.05 {
			Y.Data[i] += 10 * float64(2*rng.IntN(2)-1)
		}
	}
	return Y
}

// lossOf is the loss of each task.
var lossOf = map[string]iokl.Loss{
	"quantiles": iokl.QuantileLoss(0.1, 0.5, 0.9), "outliers": iokl.LossHuber, "classes": iokl.LossLogistic,
}

// runLoss fits to s and predicts. The script scores these predictions, and those of its own models, by the same code.
func runLoss(ctx context.Context, env *bench.Env, task string, s *data.Split) error {
	params := map[string]any{
		"set": env.Part, "task": task, "rows": s.X.Rows, "inputs": s.X.Cols, "held_out": s.Xt.Rows,
	}
	opt := iokl.Options{Loss: lossOf[task], Seed: env.Seed, Backend: env.Backend}
	if env.Quick {
		opt.Kernels = []string{"gaussian:all:median"}
	}
	labels := make([]string, s.Y.Rows)
	for i := range labels {
		labels[i] = fmt.Sprint(slices.Index(blas.Row(s.Y, i), 1))
	}
	start := time.Now()
	var m *iokl.Model
	var err error
	if task == "classes" {
		m, err = iokl.FitClasses(ctx, blas.Dense(s.X), labels, opt)
	} else {
		m, err = data.Fit(ctx, env, s.X, s.Y, opt)
	}
	if m == nil {
		return err
	}
	seconds, predict := time.Since(start).Seconds(), m.Predict
	if task == "classes" {
		predict = m.PredictProba
	}
	F, err := predict(blas.Dense(s.Xt))
	if err != nil {
		return err
	}
	return otherPrograms(ctx, env, peerJob{
		script: "losses.py", count: 1, params: params, args: []string{task, fmt.Sprint(seconds)},
		data: map[string]blas.General{"X": s.X, "Y": s.Y, "Xt": s.Xt, "Yt": s.Yt, "F": F.RawMatrix()},
	})
}

package cases

import (
	"context"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

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

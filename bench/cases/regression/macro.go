// Package regression has the cases about forecasts, multi-target regression and predictions.
package regression

import (
	"context"
	_ "embed" // macrodata.csv
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

func init() {
	bench.Register(bench.Case{
		Name:     "macro",
		Does:     "one-step forecasts of US macroeconomic series against a linear VAR",
		Run:      runMacro,
		Conclude: concludeMacro,
	})
}

// lagged makes the pairs of a one-step forecast: the last lag rows of the series
// as inputs, newest first, and the next row as target.
func lagged(series blas.General, lag int) (X, Y blas.General) {
	N := series.Cols
	X, Y = blas.NewGeneral(series.Rows-lag, lag*N), blas.NewGeneral(series.Rows-lag, N)
	for i := range Y.Rows {
		copy(blas.Row(Y, i), blas.Row(series, i+lag))
		for k := range lag {
			copy(blas.Row(X, i)[k*N:], blas.Row(series, i+lag-1-k))
		}
	}
	return X, Y
}

const macroLag = 2

// forecast predicts the targets of the rows of Xt from a training set.
type forecast func(ctx context.Context, X, Y, Xt blas.General, lambda float64) (blas.General, error)

// runMacro compares one-step forecasts of twelve series: the first 70 % of the
// quarters train, the last fifth of which chooses λ, and the rest tests.
func runMacro(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	series, names, err := data.Macro()
	if err != nil {
		return nil, err
	}
	X, Y := lagged(series, macroLag)
	train := X.Rows * 7 / 10
	s := split{X: X, Y: Y, train: train, names: names}
	lambdas := []float64{1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 0.3, 1, 3, 10}
	vector := func(_ context.Context, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
		return affine(X, Y, Xt, lambda)
	}
	learner := func(learn iokl.Learned) forecast {
		return func(ctx context.Context, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
			return data.FitPredict(ctx, X, Y, Xt, iokl.Options{
				Kernels: []string{
					"linear:all:unit", "gaussian:all:median*0.5,1,2,4", "gaussian:groups:median*1,3", "linear:groups",
				},
				Groups: pastOf(Y.Cols, macroLag), Lambda: lambda, Norm: "lp:1.3", Learn: learn, Tol: 1e-3,
				MaxOuter: 100, Backend: env.Backend, Seed: env.Seed,
			})
		}
	}
	var results []bench.Result
	for _, m := range []struct {
		name    string
		lambdas []float64
		f       forecast
	}{
		{"training mean", nil, func(ctx context.Context, X, Y, Xt blas.General, _ float64) (blas.General, error) {
			return meanOf(ctx, X, Y, Xt)
		}},
		{"linear VAR, least squares", []float64{0}, vector},
		{"linear VAR, ridge", lambdas, vector},
		{"uniform kernels, L = I", lambdas, learner("none")},
		{"IKL (kernel weights)", lambdas, learner("eta")},
		{"OKL (output kernel)", lambdas, learner("l")},
		{"IOKL (both)", lambdas, learner("eta,l")},
	} {
		start := time.Now()
		r := bench.Result{Name: m.name, Params: map[string]any{"lag": macroLag, "train": train, "test": X.Rows - train}}
		if err := s.score(ctx, &r, m.lambdas, m.f); err != nil {
			return results, err
		}
		r.Time([]float64{time.Since(start).Seconds()})
		results = append(results, r)
	}
	return results, nil
}

// split is a set of pairs in the order of time.
type split struct {
	X, Y  blas.General
	train int
	names []string
}

// score records the test error of f: the root mean square of each series over
// that of forecasting its training mean, and the mean over the series.
func (s *split) score(ctx context.Context, r *bench.Result, lambdas []float64, f forecast) error {
	best, lambda := math.Inf(1), 0.0
	if len(lambdas) == 1 {
		lambda = lambdas[0]
	} else {
		for _, l := range lambdas {
			e, err := s.errors(ctx, f, s.train*4/5, s.train, l)
			if err != nil {
				return err
			}
			if v := stat.Mean(e, nil); v < best {
				best, lambda = v, l
			}
		}
	}
	e, err := s.errors(ctx, f, s.train, s.Y.Rows, lambda)
	if err != nil {
		return err
	}
	if lambdas != nil {
		r.Params["lambda"] = lambda
	}
	r.Metric("rrmse", stat.Mean(e, nil))
	for j, v := range e {
		r.Metric("rrmse of "+s.names[j], v)
	}
	return nil
}

// errors trains on the rows below split and tests on those from there up to end.
// The relative error of each series is √(Σ(y−ŷ)²/Σ(y−ȳ_train)²).
func (s *split) errors(ctx context.Context, f forecast, split, end int, lambda float64) ([]float64, error) {
	rows := func(a blas.General, lo, hi int) blas.General { return blas.Clone(blas.View(a, lo, 0, hi-lo, a.Cols)) }
	X, Xt := rows(s.X, 0, split), rows(s.X, split, end)
	Y, Yt := rows(s.Y, 0, split), rows(s.Y, split, end)
	data.Standardise(X, Xt)
	P, err := f(ctx, X, Y, Xt, lambda)
	if err != nil {
		return nil, err
	}
	return iokl.NewScores(blas.Dense(P), blas.Dense(Yt), data.Means(Y)).RRMSE, nil
}

// pastOf groups the columns of [lagged] by series.
func pastOf(series, lag int) []kernel.Group {
	groups := make([]kernel.Group, series)
	for j := range groups {
		groups[j].Name = fmt.Sprintf("series%d", j)
		for k := range lag {
			groups[j].Columns = append(groups[j].Columns, k*series+j)
		}
	}
	return groups
}

var concludeMacro = bench.Say(`
{{with ordered "rrmse" .}}{{$best := index . 0}}The smallest error of one-step forecasts has {{printf "%q" $best.Name}}:
{{value "rrmse" $best | printf "%.3f"}} of that of forecasting the training mean.
{{range named "linear VAR, least squares" .}}{{if ne .Name $best.Name}}A linear vector autoregression by least squares
has
{{value "rrmse" . | printf "%.3f"}}.{{end}}{{end}}{{end}}`)

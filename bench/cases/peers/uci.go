// This file is the case uci: zero Options on sets of one target beside boosting and published Gaussian processes.

package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/files/picture"
)

func init() {
	bench.Register(bench.Case{
		Name:      "uci",
		Topic:     bench.Rows,
		Does:      "regression with zero Options on the published split, beside boosting; one set alone is uci:SET",
		Run:       runUCI,
		Minutes:   6,
		Parts:     []string{"airfoil", "concrete", "kin40k", "protein"},
		Published: uciTable,
		Figures:   uciFigures,
	})
}

// uciOurs is the name of our line.
const uciOurs = "iokl, zero Options"

// quickRows is how many rows a quick run trains on.
const quickRows = 250

// runUCI fits the rows that the published split trains on, and scores the predictions for those it holds out in
// standard deviations of the training targets.
func runUCI(ctx context.Context, env *bench.Env) error {
	if env.Quick && env.Part != "airfoil" {
		return fmt.Errorf("%w: --quick runs airfoil alone", bench.ErrSkipped)
	}
	s, err := data.UCI(env, env.Part)
	if err != nil {
		return err
	}
	if env.Quick {
		s.X, s.Y = blas.View(s.X, 0, 0, quickRows, s.X.Cols), blas.View(s.Y, 0, 0, quickRows, 1)
	}
	params := map[string]any{"set": env.Part, "rows": s.X.Rows, "inputs": s.X.Cols, "held_out": s.Xt.Rows}
	start := time.Now()
	m, err := iokl.Fit(ctx, blas.Dense(s.X), blas.Dense(s.Y), iokl.Options{Seed: env.Seed, Backend: env.Backend})
	if m == nil {
		return err
	}
	r := bench.Result{Name: uciOurs, Params: params}
	r.Time([]float64{time.Since(start).Seconds()})
	if err := scoreUCI(ctx, &r, m, s); err != nil {
		return err
	}
	env.Add(r)
	return otherPrograms(ctx, env, peerJob{
		script: "boosting.py", count: 1, params: params,
		data: map[string]blas.General{"X": s.X, "Y": s.Y, "Xt": s.Xt, "Yt": s.Yt},
		args: []string{strconv.Itoa(bench.Pick(env, 50, 500))},
	})
}

// scoreUCI adds the error, and the negative log density where the model tells deviations.
func scoreUCI(ctx context.Context, r *bench.Result, m *iokl.Model, s *data.Split) error {
	start := time.Now()
	F, err := m.Predict(blas.Dense(s.Xt))
	if err != nil {
		return err
	}
	r.Metric("prediction_seconds", time.Since(start).Seconds())
	_, scale := stat.PopMeanStdDev(s.Y.Data, nil)
	return score(ctx, r, m, s.Xt, func(D blas.General) (rmse, density float64) {
		rmse, density = data.Score(F.RawMatrix(), D, s.Yt, func(int, int) bool { return true })
		return rmse / scale, density - math.Log(scale)
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

// uciReference are published errors and negative log densities of exact Gaussian processes: on 90 % of the rows, and
// on 64 %.
var uciReference = map[string][2]struct{ rmse, density float64 }{
	"kin40k":  {{.065, -1.319}, {.080, -.755}},
	"protein": {{.538, .575}, {.511, .960}},
}

// uciFigures show the errors here beside the published ones.
func uciFigures(group []bench.Result, f *bench.File) []picture.Figure {
	const process = "Gaussian process, 90 % of the rows, published"
	group = bench.Quoted(group, uciOurs, process, "rmse", func(r *bench.Result) float64 {
		return uciReference[r.Param("set")][0].rmse
	})
	chart := picture.Chart{Title: "held-out errors", X: "data", Y: "error in standard deviations", LogY: true}
	return bench.Dots(chart, "rmse", "set")(group, f)
}

func uciTable(group []bench.Result) *bench.Table {
	p := &bench.Table{
		Title: "Held-out error, and negative log density, in standard deviations of the target:",
		Head: []string{
			"set", "error", "log density", "seconds", "peak, MiB", "boosting, error", "boosting, seconds",
			"Gaussian process, 90 % of the rows", "64 % of the rows",
		},
		Source: "MPDOK on one GPU in 6.8 s (kin40k) and 13.9 s (protein); Wang et al. 2019 on 8 GPUs, on other splits.",
	}
	p.Beside(group, []string{"set"}, []bench.Column{
		{uciOurs, "rmse", "%.4f"},
		{uciOurs, "neg_log_density", "%.3f"},
		{uciOurs, "seconds", "%.3g"},
		{uciOurs, "peak", "%.0f"},
		{"scikit-learn", "rmse", "%.3g"},
		{"scikit-learn", "seconds", "%.3g"},
	})
	for i, row := range p.Rows {
		for _, v := range uciReference[row[0]] {
			text := ""
			if v.rmse > 0 {
				text = fmt.Sprintf("%.3f, %.3f", v.rmse, v.density)
			}
			p.Rows[i] = append(p.Rows[i], bench.OrDash(text))
		}
	}
	return p
}

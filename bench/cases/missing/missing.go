// This file is the case missing: time and error against the share of target cells that are missing.

package missing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/sylvester"
)

func init() {
	bench.Register(bench.Case{
		Name:     "missing",
		Does:     "time and error against the share of target cells that are missing",
		Run:      runMissing,
		Minutes:  6,
		Parts:    []string{"solve", "learn"},
		Conclude: concludeMissing,
	})
}

func runMissing(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	if env.Part == "solve" {
		return runSolve(ctx, env)
	}
	return runLearn(ctx, env)
}

// shares are those of the cells that are missing, at random.
var shares = []float64{0.02, 0.1, 0.3, 0.6}

// Names of the lines of the part solve.
const (
	fullGrid = "no cell missing"
	withAuto = "iokl"
	plainCG  = "conjugate gradients"
)

// runSolve solves the linear system at λ = 1e-3 to a relative residual of 1e-6.
func runSolve(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	var results []bench.Result
	for _, size := range bench.Pick(env, [][2]int{{300, 10}}, [][2]int{{1000, 10}, {1000, 100}, {3060, 102}}) {
		l, n := size[0], size[1]
		K, err := data.GaussianGram(ctx, env, l)
		if err != nil {
			return results, err
		}
		Y, sys := data.Targets(env, K, n), sylvester.System{
			K: K, L: data.OutputKernel(env, n, "decaying"), Mu: 1e-3 * float64(l),
		}
		for _, share := range append([]float64{0}, shares...) {
			rng := env.Rand(uint64(l + n))
			cells := linop.NewCells(l, n, func(int, int) bool { return rng.Float64() >= share })
			contenders := []string{withAuto, plainCG}
			if share == 0 {
				contenders = []string{fullGrid}
			}
			for _, name := range contenders {
				method := map[string]string{fullGrid: "auto", withAuto: "auto", plainCG: "cg"}[name]
				var res sylvester.Result
				run := func() error {
					s, err := sylvester.NewMasked(method, cells, sylvester.Config{Backend: env.Backend, Seed: env.Seed})
					if err == nil {
						res, err = s.Solve(ctx, blas.NewGeneral(l, n), sys, Y, sylvester.Options{
							Tol:     1e-6,
							MaxIter: 20000,
						})
					}
					return err
				}
				plan := bench.Plan{Count: env.Repeats(3), Budget: 20 * time.Second}
				part, err := bench.Race(ctx, plan, map[string]any{"l": l, "n": n, "share": share},
					[]bench.Contender{{Name: name, Run: run}})
				for i := range part {
					delete(part[i].Params, "backend")
					part[i].Residual = bench.Num(res.Residual)
					part[i].Metric("columns", float64(res.Columns))
					part[i].Metric("full-grid solves", float64(res.GridSolves))
				}
				if results = append(results, part...); err != nil {
					return results, err
				}
			}
		}
	}
	return results, nil
}

// Names of the lines of the part learn.
const (
	learnAll   = "iokl"
	learnRows  = "complete rows"
	learnMean  = "mean of the output"
	learnRidge = "each output alone"
)

// runLearn learns six coupled outputs and scores the mean squared error on the missing cells, relative to the variance.
func runLearn(ctx context.Context, env *bench.Env) ([]bench.Result, error) {
	l, n := bench.Pick(env, 120, 600), 6
	rng := env.Rand(11)
	X, Y, _, _ := data.SmoothSamples(rng, l, 0, 5, n)
	opt := iokl.Options{
		Kernels: []string{"gaussian:all:median*0.3,1,3"}, Norm: "lp:1", Learn: "eta,l", Seed: env.Seed,
		Backend: env.Backend, IntervalFolds: -1,
	}
	opt.CV = iokl.CVOptions{Folds: 4, Lambdas: []float64{1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4}}
	var results []bench.Result
	for _, share := range bench.Pick(env, shares[2:3], shares[1:]) {
		Z := blas.Clone(Y)
		hide := rand.New(rand.NewPCG(env.Seed, 5))
		for i := range Z.Data {
			if hide.Float64() < share {
				Z.Data[i] = math.NaN()
			}
		}
		for _, name := range []string{learnAll, learnRows, learnMean, learnRidge} {
			start := time.Now()
			P, err := fillBy(ctx, name, X, Z, opt)
			if err != nil {
				return results, fmt.Errorf("%s, %g missing: %w", name, share, err)
			}
			r := bench.Result{Name: name, Params: map[string]any{"l": l, "n": n, "share": share}}
			r.Time([]float64{time.Since(start).Seconds()})
			if P.Data != nil {
				r.Metric("nmse", hiddenError(P, Y, Z))
			}
			env.Log("  %g missing, %s: relative error %.4f", share, name, r.Metrics["nmse"])
			results = append(results, r)
		}
	}
	return results, nil
}

// fillBy predicts all cells; no Data where the method has too few rows to learn from.
func fillBy(ctx context.Context, how string, X, Z blas.General, opt iokl.Options) (blas.General, error) {
	observed := func(i, j int) bool { return !math.IsNaN(blas.Row(Z, i)[j]) }
	var rows []int
	switch how {
	case learnRows:
		for i := range Z.Rows {
			if !slices.ContainsFunc(blas.Row(Z, i), math.IsNaN) {
				rows = append(rows, i)
			}
		}
		if len(rows) < 2*opt.CV.Folds {
			return blas.General{}, nil
		}
		return data.FitPredict(ctx, blas.TakeRows(X, rows), blas.TakeRows(Z, rows), X, opt)
	case learnMean:
		filled := blas.Clone(Z)
		for j := range Z.Cols {
			var sum, count float64
			for i := range Z.Rows {
				if observed(i, j) {
					sum, count = sum+blas.Row(Z, i)[j], count+1
				}
			}
			for i := range Z.Rows {
				if !observed(i, j) {
					blas.Row(filled, i)[j] = sum / count
				}
			}
		}
		return data.FitPredict(ctx, X, filled, X, opt)
	case learnRidge:
		P := mat.NewDense(Z.Rows, Z.Cols, nil)
		for j := range Z.Cols {
			rows = rows[:0]
			for i := range Z.Rows {
				if observed(i, j) {
					rows = append(rows, i)
				}
			}
			y := blas.Clone(blas.View(blas.TakeRows(Z, rows), 0, j, len(rows), 1))
			one, err := data.FitPredict(ctx, blas.TakeRows(X, rows), y, X, opt)
			if err != nil {
				return blas.General{}, err
			}
			P.SetCol(j, one.Data)
		}
		return P.RawMatrix(), nil
	}
	return data.FitPredict(ctx, X, Z, X, opt)
}

// hiddenError is the mean squared error of P on the cells of Y that are missing in Z, relative
// to their mean square about the mean of Y.
func hiddenError(P, Y, Z blas.General) float64 {
	var miss, total float64
	mean := data.Means(Y)
	for i := range Y.Rows {
		for j, y := range blas.Row(Y, i) {
			if math.IsNaN(blas.Row(Z, i)[j]) {
				d := y - blas.Row(P, i)[j]
				miss += d * d
				total += (y - mean[j]) * (y - mean[j])
			}
		}
	}
	return miss / total
}

var concludeMissing = bench.Say(`
{{$all := .}}{{range named "iokl" . | where "share" "0.3"}}{{$r := .}}
{{range where "l" (.Param "l") $all | where "n" (.Param "n")}}{{if eq .Name "no cell missing"}}The system of
{{.Param "l"}} × {{.Param "n"}} with 30 % of the cells missing takes {{div $r.Seconds .Seconds | times}} the time of the
complete one.
{{else if and (eq .Name "each output alone") (eq (.Param "share") "0.3")}}With 30 % of the cells missing, errors there
are
{{value "nmse" $r | printf "%.3f"}} of the variance together and {{value "nmse" . | printf "%.3f"}} for each output
alone.
{{end}}{{end}}{{end}}`)

package bench

import (
	"bytes"
	"context"
	_ "embed" // macrodata.csv
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

//go:embed data/macrodata.csv
var macroCSV []byte

// macroLevels are the series taken as they are; of the others, which grow, the
// quarterly change of the logarithm is taken.
var macroLevels = map[string]bool{"tbilrate": true, "unemp": true, "infl": true, "realint": true}

// loadMacro returns the US macroeconomic series of 1959–2009 (FRED, BLS; public
// domain) in stationary form, a row per quarter from the second on.
func loadMacro() (series blas.General, names []string, err error) {
	rows, err := csv.NewReader(bytes.NewReader(macroCSV)).ReadAll()
	if err != nil {
		return blas.General{}, nil, err
	}
	names = rows[0][2:] // after year and quarter
	level := blas.NewGeneral(len(rows)-1, len(names))
	for i, row := range rows[1:] {
		for j, cell := range row[2:] {
			if level.Data[i*level.Stride+j], err = strconv.ParseFloat(cell, 64); err != nil {
				return series, nil, fmt.Errorf("macrodata: row %d: %w", i+2, err)
			}
		}
	}
	series = blas.NewGeneral(level.Rows-1, len(names))
	for i := range series.Rows {
		before, now := blas.Row(level, i), blas.Row(level, i+1)
		for j, name := range names {
			if macroLevels[name] {
				blas.Row(series, i)[j] = now[j]
				continue
			}
			blas.Row(series, i)[j] = 100 * math.Log(now[j]/before[j])
		}
	}
	return series, names, nil
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

// forecast predicts the targets of the rows of Xtest from a training set, both standardised.
type forecast func(ctx context.Context, X, Y, Xtest blas.General, lambda float64) (blas.General, error)

// runMacro compares one-step forecasts of twelve series: the first 70 % of the
// quarters train, the last fifth of which chooses λ, and the rest tests.
func runMacro(ctx context.Context, env *Env) ([]Result, error) {
	series, names, err := loadMacro()
	if err != nil {
		return nil, err
	}
	X, Y := lagged(series, macroLag)
	train := X.Rows * 7 / 10
	s := split{X: X, Y: Y, train: train, names: names}
	lambdas := []float64{1e-4, 1e-3, 1e-2, 1e-1, 1, 10}
	vector := forecast(func(_ context.Context, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
		return ridge(env.Backend, X, Y, Xt, lambda)
	})
	learner := func(learnEta, learnL bool) forecast {
		return func(ctx context.Context, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
			return learnForecast(ctx, env, X, Y, Xt, lambda, learnEta, learnL)
		}
	}
	var results []Result
	for _, m := range []struct {
		name    string
		lambdas []float64
		f       forecast
	}{
		{"training mean", nil, nil},
		{"linear VAR, least squares", []float64{0}, vector},
		{"linear VAR, ridge", lambdas, vector},
		{"uniform kernels, L = I", lambdas, learner(false, false)},
		{"IKL (kernel weights)", lambdas, learner(true, false)},
		{"OKL (output kernel)", lambdas, learner(false, true)},
		{"IOKL (both)", lambdas, learner(true, true)},
	} {
		start := time.Now()
		r := Result{Name: m.name, Params: map[string]any{"lag": macroLag, "train": train, "test": X.Rows - train}}
		if err := s.score(ctx, &r, m.lambdas, m.f); err != nil {
			return results, err
		}
		r.time([]float64{time.Since(start).Seconds()})
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
func (s *split) score(ctx context.Context, r *Result, lambdas []float64, f forecast) error {
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
	if f != nil {
		r.Params["lambda"] = lambda
	}
	r.metric("rrmse", stat.Mean(e, nil))
	for j, v := range e {
		r.metric("rrmse of "+s.names[j], v)
	}
	return nil
}

// errors trains on the rows below split and tests on those from there up to end.
// The relative error of each series is √(Σ(y−ŷ)²/Σ(y−ȳ_train)²).
func (s *split) errors(ctx context.Context, f forecast, split, end int, lambda float64) ([]float64, error) {
	rows := func(a blas.General, lo, hi int) blas.General { return blas.Clone(blas.View(a, lo, 0, hi-lo, a.Cols)) }
	X, Xt := rows(s.X, 0, split), rows(s.X, split, end)
	Y, Yt := rows(s.Y, 0, split), rows(s.Y, split, end)
	standardise(X, Xt)
	standardise(Y, Yt)
	P := blas.NewGeneral(Yt.Rows, Yt.Cols)
	if f != nil {
		var err error
		if P, err = f(ctx, X, Y, Xt, lambda); err != nil {
			return nil, err
		}
	}
	e := make([]float64, Yt.Cols)
	for j := range e {
		var miss, total float64
		for i := range Yt.Rows {
			y := blas.Row(Yt, i)[j]
			d := y - blas.Row(P, i)[j]
			miss, total = miss+d*d, total+y*y
		}
		e[j] = math.Sqrt(miss / total)
	}
	return e, nil
}

// standardise gives the columns of train mean 0 and variance 1, constant ones
// 0, and changes those of test, which may be empty, alike.
func standardise(train, test blas.General) {
	for j := range train.Cols {
		var mean, square float64
		for i := range train.Rows {
			mean += blas.Row(train, i)[j] / float64(train.Rows)
		}
		for i := range train.Rows {
			d := blas.Row(train, i)[j] - mean
			square += d * d / float64(train.Rows)
		}
		scale := 0.0
		if square > 0 {
			scale = 1 / math.Sqrt(square)
		}
		for _, a := range []blas.General{train, test} {
			for i := range a.Rows {
				p := &blas.Row(a, i)[j]
				*p = (*p - mean) * scale
			}
		}
	}
}

// ridge predicts by W = (XᵀX + λlI)⁻¹XᵀY.
func ridge(be blas.Backend, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
	d, n := X.Cols, Y.Cols
	A, W, P := blas.NewGeneral(d, d), blas.NewGeneral(d, n), blas.NewGeneral(Xt.Rows, n)
	blas.GramOf(be, A, X)
	blas.Mul(be, W, true, false, X, Y)
	for i := range d {
		// With λ = 0 a shift at rounding level stands for the pseudo-inverse.
		A.Data[i*A.Stride+i] += lambda*float64(X.Rows) + 1e-10*float64(X.Rows)
	}
	if !be.Potrf(A) {
		return P, fmt.Errorf("ridge: XᵀX + %g·I is not positive definite", lambda)
	}
	be.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, d, n, 1, A.Data, A.Stride, W.Data, W.Stride)
	be.Dtrsm(blas.Left, blas.Lower, blas.Trans, blas.NonUnit, d, n, 1, A.Data, A.Stride, W.Data, W.Stride)
	blas.Mul(be, P, false, false, Xt, W)
	return P, nil
}

// learnForecast fits linear and Gaussian kernels, on each series' past and on all
// of them, and predicts.
func learnForecast(ctx context.Context, env *Env, X, Y, Xt blas.General, lambda float64, learnEta, learnL bool) (blas.General, error) {
	d, err := kernel.Build([]string{"linear:all:unit", "gaussian:all:median*0.5,1,2,4", "gaussian:groups:median*1,3", "linear:groups"},
		X, pastOf(Y.Cols, macroLag), env.Seed)
	if err != nil {
		return blas.General{}, err
	}
	grams, err := d.Grams(ctx, X, kernel.GramOptions{Backend: env.Backend})
	if err != nil {
		return blas.General{}, err
	}
	norm := bcd.Lp{P: 1.3}
	p := &bcd.Problem{
		Space:  bcd.NewSamples(linop.NewGramSum(grams, env.Backend, blas.Float64), Y),
		Lambda: lambda, Tau: float64(Y.Cols), Norm: norm, FixEta: !learnEta, FixL: !learnL,
	}
	res, err := bcd.Solve(ctx, p, bcd.Options{Tol: 1e-3, MaxOuter: 100, Backend: env.Backend, Seed: env.Seed})
	if err != nil && !errors.Is(err, bcd.ErrNotConverged) { // a forecast does not need the last digits
		return blas.General{}, err
	}
	K, CL, P := blas.NewGeneral(Xt.Rows, X.Rows), blas.NewGeneral(X.Rows, Y.Cols), blas.NewGeneral(Xt.Rows, Y.Cols)
	if err := d.CrossSum(K, res.Eta, Xt, X); err != nil {
		return blas.General{}, err
	}
	res.L.MulRight(env.Backend, CL, res.C)
	blas.Mul(env.Backend, P, false, false, K, CL)
	return P, nil
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

package cases

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// ahead forecasts so many steps after the rows past, one row a step.
type ahead func(past blas.General, steps int) (blas.General, error)

// runForecasts fits to the first part of the rows and forecasts from many places of the rest.
func runForecasts(ctx context.Context, env *bench.Env) error {
	macro, names, err := data.Macro()
	if err != nil {
		return err
	}
	if err := forecastSet(ctx, env, "macro", granger.Data{Names: names, X: macro}, granger.Options{Lag: macroLag},
		140, 4, len(names), 1); err != nil {
		return err
	}
	hours := bench.Pick(env, 900, 365*24)
	load := hourlyLoad(hours, env.Seed)
	return forecastSet(ctx, env, "hourly load", load, granger.Options{Lag: 24, Decay: 0.95}, hours*4/5, 24, 2, 7)
}

const macroLag = 2

// forecastSet compares methods on the first `scored` columns: fitted to the first rows,
// forecasts start from every k-th row of the rest.
func forecastSet(
	ctx context.Context, env *bench.Env, name string, d granger.Data, opt granger.Options, first, steps, scored,
	every int,
) error {
	train := d
	train.X = blas.View(d.X, 0, 0, first, d.X.Cols)
	opt.Backend, opt.Seed = env.Backend, env.Seed
	start := time.Now()
	study, err := granger.NewStudy(ctx, &train, opt)
	if err != nil {
		return err
	}
	kernels, err := study.Forecaster(ctx)
	if err != nil {
		return err
	}
	intervals, err := study.Forecast(ctx, steps, 0.9)
	if err != nil {
		return err
	}
	fit := time.Since(start).Seconds()
	linear, err := varForecaster(env, &train, opt.Lag)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name    string
		next    ahead
		seconds float64
	}{
		{"kernels", kernels.Ahead, fit},
		{fmt.Sprintf("linear ridge VAR(%d)", opt.Lag), linear, 0},
		{"last value", func(past blas.General, steps int) (blas.General, error) {
			out := blas.NewGeneral(steps, past.Cols)
			for h := range steps {
				copy(blas.Row(out, h), blas.Row(past, past.Rows-1))
			}
			return out, nil
		}, 0},
	} {
		errors := make([][]float64, steps*scored) // squared, of each step and series
		var held, all float64
		for t := first; t+steps <= d.X.Rows; t += every {
			F, err := m.next(blas.View(d.X, t-opt.Lag, 0, opt.Lag, d.X.Cols), steps)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			for h := range steps {
				for c := range scored {
					e := blas.Row(d.X, t+h)[c] - blas.Row(F, h)[c]
					errors[h*scored+c] = append(errors[h*scored+c], e*e)
					q := intervals[h*d.X.Cols+c]
					if all++; math.Abs(e) <= (q.Hi-q.Lo)/2 {
						held++
					}
				}
			}
		}
		r := bench.Result{Name: m.name, Params: map[string]any{
			"set": name, "rows": d.X.Rows, "series": d.X.Cols, "lag": opt.Lag, "origins": len(errors[0]),
		}}
		r.Time([]float64{m.seconds})
		for _, h := range []int{1, max(1, steps/2), steps} {
			var relative []float64
			for c := range scored {
				values := mat.Col(nil, c, blas.Dense(train.X))
				relative = append(relative, stat.Mean(errors[(h-1)*scored+c], nil)/stat.PopVariance(values, nil))
			}
			r.Metric(fmt.Sprintf("nmse_%d", h), stat.Mean(relative, nil))
		}
		if m.name == "kernels" {
			r.Metric("coverage", held/all)
		}
		env.Add(r)
	}
	return nil
}

// varForecaster is ridge regression of all series on lag past values of all, λ by
// generalized cross-validation for each, used step by step.
func varForecaster(env *bench.Env, d *granger.Data, lag int) (ahead, error) {
	X, Y := pastAndPresent(d, lag)
	means, scales := make([]float64, Y.Cols), make([]float64, Y.Cols)
	for j := range means {
		means[j], scales[j] = stat.PopMeanStdDev(mat.Col(nil, j, blas.Dense(Y)), nil)
	}
	standard := func(row []float64) {
		for k := range row {
			row[k] = (row[k] - means[k%len(means)]) / scales[k%len(means)]
		}
	}
	for i := range Y.Rows {
		standard(blas.Row(X, i))
		standard(blas.Row(Y, i))
	}
	W, err := ridgeWeights(env, X, Y)
	if err != nil {
		return nil, err
	}
	return func(past blas.General, steps int) (blas.General, error) {
		n := past.Cols
		x, out := make([]float64, lag*n), blas.NewGeneral(steps, n)
		for k := range lag {
			copy(x[k*n:], blas.Row(past, past.Rows-1-k))
		}
		standard(x)
		for h := range steps {
			y := make([]float64, n)
			for i := range y {
				y[i] = blas.Dot(W[i], x)
				blas.Row(out, h)[i] = means[i] + scales[i]*y[i]
			}
			copy(x[n:], x[:len(x)-n])
			copy(x, y)
		}
		return out, nil
	}, nil
}

// hourlyLoad generates a load in MW and the temperature that drives it, beside the hour of the day as a point on a
// circle and whether it is a weekend: heating below 15 °C and cooling above 22 °C, a daily course that differs at
// weekends, and noise that is an autoregression.
func hourlyLoad(hours int, seed uint64) granger.Data {
	rng := rand.New(rand.NewPCG(seed, 8760))
	d := granger.Data{Names: []string{"load", "temperature", "sine", "cosine", "weekend"}, X: blas.NewGeneral(hours, 5)}
	weather, noise, warmth := 0.0, 0.0, 10.0
	for t := range hours {
		day, hour := float64(t)/24, float64(t%24)
		angle := 2 * math.Pi * hour / 24
		weather = 0.985*weather + 0.7*rng.NormFloat64()
		temperature := 12 - 10*math.Cos(2*math.Pi*day/365) + 4*math.Sin(angle-2) + weather
		warmth += (temperature - warmth) / 6 // buildings follow in hours
		noise = 0.8*noise + rng.NormFloat64()
		weekend := 0.0
		if t/24%7 >= 5 {
			weekend = 1
		}
		course := (1 - 0.5*weekend) * (12*math.Sin(angle-1.8) + 6*math.Sin(2*angle-1))
		load := 100 + course + 1.5*math.Max(0, 15-warmth) + 2*math.Max(0, warmth-22) + 1.5*noise
		copy(blas.Row(d.X, t), []float64{load, temperature, math.Sin(angle), math.Cos(angle), weekend})
	}
	return d
}

// runDrosophila follows the paper's gene experiment: groups of genes of one function through the fly's life cycle,
// lag 7, λ = 1e-3; linear or nonlinear kernels, the output kernel learned or the identity.
func runDrosophila(ctx context.Context, env *bench.Env) error {
	d, err := lifeCycle(env, bench.Pick(env, 3, 66))
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name, kernels string
		fixL          bool
	}{
		{"linear, L = I", "linear:groups", true},
		{"linear, L learned", "linear:groups", false},
		{"nonlinear, L = I", "gaussian:groups:median", true},
		{"nonlinear, L learned", "gaussian:groups:median", false},
	} {
		var res *granger.Result
		r, err := env.Time(c.name, map[string]any{"groups": len(d.Nodes), "genes": d.X.Cols}, func() (err error) {
			res, err = granger.Infer(ctx, d, granger.Options{
				Lag: 7, Kernels: []string{c.kernels}, Lambda: 1e-3, FixL: c.fixL, HoldOut: 0.2, Seed: env.Seed,
				Backend: env.Backend,
			})
			return err
		})
		if err != nil {
			return err
		}
		var central []string
		for _, node := range res.Central(0)[:min(3, len(res.Nodes))] {
			central = append(central, node.Node)
		}
		r.Params["central"] = strings.Join(central, ", ")
		var rmse, own []float64
		for _, f := range res.Fits {
			rmse, own = append(rmse, f.RMSE), append(own, f.RMSEOwn)
		}
		r.Metric("mean_rmse", stat.Mean(rmse, nil))
		r.Metric("mean_rmse_constant", stat.Mean(own, nil)) // groups are too large for a past of their own
	}
	return nil
}

// lifeCycle reads the genes of the first groups, in the order of time. A gene in several groups is a series in each.
func lifeCycle(env *bench.Env, groups int) (*granger.Data, error) {
	tables := map[string][][]string{}
	for _, name := range []string{"arbeitman_4028x67.csv", "go_bp_groups_min25.csv", "go_bp_terms.csv"} {
		t, err := data.ReadText(env, "drosophila", name)
		if err != nil {
			return nil, err
		}
		tables[name] = t[1:]
	}
	titles, levels := map[string]string{}, map[string][]string{}
	for _, row := range tables["go_bp_terms.csv"] {
		titles[row[0]] = row[1]
	}
	for _, row := range tables["arbeitman_4028x67.csv"] {
		levels[row[0]] = row[2:] // without the unfertilised egg
	}
	d := &granger.Data{}
	var pairs [][2]string // of series and group
	chosen := map[string]bool{}
	var genes [][]string
	for _, m := range tables["go_bp_groups_min25.csv"] {
		if !chosen[m[0]] && len(chosen) == groups {
			continue
		}
		chosen[m[0]] = true
		series := m[1] + "@" + m[0]
		d.Names, pairs = append(d.Names, series), append(pairs, [2]string{series, cmp.Or(titles[m[0]], m[0])})
		genes = append(genes, levels[m[1]])
	}
	d.X = blas.NewGeneral(len(genes[0]), len(genes))
	for j, texts := range genes {
		for i := range d.X.Rows {
			v, err := strconv.ParseFloat(strings.TrimSpace(texts[i]), 64)
			if err != nil {
				return nil, fmt.Errorf("drosophila: %s: %w", d.Names[j], err)
			}
			blas.Row(d.X, i)[j] = v
		}
	}
	var err error
	d.Nodes, err = granger.Group(d.Names, pairs)
	return d, err
}

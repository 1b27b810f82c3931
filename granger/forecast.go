package granger

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/order"
)

// Forecast is the forecast of a series so many steps after the last row of the data, in its unit.
type Forecast struct {
	Series string  `json:"series"`
	Step   int     `json:"step"`
	Value  float64 `json:"value"`
	// The interval is Value ± the quantile of the errors that models of the first part of the time
	// make as many steps ahead on the part held out (split conformal prediction, by step).
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
	RMSE float64 `json:"rmse"`      // of those errors
	Last float64 `json:"rmse_last"` // the same where the last value known is the forecast
}

// Forecaster forecasts by the models of all nodes. It serves one goroutine.
type Forecaster struct {
	e      *engine
	models []model
	part   func(ctx context.Context, X blas.General) ([]blas.General, error) // of the kernels of all models
}

// forecastOrigins is how many held-out time points intervals are measured from, at most.
const forecastOrigins = 300

// Forecaster fits all nodes to all samples, for forecasts. The kernel on all nodes, [Result.Joint], is not used.
func (s *Study) Forecaster(ctx context.Context) (*Forecaster, error) {
	models, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	return s.e.forecaster(models, s.e.all())
}

// forecaster is one of models fitted to the samples idx.
func (e *engine) forecaster(models []model, idx []int) (*Forecaster, error) {
	part, err := e.kernelPart(models, idx, -1)
	return &Forecaster{e: e, models: models, part: part}, err
}

// next is the standardized values of all series that follow the inputs X, a row for each of its rows.
func (f *Forecaster) next(ctx context.Context, X blas.General) (blas.General, error) {
	out := blas.NewGeneral(X.Rows, f.e.Y.Cols)
	parts, err := f.part(ctx, X)
	if err != nil {
		return out, err
	}
	for k, span := range f.e.node {
		F := blas.View(out, 0, span.lo, X.Rows, span.hi-span.lo)
		blas.Copy(F, parts[k])
		f.e.addFree(&f.models[k], F, X)
	}
	return out, nil
}

// advance moves the inputs X one step on, where the standardized values F come next.
func (g *design) advance(X, F blas.General) {
	for i := range X.Rows {
		x := blas.Row(X, i)
		for c := len(x) - 1; c >= 0; c-- {
			if c%g.opt.Lag > 0 {
				x[c] = g.opt.Decay * x[c-1]
			} else {
				x[c] = g.weight[c] * blas.Row(F, i)[c/g.opt.Lag]
			}
		}
	}
}

// Ahead forecasts steps steps after the rows of past, which has the columns of Data.X and at least as many rows as the
// lag. The result has a row for each step. Later steps take earlier forecasts as past values.
func (f *Forecaster) Ahead(past blas.General, steps int) (blas.General, error) {
	g := f.e.design
	if past.Rows < g.opt.Lag || past.Cols != g.data.X.Cols || steps < 1 {
		return blas.General{}, fmt.Errorf("%w: a forecast of %d steps from %d×%d values, lag %d", ErrShort, steps,
			past.Rows, past.Cols, g.opt.Lag)
	}
	X, z := blas.NewGeneral(1, g.X.Cols), blas.NewGeneral(1, g.Y.Cols)
	for t := past.Rows - g.opt.Lag; t < past.Rows; t++ {
		for c, j := range g.series {
			z.Data[c] = (blas.Row(past, t)[j] - g.mean[c]) / g.scale[c]
		}
		g.advance(X, z)
	}
	out := blas.NewGeneral(steps, g.Y.Cols)
	for h := range steps {
		F, err := f.next(context.Background(), X)
		if err != nil {
			return out, err
		}
		g.advance(X, F)
		for c, v := range F.Data {
			out.Data[h*out.Stride+c] = g.mean[c] + g.scale[c]*v
		}
	}
	return out, nil
}

// Forecast forecasts the given number of steps after the last row, with intervals of the given level. The list has all
// series of the first step, then those of the second, and so on. The error wraps [ErrShort] if too few time points are
// held out for such intervals.
func (s *Study) Forecast(ctx context.Context, steps int, level float64) ([]Forecast, error) {
	e := s.e
	if steps < 1 || !(level > 0 && level < 1) {
		return nil, fmt.Errorf("%w: a forecast of %d steps at the level %g", ErrOption, steps, level)
	}
	r := e.before(1 - e.opt.HoldOut)
	if e.opt.HoldOut < 0 || r < 2 {
		return nil, fmt.Errorf("%w: intervals need time points that are held out", ErrShort)
	}
	origins := e.origins(r)
	if err := measurable(origins, steps, level); err != nil {
		return nil, err
	}
	f, err := s.Forecaster(ctx)
	if err != nil {
		return nil, err
	}
	for t := e.data.X.Rows - e.opt.Lag; t < e.data.X.Rows; t++ {
		if e.gap(t) >= 0 {
			return nil, fmt.Errorf("%w: row %d of the last %d, which forecasts start from", ErrGap, t, e.opt.Lag)
		}
	}
	value, err := f.Ahead(e.data.X, steps)
	if err != nil {
		return nil, err
	}
	models, err := e.fitHere(ctx, e.tasks(sequence(0, r), nil, s.lambda))
	if err != nil {
		return nil, err
	}
	if f, err = e.forecaster(models, sequence(0, r)); err != nil {
		return nil, err
	}
	first := make([]int, len(origins))
	for i, o := range origins {
		first[i] = o[0]
	}
	X := blas.TakeRows(e.X, first)
	var out []Forecast
	for h := range steps {
		F, err := f.next(ctx, X)
		if err != nil {
			return nil, err
		}
		e.advance(X, F)
		for c, j := range e.series {
			errors, naive := f.measured(origins, F, h, c)
			slices.Sort(errors)
			width := errors[order.IntervalRank(level, len(errors))-1]
			v := blas.Row(value, h)[c]
			out = append(out, Forecast{e.data.Names[j], h + 1, v, v - width, v + width, rms(errors), rms(naive)})
		}
	}
	return out, nil
}

// measured are the errors of the standardized forecasts F, h steps after the first one of
// each origin, for column c of Y, and those of the last value before it.
func (f *Forecaster) measured(origins [][]int, F blas.General, h, c int) (errors, naive []float64) {
	g := f.e.design
	for i, o := range origins {
		if h < len(o) {
			y, last := blas.Row(g.Y, o[h])[c], blas.Row(g.S, g.rows[o[0]]-1)[c]
			errors = append(errors, g.scale[c]*math.Abs(y-blas.Row(F, i)[c]))
			naive = append(naive, g.scale[c]*(y-last))
		}
	}
	return errors, naive
}

// measurable refuses steps ahead whose errors too few origins measure, and names how many steps they do measure.
func measurable(origins [][]int, steps int, level float64) error {
	need := max(1, int(level/(1-level)))
	for order.IntervalRank(level, need) > need {
		need++
	}
	for h := range steps {
		n := 0
		for _, o := range origins {
			if len(o) > h {
				n++
			}
		}
		if n >= need {
			continue
		}
		remedy := "lower the level"
		if h > 0 {
			remedy = fmt.Sprintf("forecast at most %d, or lower the level", h)
		}
		return fmt.Errorf("%w: intervals of level %g need %d held-out time points, and %d steps ahead there are %d: %s",
			ErrShort, level, need, h+1, n, remedy)
	}
	return nil
}

// origins lists, for time points held out from sample r on, the samples that follow each
// in time up to a missing value, itself first: evenly spread, at most forecastOrigins.
func (g *design) origins(r int) [][]int {
	var all [][]int
	for _, run := range g.stretches() {
		var samples []int
		for t := run.lo + g.opt.Lag; t < run.hi; t++ {
			samples = append(samples, g.sample[t])
		}
		for k, s := range samples {
			if s >= r {
				all = append(all, samples[k:])
			}
		}
	}
	return evenly(all, forecastOrigins)
}

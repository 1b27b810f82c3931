package granger

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

// Forecasts one step ahead are the predictions of the models on held-out time points, in
// every form of fit, and steps ahead follow from them by putting forecasts in for values.
func TestForecastIsPrediction(t *testing.T) {
	groups := []Node{{"a", []int{2, 0}}, {"b", []int{1}}, {"c", []int{3}}}
	for name, c := range map[string]struct {
		nodes []Node
		opt   Options
	}{
		"stacked":     {nil, Options{Lag: 3}},
		"one by one":  {nil, Options{Lag: 2, Norm: "lp:1.5"}},
		"groups":      {groups, Options{Lag: 2, Decay: 0.7}},
		"features":    {nil, Options{Lag: 2, Kernels: []string{"rff:gaussian:groups:median:20"}}},
		"nonlinear":   {nil, Options{Lag: 2, Nonlinear: true}},
		"all linear":  {groups, Options{Kernels: []string{"linear:groups"}}},
		"long memory": {nil, Options{Lag: 40}}, // own history is not free
	} {
		t.Run(name, func(t *testing.T) {
			g := LinearVAR(4, 160, 2, 2, 1, 9)
			g.Data.Nodes = c.nodes
			e, err := start(t.Context(), &g.Data, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			r := e.before(0.75)
			lambda := []float64{0.1, 0.1, 0.1, 0.1}[:len(e.node)]
			tasks := e.tasks(sequence(0, r), sequence(r, e.l), lambda)
			models, err := e.fitHere(t.Context(), tasks)
			if err != nil {
				t.Fatal(err)
			}
			f, err := e.forecaster(models, sequence(0, r))
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range sequence(r, e.l) {
				row := e.rows[s]
				past := blas.View(g.Data.X, 0, 0, row, 4)
				got, err := f.Ahead(past, 2)
				if err != nil {
					t.Fatal(err)
				}
				next := blas.NewGeneral(row+1, 4)
				blas.Copy(blas.View(next, 0, 0, row, 4), past)
				for k, span := range e.node {
					for c := span.lo; c < span.hi; c++ {
						want := e.mean[c] + e.scale[c]*models[k].Predict.Data[i*models[k].Predict.Stride+c-span.lo]
						if v := got.Data[c]; !(math.Abs(v-want) <= 1e-4*e.scale[c]) {
							t.Fatalf("series %d at row %d: %g, the model predicts %g", c, row, v, want)
						}
						blas.Row(next, row)[e.series[c]] = got.Data[c]
					}
				}
				then, err := f.Ahead(next, 1)
				if err != nil {
					t.Fatal(err)
				}
				for c, v := range blas.Row(got, 1) {
					if !(math.Abs(v-then.Data[c]) <= 1e-9*e.scale[c]) {
						t.Fatalf("series %d two steps after row %d: %g, from the forecast before it %g", c, row, v,
							then.Data[c])
					}
				}
			}
		})
	}
}

// Intervals cover what follows as often as they say, and forecasts are better than the last value.
func TestForecastCovers(t *testing.T) {
	const steps, level, systems = 4, 0.8, 30
	var covered, count, own, last float64
	for seed := range uint64(systems) {
		g := LinearVAR(3, 200+steps, 1, 1, 1, seed)
		d := g.Data
		d.X = blas.View(g.Data.X, 0, 0, 200, 3)
		s, err := NewStudy(context.Background(), &d, Options{HoldOut: 0.4})
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Forecast(context.Background(), steps, level)
		if err != nil {
			t.Fatal(err)
		}
		for k, q := range f {
			count++
			if y := g.Data.X.Data[200*3+k]; y >= q.Lo && y <= q.Hi {
				covered++
			}
			own, last = own+square(q.RMSE), last+square(q.Last)
		}
	}
	if rate := covered / count; !(rate > level-0.06 && rate < level+0.08) {
		t.Errorf("%.3f are in intervals of level %g", rate, level)
	}
	if !(own < 0.8*last) {
		t.Errorf("mean squared errors %g, of the last value %g", own/count, last/count)
	}
}

func TestForecastRefuses(t *testing.T) {
	g := LinearVAR(3, 60, 1, 1, 1, 1)
	for name, c := range map[string]struct {
		opt   Options
		steps int
		level float64
		want  error
		words string
	}{
		"no steps":     {Options{}, 0, 0.9, ErrOption, "0 steps"},
		"a level of 1": {Options{}, 1, 1, ErrOption, "level 1"},
		"too far": {
			Options{},
			5, 0.9, ErrShort,
			"need 9 held-out time points, and 5 steps ahead there are 8: forecast at most 4, or lower the level",
		},
		"too sure": {
			Options{},
			1, 0.99, ErrShort,
			"need 99 held-out time points, and 1 steps ahead there are 12: lower the level",
		},
		"nothing is held": {Options{HoldOut: -1}, 1, 0.5, ErrShort, "held out"},
	} {
		s, err := NewStudy(t.Context(), &g.Data, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Forecast(t.Context(), c.steps, c.level); !errors.Is(err, c.want) ||
			!strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := NewStudy(t.Context(), &g.Data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forecast(t.Context(), 4, 0.9); err != nil {
		t.Errorf("nine held-out points are enough for a level of .9: %v", err)
	}
}

package granger_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// Each violation is named in nearly all series that have it, and in few that do not.
func TestDoubts(t *testing.T) {
	const rows, series, level = 200, 4, 0.05
	for name, c := range map[string]struct {
		what string
		next func(rng *rand.Rand, t int, a, b, c float64) float64 // from the last three values
	}{
		"nothing": {"", func(rng *rand.Rand, _ int, a, _, _ float64) float64 { return 0.4*a + rng.NormFloat64() }},
		"longer past": {granger.Memory, func(rng *rand.Rand, _ int, a, _, c float64) float64 {
			return 0.2*a + 0.6*c + rng.NormFloat64()
		}},
		"spread": {granger.Spread, func(rng *rand.Rand, t int, a, _, _ float64) float64 {
			return 0.4*a + (1+float64(t)/40)*rng.NormFloat64()
		}},
		"walk": {granger.Wander, func(rng *rand.Rand, _ int, a, _, _ float64) float64 { return a + rng.NormFloat64() }},
	} {
		t.Run(name, func(t *testing.T) {
			counts := map[string]int{}
			const systems = 5
			for seed := range uint64(systems) {
				rng := rand.New(rand.NewPCG(seed, 7))
				d := &granger.Data{Names: []string{"a", "b", "c", "d"}, X: blas.NewGeneral(rows, series)}
				for j := range series {
					var past [3]float64
					for i := -50; i < rows; i++ {
						past = [3]float64{c.next(rng, max(i, 0), past[0], past[1], past[2]), past[0], past[1]}
						if i >= 0 {
							d.X.Data[i*series+j] = past[0]
						}
					}
				}
				s, err := granger.NewStudy(bg, d, granger.Options{})
				if err != nil {
					t.Fatal(err)
				}
				doubts, err := s.Doubts(bg, level)
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range doubts {
					counts[q.What]++
				}
			}
			for _, what := range []string{granger.Memory, granger.Spread, granger.Wander} {
				switch n := counts[what]; {
				case what == c.what && n < 4*systems*series/5:
					t.Errorf("%s is named in %d of %d series", what, n, systems*series)
				case what != c.what && n > systems*series/5:
					t.Errorf("%s is named in %d of %d series that have none", what, n, systems*series)
				}
			}
		})
	}
}

// A missing value leaves out the windows that hold it, and these alone: the graph is that
// of replicates that end before it and begin after it.
func TestMissingWindows(t *testing.T) {
	g := granger.LinearVAR(3, 90, 1, 1, 1, 4)
	whole := g.Data
	whole.X = blas.Clone(g.Data.X)
	whole.X.Data[40*3+1] = math.NaN()
	got, err := granger.Infer(bg, &whole, granger.Options{Lag: 2, HoldOut: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Missing != 3 || got.Samples != 85 {
		t.Errorf("%d windows are left out and %d remain", got.Missing, got.Samples)
	}
	split := granger.Data{Names: g.Data.Names, X: blas.NewGeneral(89, 3), Replicate: make([]int, 89)}
	copy(split.X.Data, g.Data.X.Data[:40*3])
	copy(split.X.Data[40*3:], g.Data.X.Data[41*3:])
	for i := 40; i < 89; i++ {
		split.Replicate[i] = 1
	}
	want, err := granger.Infer(bg, &split, granger.Options{Lag: 2, HoldOut: -1})
	if err != nil {
		t.Fatal(err)
	}
	// Means and deviations differ by what the series without a gap have at that row.
	if !slices.EqualFunc(got.Graph.Data, want.Graph.Data, func(a, b float64) bool { return math.Abs(a-b) < 0.03 }) {
		t.Errorf("graph %v, of replicates without the row %v", got.Graph.Data, want.Graph.Data)
	}
	s, err := granger.NewStudy(bg, &whole, granger.Options{Lag: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Null(bg, granger.Rounds{To: 2}); err != nil {
		t.Error(err)
	}
	if _, err := s.Stability(bg, 1, granger.Rounds{To: 2}); err != nil {
		t.Error(err)
	}
	if f, err := s.Forecast(bg, 2, 0.8); err != nil || len(f) != 6 {
		t.Errorf("%d forecasts, %v", len(f), err)
	}
}

package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
)

// Ends of conformal intervals are those of CV+ by its definition: of rank r among q_hi + s and, from above, q_lo − s
// of the folds' quantiles and scores s.
func TestConformalEnds(t *testing.T) {
	const rows, targets, q, folds, level = 40, 2, 3, 4, 0.8
	rng := rand.New(rand.NewPCG(3, 3))
	m := &Model{Out: &columns.Outputs{
		Quantiles: []float64{0.1, 0.5, 0.9}, Names: make([]string, targets*q), Loss: "quantile:0.1,0.5,0.9",
	}}
	draw := func(rows int) blas.General {
		A := blas.NewGeneral(rows, targets*q)
		for i := range rows {
			for j := range targets {
				own := blas.Row(A, i)[q*j : q*j+q]
				for k := range own {
					own[k] = rng.NormFloat64()
				}
				slices.Sort(own)
			}
		}
		return A
	}
	predictions := make([]blas.General, folds)
	for k := range folds {
		f := Fold{F: draw(15 + k), Y: blas.NewGeneral(15+k, targets*q)}
		for i := range f.Y.Rows {
			for j := range targets {
				y := rng.NormFloat64()
				if rng.IntN(5) == 0 {
					y = math.NaN()
				}
				for c := range q {
					blas.Row(f.Y, i)[q*j+c] = y
				}
			}
		}
		m.Folds, predictions[k] = append(m.Folds, f), draw(rows)
	}
	asked := Interval{Level: level}
	if err := m.intervals(&asked, rows); err != nil || asked.Method != Conformal {
		t.Fatal(asked, err)
	}
	searches, err := m.searches(t.Context(), asked, rows)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := blas.NewGeneral(rows, targets), blas.NewGeneral(rows, targets)
	combine(m.sides(level), draw(rows), lo, hi, searches, predictions, nil)
	for i := range rows {
		for j := range targets {
			var below, above []float64
			for k, f := range m.Folds {
				p := blas.Row(predictions[k], i)[q*j:]
				for a := range f.Y.Rows {
					y, own := blas.Row(f.Y, a)[q*j], blas.Row(f.F, a)[q*j:]
					if s := math.Max(own[0]-y, y-own[2]); !math.IsNaN(s) {
						below, above = append(below, p[0]-s), append(above, p[2]+s)
					}
				}
			}
			slices.Sort(below)
			slices.Sort(above)
			r := int(math.Ceil(level * float64(len(above)+1)))
			a, b := below[len(below)-r], above[r-1]
			if a > b {
				a = (a + b) / 2
				b = a
			}
			if x, y := blas.Row(lo, i)[j], blas.Row(hi, i)[j]; math.Abs(x-a)+math.Abs(y-b) > 1e-12 {
				t.Fatalf("row %d, target %d: from %g to %g, want %g to %g", i, j, x, y, a, b)
			}
		}
	}
}

// Intervals are made of the pair of quantiles whose distance is nearest to the level.
func TestSides(t *testing.T) {
	for _, c := range []struct {
		tau       []float64
		level     float64
		low, high int
	}{
		{[]float64{0.05, 0.25, 0.5, 0.75, 0.95}, 0.9, 0, 4},
		{[]float64{0.05, 0.25, 0.5, 0.75, 0.95}, 0.5, 1, 3},
		{[]float64{0.1, 0.2, 0.8, 0.9}, 0.6, 1, 2},
		{[]float64{0.1, 0.3, 0.5, 0.7, 0.9}, 0.4, 1, 3},
		{[]float64{0.4, 0.6}, 0.99, 0, 1},
	} {
		m := &Model{Out: &columns.Outputs{Quantiles: c.tau}}
		if got, want := m.sides(c.level), (sides{len(c.tau), c.low, c.high}); got != want {
			t.Errorf("%v, level %g: %v, want %v", c.tau, c.level, got, want)
		}
	}
}

// Of scores below 0 too, the largest in units of its target stands for all of a sample.
func TestJoinNegative(t *testing.T) {
	S := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{-1, -4, 7, math.NaN()}}
	join([]blas.General{S})
	unit := [2]float64{5, 4} // root mean squares
	for at, want := range []float64{-0.2 * unit[0], -0.2 * unit[1], 7, math.NaN()} {
		if got := S.Data[at]; !(math.Abs(got-want) <= 1e-12) && !(at == 3 && math.IsNaN(got)) {
			t.Errorf("number %d is %g, want %g", at, got, want)
		}
	}
}

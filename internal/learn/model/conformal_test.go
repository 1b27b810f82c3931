package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/columns"
)

// Ends of conformal intervals are q_lo − s and q_hi + s, s being the score of rank r among those of held-out rows.
func TestConformalEnds(t *testing.T) {
	const rows, held, targets, q, level = 40, 60, 2, 3, 0.8
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
	h := &HeldOut{F: draw(held), Y: blas.NewGeneral(held, targets*q)}
	for i := range held {
		for j := range targets {
			y := rng.NormFloat64()
			if rng.IntN(5) == 0 {
				y = math.NaN()
			}
			for c := range q {
				blas.Row(h.Y, i)[q*j+c] = y
			}
		}
	}
	m.Held = h
	m.In = new(columns.Inputs)
	asked := Interval{Level: level}
	if err := m.check(&asked, rows); err != nil || asked.Method != Conformal {
		t.Fatal(asked, err)
	}
	F, lo, hi := draw(rows), blas.NewGeneral(rows, targets), blas.NewGeneral(rows, targets)
	if err := m.around(t.Context(), F, lo, hi, blas.General{}, asked); err != nil {
		t.Fatal(err)
	}
	for j := range targets {
		var scores []float64
		for a := range held {
			y, own := blas.Row(h.Y, a)[q*j], blas.Row(h.F, a)[q*j:]
			if s := math.Max(own[0]-y, y-own[2]); !math.IsNaN(s) {
				scores = append(scores, s)
			}
		}
		slices.Sort(scores)
		s := scores[int(math.Ceil(level*float64(len(scores)+1)))-1]
		for i := range rows {
			f := blas.Row(F, i)[q*j:]
			a, b := f[0]-s, f[2]+s
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

package columns

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn/defaults"
)

func TestPullIn(t *testing.T) {
	const l = 2 * defaults.SomeSamples
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name     string
		rows     int
		wild     []float64 // in place of the first values of 0, 1, 2, …, 9, 0, …
		want     []float64
		constant bool // the others are 0
		asks     bool // whether it stands for a missing value
	}{
		{name: "none", rows: l},
		{name: "far above", rows: l, wild: []float64{1e3}, want: []float64{9}},
		{name: "far below and above", rows: l, wild: []float64{-1e3, 1e280}, want: []float64{0, 9}},
		{name: "too many", rows: l, wild: []float64{1e3, 1e3, 1e3}, want: []float64{1e3, 1e3, 1e3}, asks: true},
		{name: "repeated", rows: 20, wild: []float64{-99, 5, -99}, want: []float64{-99, 5, -99}, asks: true},
		{name: "two near", rows: 20, wild: []float64{50, 5, 50}, want: []float64{50, 5, 50}},
		{name: "together", rows: l, wild: []float64{1e3, 1.1e3}, want: []float64{9, 9}},
		{name: "not far", rows: l, wild: []float64{50}, want: []float64{50}},
		{name: "one after the other", rows: l, wild: []float64{50, 200}, want: []float64{50, 200}},
		{name: "few rows", rows: defaults.SomeSamples - 1, wild: []float64{1e3}, want: []float64{1e3}},
		{name: "rare among equal values", rows: l, wild: []float64{1e3}, want: []float64{1e3}, constant: true},
		{name: "missing", rows: l + 1, wild: []float64{nan, 1e3}, want: []float64{nan, 9}},
		{name: "infinite", rows: l, wild: []float64{1e3, inf}, want: []float64{1e3, inf}},
	} {
		for _, scale := range []float64{1, 1e-12, 1e12} {
			a := blas.NewGeneral(c.rows, 2)
			want := 0
			for i := range c.rows {
				if !c.constant {
					a.Data[2*i+1] = scale * float64(i%10)
				}
				if i < len(c.wild) {
					a.Data[2*i+1] = scale * c.wild[i]
					if c.wild[i] != c.want[i] && !math.IsNaN(c.wild[i]) {
						want++
					}
				}
			}
			before := slices.Clone(a.Data)
			b, notes := PullIn(a, []string{"still", "wild"}, "x", "input")
			asks := len(notes) > 0 && strings.Contains(notes[0], "missing values (--na)?")
			if (want > 0) != (len(notes) > 0 && !asks) || asks != c.asks {
				t.Errorf("%s: notes %q for %d values", c.name, notes, want)
			}
			for i := range c.rows {
				v, as := b.Data[2*i+1], before[2*i+1]
				if i < len(c.want) {
					as = scale * c.want[i]
				}
				if v != as && math.Abs(v-as) > 1e-14*math.Abs(as) {
					t.Errorf("%s, scale %g: row %d is %g, want %g", c.name, scale, i, v, as)
				}
			}
			if !slices.EqualFunc(a.Data, before, func(v, w float64) bool {
				return v == w || math.IsNaN(v) && math.IsNaN(w)
			}) {
				t.Errorf("%s: the data of the caller changed", c.name)
			}
		}
	}
	if _, notes := PullIn(blas.General{Rows: 3, Cols: 1, Stride: 1, Data: []float64{nan, nan, nan}}, nil, "y",
		"target"); notes != nil {
		t.Errorf("no values: %q", notes)
	}
}

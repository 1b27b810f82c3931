package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A rank among values with masses is the one among as many copies of each.
func TestOfRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 300 {
		var values, all []float64
		var masses []float64
		for range 1 + rng.IntN(40) {
			v, copies := math.Floor(9*rng.NormFloat64()), 1+rng.IntN(4)
			values, masses = append(values, v), append(masses, float64(copies))
			all = append(all, slices.Repeat([]float64{v}, copies)...)
		}
		slices.Sort(all)
		plain := slices.Clone(values)
		r := 1 + rng.IntN(len(values))
		if got := ofRank(slices.Clone(values), slices.Clone(masses), r); got != all[r-1] {
			t.Fatalf("rank %d of %v with masses %v is %g, want %g", r, values, masses, got, all[r-1])
		}
		got := ofRank(values, nil, r)
		if slices.Sort(plain); got != plain[r-1] {
			t.Fatalf("rank %d is %g, want %g", r, got, plain[r-1])
		}
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct {
		level       float64
		count, want int // 0: too few
	}{{0.9, 9, 9}, {0.9, 8, 0}, {0.9, 99, 90}, {0.9, 100, 91}, {0.5, 1, 1}, {0.001, 5, 1}, {0.8, 4, 4}, {0.8, 3, 0}} {
		r, err := rank(c.level, c.count)
		if (err != nil) != (c.want == 0) || r != c.want {
			t.Errorf("level %g of %d: rank %d, %v; want %d", c.level, c.count, r, err, c.want)
		}
	}
}

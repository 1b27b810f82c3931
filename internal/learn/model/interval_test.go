package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The search finds what sorting all numbers does, for lists of any lengths, ties, shifts and scales.
func TestSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for trial := range 3000 {
		s, lists := make(search, 1+rng.IntN(5)), make([][]float64, 5)
		lists = lists[:len(s)]
		var all []float64
		heavy := rng.IntN(4)
		for k := range s {
			shift, scale := float64(rng.IntN(3))*rng.NormFloat64(), math.Exp(rng.NormFloat64()*float64(rng.IntN(2)))
			for range rng.IntN(200) {
				v := math.Abs(rng.NormFloat64())
				switch heavy {
				case 0:
					v = math.Floor(3 * v) // ties
				case 1:
					v = math.Pow(v, 9)
				}
				lists[k] = append(lists[k], v)
			}
			slices.Sort(lists[k])
			for _, v := range lists[k] {
				all = append(all, shift+scale*v)
			}
			s[k].shift, s[k].scale = shift, scale
		}
		slices.Sort(all)
		for range min(20, len(all)) {
			r, placed := 1+rng.IntN(len(all)), slices.Clone(s)
			s.aim(lists, r)
			for k := range s {
				s[k].shift, s[k].scale = placed[k].shift, placed[k].scale
			}
			if got := s.find(r); got != all[r-1] {
				t.Fatalf("trial %d: number %d of %d is %g, want %g", trial, r, len(all), got, all[r-1])
			}
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

func BenchmarkSearch(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 2))
	s, lists := make(search, 3), make([][]float64, 3)
	for k := range lists {
		for range 667 {
			lists[k] = append(lists[k], math.Abs(rng.NormFloat64()))
		}
		slices.Sort(lists[k])
	}
	s.aim(lists, 1801)
	shifts := make([]float64, 1024)
	for i := range shifts {
		shifts[i] = 0.2 * rng.NormFloat64()
	}
	i := 0
	for b.Loop() {
		for k := range s {
			i = (i + 1) % len(shifts)
			s[k].shift, s[k].scale = shifts[i], 1
		}
		s.find(1801)
	}
}

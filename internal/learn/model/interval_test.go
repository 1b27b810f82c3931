package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
)

// The search finds what sorting all numbers does, for lists of any lengths, ties, shifts and scales.
func TestSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for trial := range 1000 {
		at, lists := make([]place, 1+rng.IntN(5)), []steps{}
		var all []float64
		kind := rng.IntN(6)
		far := math.Pow(10, 3*float64(rng.IntN(2)))
		for k := range at {
			shift, scale := far*float64(rng.IntN(3))*rng.NormFloat64(), math.Exp(rng.NormFloat64()*float64(rng.IntN(2)))
			var list []float64
			for range rng.IntN(200) {
				v := math.Abs(rng.NormFloat64())
				switch kind {
				case 0:
					v = math.Floor(3 * v) // ties
				case 1:
					v = math.Pow(v, 9)
				case 5: // scores of quantiles may be negative
					v -= 0.5
				case 2: // sums of equal size but for rounding
					v, shift, scale = 0.1*float64(rng.IntN(9)), 0.1*float64(k), 1
				}
				list = append(list, v)
			}
			slices.Sort(list)
			for _, v := range list {
				all = append(all, shift+scale*v)
			}
			lists = append(lists, stepped(list, nil))
			at[k] = place{shift: shift, scale: scale, inverse: 1 / scale}
		}
		slices.Sort(all)
		for range min(20, len(all)) {
			r := 1 + rng.IntN(len(all))
			s := newSearch(lists, r, rng.IntN(3000))
			if got := s.find(at); got != all[r-1] {
				t.Fatalf("trial %d: number %d of %d is %g, want %g", trial, r, len(all), got, all[r-1])
			}
			mirrored, below := slices.Clone(at), []float64{}
			for k, list := range lists {
				mirrored[k].shift = -at[k].shift
				for _, v := range list.v[1 : len(list.v)-1] {
					below = append(below, mirrored[k].shift+at[k].scale*v)
				}
			}
			slices.Sort(below)
			if got := s.find(mirrored); got != below[r-1] {
				t.Fatalf("trial %d, shifts mirrored: number %d of %d is %g, want %g", trial, r, len(all), got,
					below[r-1])
			}
		}
	}
}

// Of numbers with masses the search finds the least at or below which there is the mass of the rank.
func TestSearchOfMasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	type number struct{ v, w float64 }
	for trial := range 500 {
		at, lists, all := make([]place, 1+rng.IntN(4)), []steps{}, []number{}
		for k := range at {
			shift, scale := float64(rng.IntN(3))*rng.NormFloat64(), math.Exp(rng.NormFloat64()*float64(rng.IntN(2)))
			v, w := make([]float64, rng.IntN(100)), make([]float64, 0, 100)
			for i := range v {
				v[i] = math.Abs(rng.NormFloat64())
				if trial%2 == 0 {
					v[i] = math.Floor(3 * v[i])
				}
				w = append(w, float64(int(1)<<rng.IntN(20))/1024) // whose sums are exact
				all = append(all, number{shift + scale*v[i], w[i]})
			}
			lists = append(lists, stepped(v, w))
			at[k] = place{shift: shift, scale: scale, inverse: 1 / scale}
		}
		slices.SortFunc(all, func(a, b number) int { return cmp.Compare(a.v, b.v) })
		var total float64
		for _, a := range all {
			total += a.w
		}
		for range min(20, int(total)) {
			r, sum, want := 1+rng.IntN(int(total)), 0.0, math.NaN()
			for _, a := range all {
				if sum += a.w; sum >= float64(r) {
					want = a.v
					break
				}
			}
			s := newSearch(lists, r, rng.IntN(300))
			if got := s.find(at); got != want {
				t.Fatalf("trial %d: rank %d of %g is %g, want %g", trial, r, total, got, want)
			}
		}
	}
}

// Predictions that are no numbers end a search too.
func TestSearchNotFinite(t *testing.T) {
	s := newSearch([]steps{stepped([]float64{1, 2, 3}, nil), stepped([]float64{1, 2}, nil)}, 4, 10)
	for _, shift := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		if got := s.find([]place{{shift: shift, scale: 1, inverse: 1}, {scale: 1, inverse: 1}}); math.Abs(got) < 3 {
			t.Errorf("shifted by %g: %g", shift, got)
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

// BenchmarkCombine makes the intervals of 1024 rows, 20 outputs and 3 folds.
func BenchmarkCombine(b *testing.B) {
	const rows, n, folds = 1024, 20, 3
	rng := rand.New(rand.NewPCG(7, 2))
	searches := make([]search, n)
	for j := range searches {
		lists := make([]steps, folds)
		for k := range lists {
			list := make([]float64, 667)
			for i := range list {
				list[i] = math.Abs(rng.NormFloat64())
			}
			slices.Sort(list)
			lists[k] = stepped(list, nil)
		}
		searches[j] = newSearch(lists, 1801, 100_000)
	}
	P := make([]blas.General, folds)
	for k := range P {
		P[k] = blas.NewGeneral(rows, n)
		for i := range P[k].Data {
			P[k].Data[i] = 0.1 * rng.NormFloat64()
		}
	}
	lo, hi := blas.NewGeneral(rows, n), blas.NewGeneral(rows, n)
	for b.Loop() {
		combine(sides{each: 1}, P[0], lo, hi, searches, P, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*rows*n), "ns/end")
}

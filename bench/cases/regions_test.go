package cases

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestRegions compares volumes with the share of random points that regions hold, and counts the errors inside.
func TestRegions(t *testing.T) {
	const l, n, points, half = 400, 3, 200_000, 8
	rng := rand.New(rand.NewPCG(4, 5))
	E := mat.NewDense(l, n, nil)
	for i := range l {
		common := rng.NormFloat64()
		for j := range n {
			E.Set(i, j, common+0.5*rng.NormFloat64())
		}
	}
	regions, err := regionsOf(E)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range regions {
		inside, held := 0., 0.
		e := make([]float64, n)
		for range points {
			for j := range e {
				e[j] = half * (2*rng.Float64() - 1)
			}
			if r.holds(e) {
				inside++
			}
		}
		for i := range l {
			if r.holds(E.RawRowView(i)) {
				held++
			}
		}
		volume := inside / points * math.Pow(2*half, n)
		if got := math.Pow(r.side(n), n); !(math.Abs(got-volume) <= 4*math.Sqrt(inside)/points*math.Pow(2*half, n)) {
			t.Errorf("%s: volume %g, by random points %g", r.name, got, volume)
		}
		if want := math.Ceil(0.9*(l+1)) / l; r.name != bySingle && math.Abs(held/l-want) > 1e-12 {
			t.Errorf("%s holds %g of the errors, want %g", r.name, held/l, want)
		}
	}
}

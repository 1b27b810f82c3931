package iokl_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// TestTailsFilled fills in the tails of half of the rows by zero options. Half of the variance is a number of each row
// that its inputs do not tell: without an output kernel the relative error is above .6.
func TestTailsFilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l, n = 80, 24
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(5, 6+seed))
		X, Y, full := mat.NewDense(l, 2, nil), mat.NewDense(l, n, nil), mat.NewDense(l, n, nil)
		for i := range l {
			a, b, own, end := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), n
			X.SetRow(i, []float64{a, b})
			if i%2 == 0 {
				end = 1 + rng.IntN(n-1)
			}
			for j := range n {
				v := a + math.Sin(b)*float64(j)/n + 1.2*own + .05*rng.NormFloat64()
				full.Set(i, j, v)
				if j >= end {
					v = math.NaN()
				}
				Y.Set(i, j, v)
			}
		}
		m := mustFit(t, X, Y, iokl.Options{CV: iokl.CVOptions{Folds: 3}})
		F := values(t, m, X)
		var e, all float64
		for i := range l {
			for j := range n {
				if math.IsNaN(Y.At(i, j)) {
					e += math.Pow(F.At(i, j)-full.At(i, j), 2)
					all += math.Pow(full.At(i, j), 2)
				}
			}
		}
		if c := m.Chosen(); !(e < .1*all) || len(c.Means) > 0 {
			t.Errorf("relative error %.4f of tails, %.4f of those held out, by their mean %v", e/all, c.Error, c.Means)
		}
	}
}

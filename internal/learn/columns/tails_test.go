package columns_test

import (
	"math"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// TestTailsFilled fills in the tails of half of the rows by zero options. Without an output kernel the relative error
// is above .6.
func TestTailsFilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for seed := range uint64(2) {
		X, full, Y := learntest.Tails(80, 24, 6+seed)
		m := fittest.Fit(t, X, Y, iokl.Options{CV: iokl.CVOptions{Folds: 3}})
		F := fittest.Predict(t, m, X)
		var e, all float64
		for i, v := range full.RawMatrix().Data {
			if math.IsNaN(Y.RawMatrix().Data[i]) {
				e += math.Pow(F.RawMatrix().Data[i]-v, 2)
				all += v * v
			}
		}
		if c := m.Chosen(); !(e < .1*all) || len(c.Means) > 0 {
			t.Errorf("relative error %.4f of tails, %.4f of those held out, by their mean %v", e/all, c.Error, c.Means)
		}
	}
}

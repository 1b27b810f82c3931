package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl"
)

// TestLosses holds what the pictures show: a curve among outliers by Huber's loss, and quantiles in their order.
func TestLosses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	X, Y := targets(rng, func(float64) float64 {
		if rng.IntN(10) == 0 {
			return 4
		}
		return 0.15 * rng.NormFloat64()
	})
	var off [2]float64
	for k, loss := range []iokl.Loss{iokl.LossSquared, iokl.HuberLoss(0.1)} {
		at, F, err := fitted(X, Y, loss)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range at {
			off[k] += math.Abs(F.At(i, 0)-curve(x)) / float64(len(at))
		}
	}
	if !(off[1] < 0.1 && off[0] > 0.3) {
		t.Errorf("mean errors %.3f", off)
	}
	_, F, err := fitted(X, Y, "quantile:0.05,0.5,0.95")
	if err != nil {
		t.Fatal(err)
	}
	for i := range F.RawMatrix().Rows {
		if row := F.RawRowView(i); !slices.IsSorted(row) {
			t.Fatalf("quantiles %.3f cross", row)
		}
	}
}

func TestDraw(t *testing.T) {
	for _, draw := range []func(*rand.Rand) error{
		func(r *rand.Rand) error { _, err := outliers(r); return err },
		func(r *rand.Rand) error { _, err := quantiles(r); return err },
		func(r *rand.Rand) error { _, err := classes(r); return err },
	} {
		if err := draw(rand.New(rand.NewPCG(5, 6))); err != nil {
			t.Error(err)
		}
	}
}

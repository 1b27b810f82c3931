package model_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

var bg = context.Background()

// TestIntervalsOfManyRows holds the intervals of a model of more rows than a decomposition serves to their level, and
// compares them with those of the model read from its file, which has what they are made of.
func TestIntervalsOfManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l, fresh = 2400, 2000
	rng := rand.New(rand.NewPCG(4, 9))
	for _, c := range []struct {
		kernel        string
		noise, lambda float64
	}{
		{"gaussian:all:median*0.5", .3, 1e-3},
		{"gaussian:all:median", 1e-3, 1e-9},
	} {
		X, Y := mat.NewDense(l+fresh, 4, nil), mat.NewDense(l+fresh, 2, nil)
		for i := range l + fresh {
			x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			X.SetRow(i, x)
			f := math.Sin(2*x[0]) + x[1]*x[2]
			Y.SetRow(i, []float64{f + c.noise*rng.NormFloat64(), 10 * (f - x[3] + c.noise*rng.NormFloat64())})
		}
		m, err := iokl.Fit(bg, X.Slice(0, l, 0, 4), Y.Slice(0, l, 0, 2), iokl.Options{
			Kernels: []string{c.kernel}, Lambda: c.lambda, Learn: "none",
		})
		if err != nil {
			t.Fatal(err)
		}
		file := fittest.Encode(t, m)
		if memberOf(t, file, "residuals.npy") == nil {
			t.Error("the file has no residuals")
		}
		loaded, err := fittest.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		newX, newY := X.Slice(l, l+fresh, 0, 4), Y.Slice(l, l+fresh, 0, 2)
		for name, opt := range map[string]iokl.IntervalOptions{"equal": {}, "local": {Local: true}} {
			r, err := m.PredictInterval(bg, newX, opt)
			if err != nil {
				t.Fatal(err)
			}
			again, err := loaded.PredictInterval(bg, newX, opt)
			if err != nil {
				t.Fatal(err)
			}
			if !mat.Equal(r.Low, again.Low) || !mat.Equal(r.High, again.High) {
				t.Errorf("%s, %s: a loaded model has other intervals", c.kernel, name)
			}
			for j := range 2 {
				in := 0.
				for i := range fresh {
					if y := newY.At(i, j); r.Low.At(i, j) <= y && y <= r.High.At(i, j) {
						in += 1. / fresh
					}
				}
				t.Logf("%s, %s widths: %.3f of target %d inside", c.kernel, name, in, j)
				// Four standard deviations of the rank among 1000 residuals, and of the share of 2000 rows.
				if most := 4 * math.Sqrt(.09*(1./1000+1./fresh)); !(math.Abs(in-.9) <= most) {
					t.Errorf("%s, %s widths: intervals of .9 hold %.3f of target %d", c.kernel, name, in, j)
				}
			}
		}
	}
}

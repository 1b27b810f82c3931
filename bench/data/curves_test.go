package data

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext/prng"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/blas"
)

// quickEnv is the environment of a quick run.
func quickEnv() *bench.Env {
	env := bench.NewEnv()
	env.Quick = true
	return env
}

// The draws are those of numpy.random.RandomState(2025): choice(2000, 5, replace=False), then randint(52) and
// randint(1000).
func TestLegacyDraws(t *testing.T) {
	g := legacy{prng.NewMT19937()}
	g.Seed(2025)
	if got := g.permutation(2000)[:5]; !slices.Equal(got, []int{1746, 844, 1520, 1829, 719}) {
		t.Errorf("chosen %v", got)
	}
	if a, b := g.upTo(51), g.upTo(999); a != 43 || b != 897 {
		t.Errorf("drawn %d and %d", a, b)
	}
}

// The last values that are left have mean 0 and variance 1, what is left of a curve is its head, and the share of
// curves that is cut is as asked.
func TestCutCurves(t *testing.T) {
	c := MadeCurves(quickEnv().Rand(1), 200, 12, 0.3)
	var last []float64
	cut := 0
	for i := range c.Z.Rows {
		row := blas.Row(c.Z, i)
		at := slices.IndexFunc(row, math.IsNaN)
		if at < 0 {
			last = append(last, row[11])
			continue
		}
		cut++
		if slices.ContainsFunc(row[at:], func(v float64) bool { return !math.IsNaN(v) }) ||
			!slices.Equal(row[:at], blas.Row(c.Y, i)[:at]) {
			t.Errorf("curve %d is %v of %v", i, row, blas.Row(c.Y, i))
		}
	}
	mean, variance := stat.PopMeanVariance(last, nil)
	if cut != 60 || !(math.Abs(mean) < 1e-12) || !(math.Abs(variance-1) < 1e-12) {
		t.Errorf("%d are cut, mean %g and variance %g of the last values", cut, mean, variance)
	}
}

// The score is that of the predictions in the missing cells alone.
func TestScoreOfCurves(t *testing.T) {
	nan := math.NaN()
	c := &Curves{
		Y: blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, 2, 3, 4}},
		Z: blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, nan, nan, nan}},
	}
	F, D := c.LastValue(), blas.Clone(c.Y)
	if !(F.Data[1] == 1 && F.Data[2] == 1) {
		t.Errorf("last values %v", F.Data)
	}
	copy(F.Data, []float64{9, 1, 5, 4})
	rmse, density := c.Score(F, D)
	want := 0.0
	for _, k := range []int{1, 2, 3} {
		want -= distuv.Normal{Mu: F.Data[k], Sigma: D.Data[k]}.LogProb(c.Y.Data[k]) / 3
	}
	if !(math.Abs(rmse-math.Sqrt(5./3)) < 1e-12) || !(math.Abs(density-want) < 1e-12) {
		t.Errorf("error %g, density %g, want %g", rmse, density, want)
	}
}

// On the curves of adult, half of them cut, the last value has the error .82 that the published protocol gives it.
func TestLCBench(t *testing.T) {
	c, err := LCBench(quickEnv(), "adult", 0.5)
	if errors.Is(err, bench.ErrSkipped) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := c.Score(c.LastValue(), blas.General{}); !(math.Abs(e-0.82) < 0.005) {
		t.Errorf("the last value has an error of %g", e)
	}
}

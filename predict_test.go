package iokl

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/base/race"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/model"
)

// TestPredictInBoundedMemory predicts more rows than a block holds, and checks that
// only some blocks were allocated, and that rows at their ends are predicted as they are alone.
func TestPredictInBoundedMemory(t *testing.T) {
	X, Y := learntest.Wave(300, 31)
	m, err := Fit(bg, X, Y, Options{
		Kernels: []string{"gaussian:all:median*0.5,1", "linear:all"}, Lambda: 1e-3,
		Norm: "lp:2",
	})
	if err != nil {
		t.Fatal(err)
	}
	const rows = 30000 // K_η(X*,X) would take 72 MB
	many, _ := learntest.Wave(rows, 32)
	dst := mat.NewDense(rows, 3, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := m.PredictTo(dst, many); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	limit := uint64(8 << 20)
	if race.Enabled {
		limit += 96 << 20 // sync.Pool forgets buffers at random there
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Errorf("%d bytes were allocated, of at most %d", used, limit)
	}
	for _, i := range []int{0, model.SlabRows - 1, model.SlabRows, rows - 1} {
		P, err := m.Predict(many.Slice(i, i+1, 0, 4))
		if err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			if d := math.Abs(P.At(0, j) - dst.At(i, j)); !(d <= 1e-12*(1+math.Abs(dst.At(i, j)))) {
				t.Errorf("row %d, output %d: %g alone, %g among the others", i, j, P.At(0, j), dst.At(i, j))
			}
		}
	}
}

func TestScoresByHand(t *testing.T) {
	F := mat.NewDense(2, 3, []float64{1, 2, 5, 5, 4, 5})
	Y := mat.NewDense(2, 3, []float64{1, 4, 5, 3, 4, 5})
	s := NewScores(F, Y, nil)
	for name, c := range map[string]struct{ got, want []float64 }{
		"MSE":   {s.MSE, []float64{2, 2, 0}},
		"RMSE":  {s.RMSE, []float64{math.Sqrt2, math.Sqrt2, 0}},
		"RRMSE": {s.RRMSE, []float64{math.Sqrt2, 1, 0}}, // the second column is constant and missed
		"averages": {[]float64{s.MeanMSE, s.ARMSE, s.ARRMSE, s.Accuracy}, []float64{
			4.0 / 3, 2 * math.Sqrt2 / 3,
			(math.Sqrt2 + 1) / 3, 0, // the targets are no classes
		}},
	} {
		for i, v := range c.want {
			if !(math.Abs(c.got[i]-v) <= 1e-15) {
				t.Errorf("%s %v, want %v", name, c.got, c.want)
			}
		}
	}
	if s := NewScores(F, Y, []float64{3, 0, 5}); math.Abs(s.RRMSE[0]-1) > 1e-15 ||
		math.Abs(s.RRMSE[1]-math.Sqrt(1.0/8)) > 1e-15 {
		t.Errorf("against given means: RRMSE %v", s.RRMSE)
	}
}

// What predictions need of the training inputs is made once: those of single rows allocate less than a tenth of it,
// and are the same in every bit while several goroutines ask for the first.
func TestPredictPreparesOnce(t *testing.T) {
	const l, d = 500, 10
	rng := rand.New(rand.NewPCG(1, 2))
	X, Y := mat.NewDense(l, d, nil), mat.NewDense(l, 2, nil)
	for _, a := range []*mat.Dense{X, Y} {
		a.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, a)
	}
	for _, opt := range []Options{
		{Kernels: []string{"gaussian:all", "laplacian:all"}, Lambda: 1e-2, Learn: "none"},
		{Kernels: []string{"gaussian:all", "matern32:all"}, Lambda: 1e-2, Model: "sum", MaxOuter: 3},
		{Kernels: []string{"rff:gaussian:all:200"}, Lambda: 1e-2, Learn: "none"},
	} {
		m, err := Fit(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		got := make([]*mat.Dense, 4)
		for k := range got {
			got[k] = mat.NewDense(1, 2, nil)
			asking.Go(func() {
				if err := m.PredictTo(got[k], X.Slice(3, 4, 0, d)); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		dst, x := mat.NewDense(1, 2, nil), X.Slice(3, 4, 0, d)
		// A collection empties pools of scratch: the least of several batches counts.
		const batches, runs = 10, 5
		least := uint64(math.MaxUint64)
		for range batches {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range runs {
				if err := m.PredictContext(bg, dst, x); err != nil {
					t.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			least = min(least, (after.TotalAlloc-before.TotalAlloc)/runs)
		}
		if least > 8*l*d/10 && !race.Enabled {
			t.Errorf("%v: %d bytes for a row", opt.Kernels, least)
		}
		for _, g := range got {
			if !mat.Equal(g, dst) {
				t.Errorf("%v: %v, then %v", opt.Kernels, g, dst)
			}
		}
	}
}

package iokl_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// unevenTargets is a wave with normal errors whose deviation runs from 0.2 to 1.0 over the first input.
func unevenTargets(l int, seed uint64) (X, Y, sigma *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 33))
	X, Y, sigma = mat.NewDense(l, 2, nil), mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		a, b := 4*rng.Float64()-2, rng.NormFloat64()
		s := .45 * math.Exp(.4*a)
		X.SetRow(i, []float64{a, b})
		Y.Set(i, 0, math.Sin(2*a)+.3*b+s*rng.NormFloat64())
		sigma.Set(i, 0, s)
	}
	return X, Y, sigma
}

// coverages are the shares of targets inside of the intervals in bins of the first input.
func coverages(X, Y *mat.Dense, r *iokl.Intervals, bins int) []float64 {
	l, _ := X.Dims()
	share, count := make([]float64, bins), make([]float64, bins)
	for i := range l {
		b := min(int((X.At(i, 0)+2)/4*float64(bins)), bins-1)
		count[b]++
		if y := Y.At(i, 0); r.Low.At(i, 0) <= y && y <= r.High.At(i, 0) {
			share[b]++
		}
	}
	for b := range share {
		share[b] /= count[b]
	}
	return share
}

// density is the mean negative log density of targets Y that are normal about F.
func density(Y, F, sigma *mat.Dense) (sum float64) {
	l, _ := Y.Dims()
	for i := range l {
		s := sigma.At(i, 0)
		z := (Y.At(i, 0) - F.At(i, 0)) / s
		sum += (z*z/2 + math.Log(s) + math.Log(2*math.Pi)/2) / float64(l)
	}
	return sum
}

// Where the noise varies with an input, intervals that follow what was learned of it hold about their level everywhere,
// and those of one width only on average. Normal densities with the deviations learned are nearly those with the true
// ones, and the function is nearer to the true one.
func TestLearnNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("the long form: thirty-two tables")
	}
	const tables, bins = 32, 5
	var worst, off, excess [2]float64
	var share [2][bins]float64
	for seed := range uint64(tables) {
		X, Y, _ := unevenTargets(400, seed+1)
		test, truth, sigma := unevenTargets(4000, seed+100)
		for k, learn := range []bool{false, true} {
			m := fittest.Fit(t, X, Y, iokl.Options{
				Kernels: []string{"gaussian:all:median"}, Lambda: 1e-3, IntervalFolds: 5, LearnNoise: learn,
			})
			r, err := m.PredictInterval(t.Context(), test, iokl.IntervalOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for b, v := range coverages(test, truth, r, bins) {
				share[k][b] += v / tables
			}
			rmse := iokl.NewScores(r.Predictions, truth, nil).RMSE[0]
			S := mat.NewDense(4000, 1, slices.Repeat([]float64{rmse}, 4000))
			if learn {
				if S, err = m.PredictNoise(t.Context(), test); err != nil {
					t.Fatal(err)
				}
			} else if _, err := m.PredictNoise(t.Context(), test); !errors.Is(err, iokl.ErrInput) {
				t.Errorf("a model that learned no noise: %v", err)
			}
			off[k] += rmse / tables
			excess[k] += (density(truth, r.Predictions, S) - density(truth, r.Predictions, sigma)) / tables
		}
	}
	for k := range worst {
		for _, v := range share[k] {
			worst[k] = max(worst[k], math.Abs(v-.9))
		}
	}
	t.Logf("shares %.3f, off by %.4f, excess of log densities %.4f", share, off, excess)
	if !(worst[0] > .12 && worst[1] < .06 && off[1] < off[0] && excess[1] < .03 && excess[0] > .05+excess[1]) {
		t.Errorf("shares %.3f, off by %.4f, excess of log densities %.4f", share, off, excess)
	}
}

// A model that learned the noise predicts the same intervals from its file, in explicit features too, of several
// targets of which one has no noise to learn, one missing cells and one is constant.
func TestLearnNoiseFile(t *testing.T) {
	X, y, _ := unevenTargets(120, 9)
	rng := rand.New(rand.NewPCG(9, 9))
	Y, W := mat.NewDense(120, 3, nil), mat.NewDense(120, 1, nil)
	for i := range 120 {
		Y.SetRow(i, []float64{y.At(i, 0), X.At(i, 1) + .1*rng.NormFloat64(), 7})
		W.Set(i, 0, 1+float64(i%2))
		if i%9 == 4 {
			Y.Set(i, 1, math.NaN())
		} else if i%9 == 5 {
			W.Set(i, 0, 0)
		}
	}
	for name, opt := range map[string]iokl.Options{
		"a λ":        {Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3},
		"features":   {Kernels: []string{"linear:all"}, Lambda: 1e-3},
		"choosing λ": {Kernels: []string{"gaussian:all:1"}, Learn: "none", Norm: "lp:1"},
		"all chosen": {Kernels: []string{"gaussian:all:1"}, Learn: "none", Norm: "lp:1", IntervalFolds: 3},
		"weights":    {Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3, Weights: W},
		"a sum":      {Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3, Model: "sum", Loss: "huber"},
	} {
		opt.LearnNoise, opt.Seed = true, 1
		m := fittest.Fit(t, X, Y, opt)
		path := filepath.Join(t.TempDir(), "m.iokl")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		read, err := iokl.Load(path)
		if err != nil || !read.LearnedNoise() {
			t.Fatalf("%s: %v", name, err)
		}
		for _, joint := range []bool{false, true} {
			a, err := m.PredictInterval(t.Context(), X, iokl.IntervalOptions{Joint: joint})
			b, err2 := read.Compact().PredictInterval(t.Context(), X, iokl.IntervalOptions{Joint: joint})
			if err != nil || err2 != nil || !mat.Equal(a.High, b.High) || !mat.Equal(a.Low, b.Low) {
				t.Errorf("%s: %v, %v, or intervals of the file differ", name, err, err2)
			}
		}
		S, err := read.PredictNoise(t.Context(), X)
		if err != nil {
			t.Fatal(err)
		}
		least, most := math.Inf(1), 0.0 // of the noise of the first target where it is least and where it is most
		for i := range 120 {
			if X.At(i, 0) < -1.5 {
				least = min(least, S.At(i, 0))
			} else if X.At(i, 0) > 1.5 {
				most = max(most, S.At(i, 0))
			}
		}
		if v := mat.Sum(S.Slice(0, 120, 1, 2)) / 120; !(v > .05 && v < .5) {
			t.Errorf("%s: noise %g of the second target, not about 0.1", name, v)
		}
		if name != "features" && !(most > 1.5*least) { // a line does not fit a wave, and errs everywhere
			t.Errorf("%s: noise from %g to %g", name, least, most)
		}
	}
}

// What the noise cannot be learned of is refused.
func TestLearnNoiseRefused(t *testing.T) {
	X, Y, sigma := unevenTargets(30, 1)
	for want, opt := range map[string]iokl.Options{
		"either given or learned": {Noise: sigma},
		"squared and huber":       {Loss: "quantile:0.5"},
		"likelihood":              {Learn: "likelihood", Model: "sum"},
		"order of time":           {CV: iokl.CVOptions{TimeOrdered: true}},
	} {
		opt.LearnNoise, opt.Seed = true, 1
		_, err := iokl.Fit(t.Context(), X, Y, opt)
		if !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	opt := iokl.Options{LearnNoise: true, Lambda: 1}
	_, err := iokl.FitGram(t.Context(), []mat.Matrix{mat.NewDiagDense(30, nil)}, Y, opt)
	if !errors.Is(err, iokl.ErrInput) {
		t.Errorf("Gram matrices: %v", err)
	}
	if _, err := iokl.FitClasses(t.Context(), X, strings.Split(strings.Repeat("a,b,", 15)[:59], ","),
		opt); !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), "classes") {
		t.Errorf("classes: %v", err)
	}
}

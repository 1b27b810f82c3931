package iokl_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// noisyTargets is coupled targets with normal errors of this standard deviation, which heavy gives 25 times that in one
// cell of twenty. clean are those without errors.
func noisyTargets(l int, sigma float64, heavy bool, seed uint64) (X, Y, clean *mat.Dense) {
	X, clean = learntest.Coupled(l, seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	Y = mat.DenseCopyOf(clean)
	Y.Apply(func(_, _ int, v float64) float64 {
		e := sigma * rng.NormFloat64()
		if rng.Float64() < 0.05 && heavy {
			e *= 25
		}
		return v + e
	}, Y)
	return X, Y, clean
}

// A row of weight 2 is two rows, and one of weight 3 three, in scales, in every data form and with every loss.
func TestWeightsAreRepeats(t *testing.T) {
	const l = 40
	X, Y, _ := noisyTargets(l, 0.1, false, 3)
	_, d := X.Dims()
	_, n := Y.Dims()
	W := mat.NewDense(l, 1, nil)
	var x, y []float64
	rows := 0
	for i := range l {
		w := 1 + i%3
		W.Set(i, 0, float64(w))
		for range w {
			x, y = append(x, X.RawRowView(i)...), append(y, Y.RawRowView(i)...)
			rows++
		}
	}
	XX, YY := mat.NewDense(rows, d, x), mat.NewDense(rows, n, y)
	for _, loss := range []iokl.Loss{iokl.LossSquared, "huber:0.5", "quantile:0.3"} {
		for _, kernel := range []string{"gaussian:all:2", "linear:all"} {
			t.Run(string(loss)+"/"+kernel, func(t *testing.T) {
				const mu = 0.2
				opt := iokl.Options{Kernels: []string{kernel}, Tol: 1e-10, Loss: loss, Weights: W, Lambda: mu / l}
				if opt.Loss == "squared" {
					opt.Learn = "none"
				} else {
					opt.Tol, opt.Learn = 1e-9, "none"
				}
				a := fittest.Predict(t, fittest.Fit(t, X, Y, opt), X)
				opt.Weights, opt.Lambda = nil, mu/float64(rows)
				b := fittest.Predict(t, fittest.Fit(t, XX, YY, opt), X)
				most := 1e-9
				if loss != "squared" {
					most = 1e-4 // a relative gap of 1e-9
				}
				if d := fittest.Far(a, b); !(d <= most) {
					t.Errorf("predictions differ by %.2g", d)
				}
			})
		}
	}
}

// A cell of weight 0 is a missing one.
func TestWeightZeroIsMissing(t *testing.T) {
	X, Y, _ := noisyTargets(40, 0.1, false, 4)
	l, n := Y.Dims()
	W, holes := mat.NewDense(l, n, nil), mat.DenseCopyOf(Y)
	W.Apply(func(i, j int, _ float64) float64 {
		if (i+j)%4 == 0 {
			holes.Set(i, j, math.NaN())
			return 0
		}
		return 1
	}, W)
	wild := mat.DenseCopyOf(Y)
	wild.Apply(func(i, j int, v float64) float64 {
		if W.At(i, j) == 0 {
			return 1e3
		}
		return v
	}, wild)
	for _, c := range []struct {
		loss   iokl.Loss
		kernel string
	}{
		{"squared", "gaussian:all:median*0.5,1,2"},
		{"huber", "gaussian:all:median*0.5,1,2"},
		{"squared", "gaussian:relevant:median"},
		{"squared", "gaussian:ard:median"},
	} {
		loss, kernel := c.loss, c.kernel
		opt := iokl.Options{Kernels: []string{kernel}, Lambda: 1e-3, Loss: loss}
		b := fittest.Predict(t, fittest.Fit(t, X, holes, opt), X)
		opt.Weights = W
		if d := fittest.Far(fittest.Predict(t, fittest.Fit(t, X, wild, opt), X), b); !(d <= 1e-12) {
			t.Errorf("%s: predictions differ by %.2g", c, d)
		}
	}
}

// Of rows with known noise, a fit that knows it is nearer to what is without noise.
func TestNoise(t *testing.T) {
	X, _, clean := smooth(150, 0, false, 8)
	rng := rand.New(rand.NewPCG(8, 8))
	Y, noise := mat.DenseCopyOf(clean), mat.NewDense(150, 1, nil)
	for i := range 150 {
		s := 0.02
		if i%2 == 0 {
			s = 1.5
		}
		noise.Set(i, 0, s)
		for j := range 2 {
			Y.Set(i, j, Y.At(i, j)+s*rng.NormFloat64())
		}
	}
	fit := func(opt iokl.Options) *mat.Dense {
		opt.Kernels, opt.Lambda = []string{"gaussian:all:median"}, 1e-3
		return fittest.Predict(t, fittest.Fit(t, X, Y, opt), X)
	}
	known := fit(iokl.Options{Noise: noise})
	if with, without := fittest.Far(known, clean), fittest.Far(fit(iokl.Options{}), clean); !(with < 0.5*without) {
		t.Errorf("errors %.3g with the noise known, %.3g without", with, without)
	}
	// its unit has no effect: the mean weight is 1
	var twice mat.Dense
	twice.Scale(2, noise)
	if d := fittest.Far(fit(iokl.Options{Noise: &twice}), known); !(d < 1e-9) {
		t.Errorf("twice the noise changes predictions by %.2g", d)
	}
}

// smooth is outputs that a kernel learns well, with normal errors of this deviation; heavy is as in noisyTargets.
func smooth(l int, sigma float64, heavy bool, seed uint64) (X, Y, clean *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 7))
	X, clean = mat.NewDense(l, 2, nil), mat.NewDense(l, 2, nil)
	Y = mat.NewDense(l, 2, nil)
	for i := range l {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		X.SetRow(i, []float64{a, b})
		for j := range 2 {
			f := math.Sin(a) + float64(j)*math.Cos(b)
			clean.Set(i, j, f)
			e := sigma * rng.NormFloat64()
			if rng.Float64() < 0.05 && heavy {
				e *= 25
			}
			Y.Set(i, j, f+e)
		}
	}
	return X, Y, clean
}

// Gross errors hardly move a fit by the loss of Huber, of which δ follows the noise, or of the median: on new targets
// without such errors it errs as much, within 5 %, as the fit to targets without them, by squares or the same loss,
// whether settings are given or chosen.
func TestRobust(t *testing.T) {
	const l = 300
	for _, c := range []struct {
		name  string
		sigma float64
		opt   iokl.Options
	}{
		{"given", 0.2, iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 3e-3}},
		{"little noise", 0.02, iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 1e-5}},
		{"in units of the targets", 0.2, iokl.Options{
			Kernels: []string{"gaussian:all:median"}, Lambda: 3e-3, Standardize: "none",
		}},
		{"lengths", 0.05, iokl.Options{Kernels: []string{"gaussian:ard:median"}, Lambda: 1e-4}},
		{"chosen", 0.1, iokl.Options{IntervalFolds: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.opt.Kernels == nil && testing.Short() {
				t.Skip("a race")
			}
			off := func(heavy bool, loss iokl.Loss) float64 {
				X, Y, _ := smooth(2*l, c.sigma, false, 9)
				for i := range l {
					for j := range 2 {
						if heavy && (i*7+j*3)%20 == 0 {
							Y.Set(i, j, Y.At(i, j)+10*float64(i%4-1))
						}
					}
				}
				c.opt.Loss = loss
				m := fittest.Fit(t, X.Slice(0, l, 0, 2), Y.Slice(0, l, 0, 2), c.opt)
				return fittest.Far(fittest.Predict(t, m, X.Slice(l, 2*l, 0, 2)), Y.Slice(l, 2*l, 0, 2))
			}
			without, squared, huber := off(false, ""), off(true, ""), off(true, "huber")
			if !(huber < 0.8*squared && huber < 1.05*without) {
				t.Errorf("errors: %.4g without gross errors, with them %.4g by squares, %.4g by huber", without,
					squared, huber)
			}
			const median = "quantile:0.5"
			if without, with := off(false, median), off(true, median); !(with < 0.8*squared && with < 1.05*without) {
				t.Errorf("errors by medians: %.4g without gross errors, %.4g with them", without, with)
			}
		})
	}
}

// More than half of the targets are equal, and tell no scale of errors: none of the others is clipped where kernels are
// chosen.
func TestHuberOfZeros(t *testing.T) {
	X, Y, _ := smooth(100, 0.1, false, 13)
	for i := range 100 {
		for j := range 2 {
			Y.Set(i, j, max(0, Y.At(i, j)-0.7))
		}
	}
	opt := iokl.Options{IntervalFolds: -1}
	squared := fittest.Far(fittest.Predict(t, fittest.Fit(t, X, Y, opt), X), Y)
	opt.Loss = "huber"
	if huber := fittest.Far(fittest.Predict(t, fittest.Fit(t, X, Y, opt), X), Y); !(huber < 2*squared) {
		t.Errorf("errors: %.4g by squares, %.4g by huber", squared, huber)
	}
}

// Every C step of a sum by a δ far below the errors ends near its optimum: the steps are ones of descent, although the
// systems of most cells beyond δ are solved inexactly.
func TestSumByHuber(t *testing.T) {
	X, Y, _ := smooth(60, 0.1, true, 12)
	m := fittest.Fit(t, X, Y, iokl.Options{
		Kernels: []string{"gaussian:each:median*2", "poly:1:all:0"}, Lambda: 3.16e-5, Model: "sum", Loss: "huber:0.165",
		IntervalFolds: -1,
		Trace: func(s bcd.Step) error {
			if !(s.Residual <= 0.01) {
				t.Errorf("step %d: the C step ends at %.3g", s.Iter, s.Residual)
			}
			return nil
		},
	})
	if c := m.Certificate(); !c.Converged {
		t.Errorf("relative gap %.3g", c.RelativeGap)
	}
}

// The part τ of new targets lies below the quantile τ, and quantiles do not cross.
func TestQuantilesCover(t *testing.T) {
	tables, text, off := uint64(3), "0.1,0.5,0.9", 0.03
	if !testing.Short() {
		tables, off = 20, 0.02
		text = "0.05,0.1,0.15,0.2,0.25,0.3,0.35,0.4,0.45,0.5,0.55,0.6,0.65,0.7,0.75,0.8,0.85,0.9,0.95"
	}
	var taus []float64
	for _, s := range strings.Split(text, ",") {
		tau, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		taus = append(taus, tau)
	}
	last := strings.LastIndex(text, ",")
	unsorted := text[last+1:] + "," + text[:last]
	below, total := make([]float64, len(taus)), 0.0
	for seed := range tables {
		const train, l = 200, 800
		X, Y, _ := smooth(l, 0.5, false, 20+seed)
		m := fittest.Fit(t, X.Slice(0, train, 0, 2), Y.Slice(0, train, 0, 2), iokl.Options{
			Kernels: []string{"gaussian:all:median"}, Loss: iokl.Loss("quantile:" + unsorted), Lambda: 1e-2,
		})
		if c := m.Certificate(); c.Loss != iokl.Loss("quantile:"+text) || !c.Converged {
			t.Errorf("certificate of the loss %q, converged %v", c.Loss, c.Converged)
		}
		if names := m.OutputNames(); len(names) != 2*len(taus) || !strings.HasPrefix(names[len(taus)-1], "y1_q0.9") {
			t.Fatalf("outputs %v", names)
		}
		path := filepath.Join(t.TempDir(), "m.iokl")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := iokl.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		P := fittest.Predict(t, again, X.Slice(train, l, 0, 2))
		if !mat.Equal(P, fittest.Predict(t, m, X.Slice(train, l, 0, 2))) {
			t.Error("the file predicts otherwise")
		}
		for i := range l - train {
			for j := range 2 {
				q := P.RawRowView(i)[j*len(taus) : (j+1)*len(taus)]
				if !slices.IsSorted(q) {
					t.Fatalf("row %d, output %d: quantiles %v", i, j, q)
				}
				for k, v := range q {
					if Y.At(train+i, j) <= v {
						below[k]++
					}
				}
				total++
			}
		}
	}
	for k, tau := range taus {
		if got := below[k] / total; !(math.Abs(got-tau) <= off) {
			t.Errorf("%.3f of the targets lie below the quantile %g", got, tau)
		}
	}
}

func TestBadWeights(t *testing.T) {
	X, Y, _ := noisyTargets(20, 0.1, false, 6)
	l, n := Y.Dims()
	with := func(r, c int, v float64) *mat.Dense {
		W := mat.NewDense(r, c, nil)
		W.Apply(func(i, j int, _ float64) float64 {
			if i == 1 && j == 0 {
				return v
			}
			return 1
		}, W)
		return W
	}
	for name, opt := range map[string]iokl.Options{
		"negative weight": {Weights: with(l, 1, -1)}, "infinite weight": {Weights: with(l, n, math.Inf(1))},
		"NaN weight": {Weights: with(l, 1, math.NaN())}, "all 0": {Weights: mat.NewDense(l, n, nil)},
		"wrong rows": {Weights: with(l-1, 1, 1)}, "wrong columns": {Weights: with(l, n+1, 1)},
		"noise 0": {Noise: with(l, 1, 0)}, "negative noise": {Noise: with(l, n, -2)},
		"noise shape":  {Noise: with(3, 1, 1)},
		"unknown loss": {Loss: "absolute"}, "no δ": {Loss: "huber:0"}, "τ of 1": {Loss: "quantile:1"},
		"τ twice": {Loss: "quantile:.5,0.5"}, "no 0 and 1": {Loss: "logistic"},
		"likelihood": {Loss: "huber", Learn: "likelihood"}, "solver": {Loss: "huber", Solver: "okl"},
		"sum":    {Loss: "quantile:0.1,0.9", Model: "sum"},
		"metric": {Loss: "huber", CV: iokl.CVOptions{Metric: "nmse"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "metric" && name != "likelihood" {
				opt.Lambda = 0.1
			}
			opt.Kernels = []string{"gaussian:all:1"}
			m, err := iokl.Fit(context.Background(), X, Y, opt)
			if !errors.Is(err, iokl.ErrInput) || m != nil {
				t.Errorf("error %v, model %v", err, m)
			}
		})
	}
}

// Zero options choose by every loss.
func TestLossChoice(t *testing.T) {
	X, Y, clean := smooth(60, 0.1, true, 12)
	m := fittest.Fit(t, X, Y, iokl.Options{Loss: "huber", CV: iokl.CVOptions{Folds: 3}})
	c := m.Chosen()
	if c.Metric != "loss" || !(c.Error < 0.5*c.Constant) || m.Certificate().Loss == "" {
		t.Errorf("%s %.3g, of a constant %.3g", c.Metric, c.Error, c.Constant)
	}
	if d := fittest.Far(fittest.Predict(t, m, X), clean); !(d < 0.3) {
		t.Errorf("error %.3g", d)
	}
}

package model_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
)

// drawn is a target 1 with the probability σ(2·sin 2a + b) of the inputs a and b, else 0.
func drawn(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 7))
	X, Y = mat.NewDense(l, 2, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		X.SetRow(i, []float64{a, b})
		if rng.Float64() < 1/(1+math.Exp(-2*math.Sin(2*a)-b)) {
			Y.Set(i, 0, 1)
		}
	}
	return X, Y
}

func proba(t *testing.T, m *iokl.Model, X mat.Matrix) *mat.Dense {
	t.Helper()
	P, err := m.PredictProba(X)
	if err != nil {
		t.Fatal(err)
	}
	return P
}

// logLoss is that of probabilities P of targets 1, of which each counts one times.
func logLoss(P, Y mat.Matrix, one float64) (sum float64) {
	l, _ := Y.Dims()
	total := 0.0
	for i := range l {
		w := 1 + (one-1)*Y.At(i, 0)
		sum -= w * math.Log(math.Abs(Y.At(i, 0)-1+P.At(i, 0)))
		total += w
	}
	return sum / total
}

// pair is a and b of the probabilities σ(a·f + b) of a model of one target, from two rows of X.
func pair(t *testing.T, m *iokl.Model, X mat.Matrix) (a, b float64) {
	t.Helper()
	F, P := fittest.Predict(t, m, X), proba(t, m, X)
	odds := func(i int) float64 { return math.Log(P.At(i, 0) / (1 - P.At(i, 0))) }
	a = (odds(1) - odds(0)) / (F.At(1, 0) - F.At(0, 0))
	return a, odds(0) - a*F.At(0, 0)
}

// The log odds of a fit of a small λ are too far from 0. Calibrated probabilities are stationary points of the
// likelihood of the held-out rows, by their weights, and nearer to new targets.
func TestCalibration(t *testing.T) {
	const l = 300
	X, Y := drawn(l, 1)
	Z, test := drawn(2000, 2)
	for _, one := range []float64{1, 3} { // the weight of a target 1
		var W mat.Dense
		W.Apply(func(_, _ int, y float64) float64 { return 1 + (one-1)*y }, Y)
		opt := iokl.Options{
			Kernels: []string{"gaussian:all:0.5"}, Lambda: 1e-5, Loss: "logistic", IntervalFolds: 5, Weights: &W,
		}
		m := fittest.Fit(t, X, Y, opt)
		a, b := pair(t, m, Z)
		h, err := m.HeldOut(t.Context())
		if err != nil || h.Folds != 5 {
			t.Fatal(h, err)
		}
		n1 := one * mat.Sum(h.Targets)
		n0 := l - n1/one
		var slope, shift, size float64
		for i := range l {
			f, w, target := h.Predictions.At(i, 0), 1.0, 1/(n0+2)
			if h.Targets.At(i, 0) == 1 {
				w, target = one, (n1+1)/(n1+2)
			}
			p := 1 / (1 + math.Exp(-a*f-b))
			if q := h.Probabilities.At(i, 0); !(math.Abs(p-q) <= 1e-9) {
				t.Fatalf("probability %g of a held-out row, of a new one %g", q, p)
			}
			if q := h.Uncalibrated.At(i, 0); !(math.Abs(q-1/(1+math.Exp(-f))) <= 1e-12) {
				t.Fatalf("probability %g of the log odds %g", q, f)
			}
			slope, shift, size = slope+w*(target-p)*f, shift+w*(target-p), size+w*math.Abs(f)
		}
		if !(math.Abs(slope) <= 1e-6*size && math.Abs(shift) <= 1e-6*size) {
			t.Errorf("weight %g: derivatives %g and %g at a = %g, b = %g", one, slope, shift, a, b)
		}
		opt.IntervalFolds = -1
		raw := fittest.Fit(t, X, Y, opt)
		if a, b := pair(t, raw, Z); !(math.Abs(a-1) <= 1e-9 && math.Abs(b) <= 1e-9) {
			t.Errorf("without folds a = %g, b = %g", a, b)
		}
		before, after := logLoss(proba(t, raw, Z), test, one), logLoss(proba(t, m, Z), test, one)
		if !(after < 0.95*before) {
			t.Errorf("weight %g: log loss %.4g, calibrated %.4g", one, before, after)
		}
	}
}

// Zero options calibrate, a file keeps the calibration, and a file without one has σ(f). Classes keep their order, and
// have sets.
func TestCalibratedClasses(t *testing.T) {
	X, labels, _ := threeClasses(150, 5)
	opt := iokl.Options{Kernels: []string{"gaussian:all:0.5"}, Lambda: 1e-5, Loss: "logistic"}
	m, err := iokl.FitClasses(t.Context(), X, labels, opt)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.iokl")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := iokl.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	Z, test, _ := threeClasses(300, 6)
	P, F := proba(t, again, Z), fittest.Predict(t, m, Z)
	if !mat.Equal(P, proba(t, m, Z)) {
		t.Error("probabilities of the file differ")
	}
	sets, err := again.PredictSets(t.Context(), Z, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(sets.Probabilities, P) {
		t.Error("probabilities beside sets differ")
	}
	opt.IntervalFolds = -1
	plain, err := iokl.FitClasses(t.Context(), X, labels, opt)
	if err != nil {
		t.Fatal(err)
	}
	raw, held := proba(t, plain, Z), 0.0
	var before, after float64
	for i, label := range test {
		f, p := F.RawRowView(i), P.RawRowView(i)
		if floats.MaxIdx(f) != floats.MaxIdx(p) {
			t.Fatalf("outputs %v, probabilities %v", f, p)
		}
		is := slices.Index(m.Classes(), label)
		before, after = before-math.Log(raw.At(i, is))/300, after-math.Log(p[is])/300
		if slices.Contains(sets.Sets[i], label) {
			held += 1.0 / 300
		}
		var sum float64
		for _, v := range f {
			sum += 1 / (1 + math.Exp(-v))
		}
		if q := 1 / (1 + math.Exp(-f[0])) / sum; !(math.Abs(q-raw.At(i, 0)) <= 1e-9) {
			t.Fatalf("probability %g without folds, σ(f) is %g", raw.At(i, 0), q)
		}
	}
	if !(after < 0.95*before) || !(held > 0.85) {
		t.Errorf("log loss %.4g, calibrated %.4g; sets hold %.3g", before, after, held)
	}
	ends, err := m.PredictInterval(t.Context(), Z, iokl.IntervalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, lo := range ends.Low.RawMatrix().Data {
		if hi := ends.High.RawMatrix().Data[i]; lo != 0 && lo != 1 || hi != 0 && hi != 1 || lo > hi {
			t.Fatalf("an interval of targets 0 and 1 from %g to %g", lo, hi)
		}
	}
}

// Inputs that tell nothing, or the wrong way round, leave the shares of the classes.
func TestUselessLogOdds(t *testing.T) {
	const l = 80
	X, Y := mat.NewDense(l, 1, nil), mat.NewDense(l, 1, nil)
	for i := range l {
		X.Set(i, 0, float64(i))
		Y.Set(i, 0, float64(i%2))
	}
	m := fittest.Fit(t, X, Y, iokl.Options{Kernels: []string{"gaussian:all:0.01"}, Lambda: 1e-3, Loss: "logistic"})
	P := proba(t, m, X)
	for i := range l {
		if p := P.At(i, 0); !(math.Abs(p-0.5) <= 1e-6) {
			t.Fatalf("probability %g", p)
		}
	}
}

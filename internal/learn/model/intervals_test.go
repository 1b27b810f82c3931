package model_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// coverage is the share of the targets in each column, and in all of a row, that the intervals hold.
func coverage(r *iokl.Intervals, Y mat.Matrix) (each []float64, joint float64) {
	t, n := Y.Dims()
	each = make([]float64, n)
	for i := range t {
		all := true
		for j := range n {
			if in := r.Low.At(i, j) <= Y.At(i, j) && Y.At(i, j) <= r.High.At(i, j); in {
				each[j] += 1 / float64(t)
			} else {
				all = false
			}
		}
		if all {
			joint += 1 / float64(t)
		}
	}
	return each, joint
}

// waveModel is a model of 120 samples with interval folds, and 1000 new samples.
func waveModel(t *testing.T, opt iokl.Options) (m *iokl.Model, X, Y *mat.Dense) {
	t.Helper()
	X, Y = learntest.Wave(1120, 32)
	train := func(a *mat.Dense) mat.Matrix { _, c := a.Dims(); return a.Slice(0, 120, 0, c) }
	m, err := iokl.Fit(context.Background(), train(X), train(Y), opt)
	if err != nil {
		t.Fatal(err)
	}
	rest := func(a *mat.Dense) *mat.Dense { _, c := a.Dims(); return mat.DenseCopyOf(a.Slice(120, 1120, 0, c)) }
	return m, rest(X), rest(Y)
}

func TestIntervals(t *testing.T) {
	given := iokl.Options{Kernels: []string{"gaussian:all:median*0.5,1"}, Lambda: 1e-3, IntervalFolds: 8}
	m, X, Y := waveModel(t, given)
	F, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		opt    iokl.IntervalOptions
		lo, hi float64
		joint  bool
	}{
		{"held-out", iokl.IntervalOptions{}, 0.85, 0.97, false},
		{"held-out local", iokl.IntervalOptions{Local: true}, 0.85, 0.97, false},
		{"held-out joint", iokl.IntervalOptions{Joint: true}, 0.85, 0.97, true},
		{"cv+", iokl.IntervalOptions{Method: "cv+"}, 0.85, 0.97, false},
		{"cv+ 0.5", iokl.IntervalOptions{Level: 0.5, Method: "cv+"}, 0.4, 0.62, false},
		{"cv+ local", iokl.IntervalOptions{Local: true, Method: "cv+"}, 0.85, 0.97, false},
		{"cv+ joint", iokl.IntervalOptions{Joint: true, Method: "cv+"}, 0.85, 0.97, true},
		{"jackknife+", iokl.IntervalOptions{Method: "jackknife+"}, 0.85, 0.97, false},
		{"jackknife+ local", iokl.IntervalOptions{Method: "jackknife+", Local: true}, 0.85, 0.97, false},
		{"jackknife+ joint", iokl.IntervalOptions{Method: "jackknife+", Joint: true}, 0.85, 0.97, true},
		{"all", iokl.IntervalOptions{Method: "cv+", Local: true, Joint: true}, 0.85, 0.97, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := m.PredictInterval(context.Background(), X, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if !mat.Equal(r.Predictions, F) {
				t.Error("predictions are not those of Predict")
			}
			each, joint := coverage(r, Y)
			if c.joint {
				each = []float64{joint}
			}
			if slices.Min(each) < c.lo || slices.Max(each) > c.hi {
				t.Errorf("coverage %.3f, want between %g and %g", each, c.lo, c.hi)
			}
		})
	}
}

// plus are the ends of an interval from the values v_i and the sizes of residuals r_i by their definition.
func plus(v, r []float64, level float64) (lo, hi float64) {
	low, high := make([]float64, len(v)), make([]float64, len(v))
	for i := range v {
		low[i], high[i] = v[i]-r[i], v[i]+r[i]
	}
	slices.Sort(low)
	slices.Sort(high)
	k := int(math.Ceil(level * float64(len(v)+1)))
	return low[len(v)-k], high[k-1]
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-8*(1+math.Abs(want))) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// CV+ by its definition, from fits to the rows outside each fold.
func TestCVPlusAgainstFits(t *testing.T) {
	t.Run("rows", func(t *testing.T) {
		testCVPlus(t, iokl.Fit, iokl.Options{Kernels: []string{"gaussian:all:median*0.5,1", "linear:all"}})
	})
	t.Run("stream", func(t *testing.T) {
		fit := func(ctx context.Context, X, Y mat.Matrix, opt iokl.Options) (*iokl.Model, error) {
			return iokl.FitStream(ctx, fittest.Stream(mat.DenseCopyOf(X), mat.DenseCopyOf(Y)),
				opt)
		}
		// Folds of groups are known to the test, and without standardisation inputs are seen alike in all fits.
		groups := seq(0, 61)
		testCVPlus(t, fit, iokl.Options{
			Kernels: []string{"rff:gaussian:all:2:30", "linear:all"}, Standardize: "y",
			CV: iokl.CVOptions{Groups: groups},
		})
	})
}

func testCVPlus(
	t *testing.T, fit func(context.Context, mat.Matrix, mat.Matrix, iokl.Options) (*iokl.Model, error),
	opt iokl.Options,
) {
	const l, k, seed, level = 61, 4, 9, 0.8
	X, Y := learntest.Wave(l+20, 33)
	rows := func(a *mat.Dense, idx []int) *mat.Dense {
		_, c := a.Dims()
		b := mat.NewDense(len(idx), c, nil)
		for i, r := range idx {
			b.SetRow(i, a.RawRowView(r))
		}
		return b
	}
	all, fresh := seq(0, l), rows(X, seq(l, l+20))
	opt.Lambda, opt.Tol, opt.Seed, opt.IntervalFolds = 1e-2, 1e-2, seed, k
	if opt.CV.Groups == nil { // rows without groups are dealt by their content
		for i := range l {
			opt.CV.Groups = append(opt.CV.Groups, i*k/l)
		}
	}
	m, err := fit(context.Background(), rows(X, all), rows(Y, all), opt)
	if err != nil {
		t.Fatal(err)
	}
	m = fittest.Loaded(t, m)
	got, err := m.PredictInterval(context.Background(), fresh, iokl.IntervalOptions{Level: level, Method: "cv+"})
	if err != nil {
		t.Fatal(err)
	}
	splits, err := iokl.Folds(l, k, 1, opt.CV.Groups, false, seed)
	if err != nil {
		t.Fatal(err)
	}
	opt.IntervalFolds, opt.CV.Groups = 0, nil
	residuals, values := mat.NewDense(l, 3, nil), make([]*mat.Dense, l)
	for _, s := range splits {
		f, err := fit(context.Background(), rows(X, s.Train), rows(Y, s.Train), opt)
		if err != nil {
			t.Fatal(err)
		}
		P, err := f.Predict(rows(X, s.Test))
		if err != nil {
			t.Fatal(err)
		}
		at, err := f.Predict(fresh)
		if err != nil {
			t.Fatal(err)
		}
		for a, i := range s.Test {
			values[i] = at
			for j := range 3 {
				residuals.Set(i, j, math.Abs(Y.At(i, j)-P.At(a, j)))
			}
		}
	}
	nearEnds(t, got, values, residuals, level)
}

// nearEnds fails unless the ends of intervals are those of the sizes of the residuals of all samples and of what the
// models without each of them predict, values, widened to hold the predictions.
func nearEnds(t *testing.T, got *iokl.Intervals, values []*mat.Dense, residuals *mat.Dense, level float64) {
	t.Helper()
	rows, outputs := got.Predictions.Dims()
	for i := range rows {
		for j := range outputs {
			v := make([]float64, len(values))
			for p := range v {
				v[p] = values[p].At(i, j)
			}
			lo, hi := plus(v, mat.Col(nil, j, residuals), level)
			f := got.Predictions.At(i, j)
			near(t, "lower end", got.Low.At(i, j), min(lo, f))
			near(t, "upper end", got.High.At(i, j), max(hi, f))
		}
	}
}

// A model that was saved and loaded gives the same intervals to the bit.
func TestIntervalsAreSaved(t *testing.T) {
	m, X, _ := waveModel(t, iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 1e-3, IntervalFolds: 3})
	again := fittest.Loaded(t, m)
	for _, opt := range []iokl.IntervalOptions{{}, {Local: true}, {Method: "jackknife+", Joint: true}} {
		a, err := m.PredictInterval(context.Background(), X, opt)
		if err != nil {
			t.Fatal(err)
		}
		b, err := again.PredictInterval(context.Background(), X, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(a.Low, b.Low) || !mat.Equal(a.High, b.High) {
			t.Errorf("%+v: intervals differ after loading", opt)
		}
	}
	a, err := m.PredictDeviation(context.Background(), X)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := again.PredictDeviation(context.Background(), X); err != nil || !mat.Equal(a, b) {
		t.Errorf("deviations differ after loading: %v", err)
	}
}

func TestIntervalErrors(t *testing.T) {
	given := iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 1e-3}
	plain, X, _ := waveModel(t, given)
	given.IntervalFolds = 3
	folds, _, _ := waveModel(t, given)
	given.Kernels = []string{"rff:gaussian:all:median:50"}
	features, _, _ := waveModel(t, given)
	for _, c := range []struct {
		name, want string
		m          *iokl.Model
		opt        iokl.IntervalOptions
	}{
		{"level", "between 0 and 1", folds, iokl.IntervalOptions{Level: 1}},
		{"NaN", "between 0 and 1", folds, iokl.IntervalOptions{Level: math.NaN()}},
		{"method", "unknown kind of interval", folds, iokl.IntervalOptions{Method: "bootstrap"}},
		{"no folds", "keeps no models of folds", plain, iokl.IntervalOptions{Method: "cv+"}},
		{"level too high", "120 residuals are too few", folds, iokl.IntervalOptions{Level: 0.999}},
		{"level too high, jackknife+", "120 residuals are too few", plain, iokl.IntervalOptions{Level: 0.999}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.m.PredictInterval(context.Background(), X, c.opt)
			if !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for _, method := range []iokl.IntervalMethod{"", "cv+", "jackknife+"} {
		r, err := features.PredictInterval(context.Background(), X, iokl.IntervalOptions{Method: method})
		if err != nil || r == nil {
			t.Errorf("%q of features: %v", method, err)
		}
	}
	if _, err := iokl.Fit(context.Background(), X, X, iokl.Options{Lambda: 1, IntervalFolds: 1}); !errors.Is(err,
		iokl.ErrInput) {
		t.Errorf("one fold: %v", err)
	}
}

func TestPredictSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))
	const l, fresh = 150, 1000
	names := []string{"a", "b", "c"}
	X, labels := mat.NewDense(l+fresh, 2, nil), make([]string, l+fresh)
	for i := range l + fresh {
		k := rng.IntN(3)
		labels[i] = names[k]
		angle := 2 * math.Pi * float64(k) / 3
		X.SetRow(i, []float64{math.Cos(angle) + 0.8*rng.NormFloat64(), math.Sin(angle) + 0.8*rng.NormFloat64()})
	}
	opt := iokl.Options{Kernels: []string{"gaussian:all:median"}, Lambda: 1e-2, IntervalFolds: 5}
	m, err := iokl.FitClasses(context.Background(), X.Slice(0, l, 0, 2), labels[:l], opt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.PredictSets(context.Background(), X.Slice(l, l+fresh, 0, 2), 0.9)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Classify(X.Slice(l, l+fresh, 0, 2))
	if err != nil || !slices.Equal(want, r.Classes) {
		t.Errorf("classes are not those of Classify: %v", err)
	}
	var held, sure, right, size float64
	for i, set := range r.Sets {
		truth := labels[l+i]
		row := r.Probabilities.RawRowView(i)
		if !slices.Contains(set, r.Classes[i]) {
			t.Fatal("a set lacks the class predicted")
		}
		if slices.Contains(set, truth) {
			held++
		}
		if r.Classes[i] == truth {
			right++
		}
		sure += slices.Max(row)
		size += float64(len(set))
		near(t, "sum of probabilities", mat.Sum(mat.NewVecDense(3, row)), 1)
	}
	t.Logf("%.3f held, %.3f right, %.3f expected, sets of %.2f", held/fresh, right/fresh, sure/fresh, size/fresh)
	if held /= fresh; held < 0.86 || held > 0.96 {
		t.Errorf("sets hold %.3f of the classes", held)
	}
	if math.Abs(right-sure) > 0.05*fresh {
		t.Errorf("%.3f are right, probabilities say %.3f", right/fresh, sure/fresh)
	}
	if !(size > fresh && size < 2*fresh) {
		t.Errorf("sets of %.2f classes", size/fresh)
	}
	if _, err := m.PredictSets(context.Background(), X, 0.9999); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("level too high: %v", err)
	}
}

func TestDistances(t *testing.T) {
	X, Y := learntest.Wave(40, 36)
	m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{
		Kernels: []string{"gaussian:all:1"}, Lambda: 1e-3,
		Standardize: "y",
	})
	if err != nil {
		t.Fatal(err)
	}
	moved := mat.DenseCopyOf(X)
	for i := range 40 {
		moved.Set(i, 1, X.At(i, 1)+1e-3*float64(i))
	}
	far := mat.NewDense(1, 4, []float64{1e3, 0, 0, 0})
	got, err := m.Distances(t.Context(), moved)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range got {
		if !(math.Abs(d-1e-3*float64(i)) <= 1e-12) {
			t.Errorf("row %d moved by %g is %g away", i, 1e-3*float64(i), d)
		}
	}
	if got, err = m.Distances(t.Context(), far); err != nil || !(math.Abs(got[0]-1e3) < 50) {
		t.Errorf("%v, %v", got, err)
	}
	features, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Kernels: []string{"linear:all"}, Lambda: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := features.Distances(t.Context(), far); !errors.Is(err, iokl.ErrInput) {
		t.Errorf("a model without training inputs: %v", err)
	}
}

package choose

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

func rowsIn(t *testing.T, X, Y *mat.Dense, bytes int64) *samples.Rows {
	t.Helper()
	d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{
		Env: learn.Env{MaxBytes: bytes}, Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLargeData chooses on a part of the samples where memory holds no more, and then λ
// with features on all of them.
func TestLargeData(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l, bytes = 700, 4 << 20
	const fresh = 2000
	X, Y := learntest.Wave(l, 5)
	X.Set(3, 1, math.NaN())
	newX, newY := learntest.Wave(fresh, 6)
	d := rowsIn(t, X, Y, bytes)
	for name, options := range map[string]Options{
		"sums":         {Folds: 3},
		"groups":       {Folds: 2, Groups: slices.Repeat([]int{1, 2, 3, 4, 5, 6, 7}, 100)},
		"time-ordered": {Folds: 2, TimeOrdered: true},
		"given λ":      {Folds: 2, Lambdas: []float64{1e-4, 1e-6}},
	} {
		method := learn.Method{Env: learn.Env{MaxBytes: bytes}}
		r, err := Run(t.Context(), d.Data(), Job{Options: options, Method: method})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := r.Points[r.Best]
		if dictionary.Exact(p.Kernels) {
			t.Errorf("%s: exact kernels %v in %d bytes", name, p.Kernels, bytes)
		}
		if !slices.Equal(r.Means, []int{2}) {
			t.Errorf("%s: targets %v are predicted by their mean, and 2 is noise", name, r.Means)
		}
		if options.Lambdas != nil {
			if !slices.Contains(options.Lambdas, p.Lambda) || len(r.Points) > 2 {
				t.Errorf("%s: λ = %g of %d points", name, p.Lambda, len(r.Points))
			}
			continue
		}
		end, err := learn.Fit(t.Context(), d, learn.Setting{
			Kernels: p.Kernels, Norm: p.Norm, Learn: p.Learn,
			Tau: p.Tau, Lambda: p.Lambda, Means: r.Means,
		}, learn.Method{Tol: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		F := blas.NewGeneral(fresh, 3)
		if err := end.Predict(t.Context(), F, blas.Raw(newX)); err != nil {
			t.Fatal(err)
		}
		mse, _ := learn.Compare(F, blas.Raw(newY), blas.General{})
		// Targets 0 and 2 have noise of variance 1, and target 1, of variance about 6, has none.
		if !(mse[0] < 1.5) || !(mse[1] < .01) || !(mse[2] < 1.05) {
			t.Errorf("%s: mean squared errors %v on new rows", name, mse)
		}
	}
}

// TestAffordable takes exact kernels where they fit, and as many features as do otherwise.
func TestAffordable(t *testing.T) {
	X, Y := learntest.Wave(400, 7)
	specs := []string{"gaussian:relevant:median*1,2", "poly:1:all:0", "laplacian:each:median"}
	got, err := rowsIn(t, X, Y, -1).Affordable(t.Context(), specs, "", 3, 0)
	if err != nil || !slices.Equal(got, specs) {
		t.Errorf("%v, %v in all memory", got, err)
	}
	// 40 features: 4 of the linear kernel, half of the rest at 4 for each of 4 columns, the rest at 10.
	want := []string{"nystrom:gaussian:relevant:median*1,2:10", "poly:1:all:0", "nystrom:laplacian:each:median:4"}
	got, err = rowsIn(t, X, Y, 1<<20).Affordable(t.Context(), specs, "", 3, 0)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v in 1 MiB, want %v", got, err, want)
	}
}

// dear is rows on which exact kernels are affordable at fixed weights alone.
type dear struct{ learn.Table }

func (d dear) Affordable(
	_ context.Context, specs []string, what learn.Learned, _ int, _ time.Duration,
) ([]string, error) {
	if what.Weights() {
		return []string{"nystrom:" + specs[0] + ":40"}, nil
	}
	return specs, nil
}

// TestAffordableAtFixedWeights takes exact kernels of fixed weights, where these were compared, in the place of
// features of learned ones.
func TestAffordableAtFixedWeights(t *testing.T) {
	X, Y := learntest.Wave(60, 2)
	point := func(what learn.Learned, kernel string, e float64) Point {
		errors := []float64{e, e}
		return Point{
			Kernels: []string{kernel}, Learn: what, Model: learn.Product, Lambda: e, Folds: errors, mixed: errors,
			arm: &arm{},
		}
	}
	points := []Point{
		point(learn.Weights, "gaussian:all:median", .1), point(learn.Both, "laplacian:all:median", .15),
		point(learn.Nothing, "laplacian:all:median", .3), point(learn.Nothing, "matern32:all:median", .2),
	}
	for known, want := range map[int]int{2: 0, 4: 3} {
		s := &race{Job: Job{Options: Options{Metric: "nmse"}}, all: rowsIn(t, X, Y, -1).Data()}
		s.all.Table = dear{s.all.Table}
		s.best = &Result{Points: points[:known]}
		list, features, err := s.affordable(t.Context())
		if err != nil || !slices.Equal(list, []int{want}) || (features != nil) != (want == 0) {
			t.Errorf("of %d settings: %v with features %v, %v", known, list, features, err)
		}
	}
}

// TestSumsAreTheSamples compares a fit to the samples with one to their sums of the same features, which were added
// up before, for folds.
func TestSumsAreTheSamples(t *testing.T) {
	X, Y := learntest.Wave(300, 9)
	d := rowsIn(t, X, Y, -1)
	specs := []string{"nystrom:gaussian:relevant:median:300"} // every sample is a landmark
	set := learn.Setting{Kernels: specs, Lambda: 1e-3}
	T := blas.NewGeneral(5, 4)
	copy(T.Data, X.RawMatrix().Data)
	T.Data[0] = 1e9 // is clamped
	var objective []float64
	var P [2]blas.General
	for k := range P {
		if k == 1 {
			sums, err := d.Sums(t.Context(), specs, learn.Folding{Folds: 4})
			if err != nil {
				t.Fatal(err)
			}
			if l, n := sums.Size(); l != 300 || n != 3 {
				t.Errorf("sums of %d samples, %d targets", l, n)
			}
		}
		end, err := learn.Fit(t.Context(), d, set, learn.Method{Tol: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		objective = append(objective, end.Result.Objective)
		P[k] = blas.NewGeneral(5, 3)
		if err := end.Predict(t.Context(), P[k], T); err != nil {
			t.Fatal(err)
		}
	}
	if !(math.Abs(objective[0]-objective[1]) < 1e-8*objective[0]) {
		t.Errorf("objectives %v", objective)
	}
	for i, v := range P[0].Data {
		if !(math.Abs(v-P[1].Data[i]) < 1e-4*(1+math.Abs(v))) {
			t.Errorf("predictions %v and %v", P[0].Data, P[1].Data)
			break
		}
	}
	if _, err := d.Sums(t.Context(), specs, learn.Folding{Folds: 4}); err != nil {
		t.Fatal(err)
	}
	for k, again := range []bool{false, true} { // the sums serve one training set, of the same kernels
		tr, err := d.Train(t.Context(), specs, "", learn.All)
		if err != nil {
			t.Fatal(err)
		}
		if (tr.Samples != nil) != again {
			t.Errorf("training set %d is of the samples anew, %v", k, again)
		}
	}
}

// fixedWeights is a setting in which only C is learned.
func fixedWeights(kernels ...string) learn.Setting {
	return learn.Setting{Kernels: kernels, Norm: "lp:2", Learn: learn.Nothing, Model: learn.Product}
}

// raceOf is a race by nmse on three folds of d.
func raceOf(d learn.Data) *race {
	return &race{Job: Job{Options: Options{Folds: 3, Metric: "nmse", Taus: []float64{0}}}, all: d, data: d, top: d}
}

// TestFinishWithFeatures ends with all fits of its last phase done.
func TestFinishWithFeatures(t *testing.T) {
	const l, part = 400, 200
	X, Y := learntest.Wave(l, 7)
	d := rowsIn(t, X, Y, 1<<20)
	s := raceOf(d.Data())
	var last learn.Progress
	s.Method.Watch = func(p learn.Progress) { last = p }
	if err := s.take(s.all, part); err != nil {
		t.Fatal(err)
	}
	if err := s.add(t.Context(), fixedWeights("gaussian:all:median")); err != nil {
		t.Fatal(err)
	}
	if err := s.compare(t.Context(), 0, s.folds); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kernels := s.arms[0].Kernels; dictionary.Exact(kernels) || last.Done != 1 {
		t.Errorf("ends with %g of %s done, kernels %v", last.Done, last.Phase, kernels)
	}
}

// TestLambdasAround brackets the λ of equal weight of the penalty.
func TestLambdasAround(t *testing.T) {
	if path := LambdasAround(1e-2, 1000); path[2] != 1e-5 || !(path[0] > path[1]) || !(path[4] < path[3]) {
		t.Errorf("%v", path)
	}
}

// TestManyTargets chooses kernels on some of the targets. The result is about all of them.
func TestManyTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l, n = 60, 2 * mostTargets
	rng := rand.New(rand.NewPCG(3, 4))
	X, Y := mat.NewDense(l, 3, nil), mat.NewDense(l, n, nil)
	for i := range l {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		X.SetRow(i, []float64{a, b, c})
		for k, f := range []float64{math.Sin(a + b), a * c, math.Cos(2 * b)} {
			for j := k; j < n-1; j += 3 {
				Y.Set(i, j, f*float64(1+j%5)+.1*rng.NormFloat64())
			}
		}
		Y.Set(i, n-1, rng.NormFloat64()) // noise
	}
	d := rowsIn(t, X, Y, -1)
	r, err := Run(t.Context(), d.Data(), Job{Options: Options{Folds: 3}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Chosen()
	if len(p.Folds) != 3 || !(p.Mean < .9) {
		t.Errorf("nmse %g on %d folds", p.Mean, len(p.Folds))
	}
	if !slices.Contains(r.Means, n-1) || len(r.Means) > n/10 {
		t.Errorf("%d of %d targets are predicted by their mean: %v", len(r.Means), n, r.Means)
	}
	spent, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(spent, d.Data(), Job{Options: Options{Folds: 3}}); r != nil || err == nil {
		t.Errorf("cancelled: %v, %v", r, err)
	}
}

// TestTails chooses for rows whose tails are missing. Only an output kernel fills them in with a small error: without
// one it is above .6.
func TestTails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	X, _, Y := learntest.Tails(80, 2*holedTargets, 6)
	r, err := Run(t.Context(), rowsIn(t, X, Y, -1).Data(), Job{Options: Options{Folds: 3}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Chosen()
	if !p.Learn.OutputKernel() || !(p.Mean < .2) || len(p.Folds) != 1 || len(r.Means) > 0 {
		t.Errorf("%+v, targets %v by their mean", p, r.Means)
	}
}

// TestFinishLeavesPlateau takes what a part found to all rows, which lie in groups of near ones with noise between
// them: interpolating a part, where few rows are near each other, does no harm, and all rows want a larger λ.
func TestFinishLeavesPlateau(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const l, part, cols, group = 1200, 200, 9, 20
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 3))
		X, Y := blas.NewGeneral(l, cols), blas.NewGeneral(l, 1)
		centres, own := make([]float64, cols*l/group), make([]float64, l/group)
		for i := range centres {
			centres[i] = rng.NormFloat64()
		}
		for i := range own {
			own[i] = rng.NormFloat64()
		}
		for i := range l {
			g := rng.IntN(l / group)
			x := blas.Row(X, i)
			for k := range x {
				x[k] = centres[g*cols+k] + .1*rng.NormFloat64()
			}
			Y.Data[i] = own[g] + math.Sin(x[0]+x[1]) + .4*rng.NormFloat64()
		}
		d, err := samples.NewRows(X, Y, blas.General{}, samples.Options{
			Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := raceOf(d.Data())
		if err := s.take(s.all, part); err != nil {
			t.Fatal(err)
		}
		set := fixedWeights("gaussian:all:median*0.25", "laplacian:all:median*0.25", "laplacian:all:median",
			"linear:all")
		if err := s.add(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		a := s.arms[0]
		if err := s.compare(t.Context(), 0, s.folds); err != nil {
			t.Fatal(err)
		}
		if err := s.finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		chosen := s.best.Chosen()
		var fits []int
		for i := range a.errors {
			if a.errors[i][0] != nil {
				fits = append(fits, i)
			}
		}
		a.from, a.to = 0, len(a.lambdas)
		if first, last := fits[0], fits[len(fits)-1]; last-first != len(fits)-1 {
			t.Errorf("seed %d: values %d of the path leap over others", seed, fits)
		}
		if err := s.compare(t.Context(), 0, s.folds); err != nil {
			t.Fatal(err)
		}
		if least := s.best.Chosen(); !(chosen.Mean < 1.03*least.Mean) || len(fits) > 8 {
			t.Errorf("seed %d: error %g at λ = %g after %d fits, %g at %g", seed, chosen.Mean, chosen.Lambda,
				len(fits), least.Mean, least.Lambda)
		}
	}
}

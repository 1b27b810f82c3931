package choose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

func rowsIn(t *testing.T, X, Y *mat.Dense, bytes int64) *samples.Rows {
	t.Helper()
	d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), samples.Options{
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
	const l, bytes = 700, 4 << 20
	X, Y := learntest.Wave(l, 5)
	X.Set(3, 1, math.NaN())
	d := rowsIn(t, X, Y, bytes)
	for name, options := range map[string]Options{
		"sums":         {Folds: 3},
		"groups":       {Folds: 2, Groups: slices.Repeat([]int{1, 2, 3, 4, 5, 6, 7}, 100)},
		"time-ordered": {Folds: 2, TimeOrdered: true},
	} {
		r, err := Run(t.Context(), d, Job{Options: options, Method: learn.Method{Env: learn.Env{MaxBytes: bytes}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := r.Points[r.Best]
		if dictionary.Exact(p.Kernels) {
			t.Errorf("%s: exact kernels %v in %d bytes", name, p.Kernels, bytes)
		}
		// One output of three is noise, and the others nearly none. λ serves the others.
		if !(p.Mean < .43) {
			t.Errorf("%s: nmse %g", name, p.Mean)
		}
	}
}

// TestAffordable takes exact kernels where they fit, and as many features as do otherwise.
func TestAffordable(t *testing.T) {
	X, Y := learntest.Wave(400, 7)
	specs := []string{"gaussian:relevant:median*1,2", "poly:1:all:0", "laplacian:each:median"}
	got, err := rowsIn(t, X, Y, -1).Affordable(t.Context(), specs, 3)
	if err != nil || !slices.Equal(got, specs) {
		t.Errorf("%v, %v in all memory", got, err)
	}
	// 100 features: 4 of the linear kernel, half of the rest at 12 for each of 4 columns, the rest at 24.
	want := []string{"nystrom:gaussian:relevant:median*1,2:24", "poly:1:all:0", "nystrom:laplacian:each:median:12"}
	got, err = rowsIn(t, X, Y, 1<<20).Affordable(t.Context(), specs, 3)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v in 1 MiB, want %v", got, err, want)
	}
}

// TestSumsAreTheSamples compares a fit to sums with one to the samples with the same features.
func TestSumsAreTheSamples(t *testing.T) {
	X, Y := learntest.Wave(300, 9)
	d := rowsIn(t, X, Y, -1)
	specs := []string{"nystrom:gaussian:relevant:median:300"} // every sample is a landmark
	set := learn.Setting{Kernels: specs, Lambda: 1e-3}
	sums, err := d.Sums(t.Context(), specs, learn.Folding{Folds: 4})
	if err != nil {
		t.Fatal(err)
	}
	var objective []float64
	for _, data := range []learn.Data{d, sums} {
		end, err := learn.Fit(t.Context(), data, set, learn.Method{Tol: 1e-7})
		if err != nil {
			t.Fatal(err)
		}
		objective = append(objective, end.Result.Objective)
	}
	if !(math.Abs(objective[0]-objective[1]) < 1e-6*objective[0]) {
		t.Errorf("objectives %v", objective)
	}
}

// TestCarried brackets λ between that of equal strength and that of equal weight.
func TestCarried(t *testing.T) {
	path := Carried(1e-2, 1000)
	if !(path[0] > 3e-2 && path[0] < 4e-2) || !(path[len(path)-1] < 1e-5) || !slices.IsSortedFunc(path, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Errorf("%v", path)
	}
}

// TestBeyond goes on where the best λ is the first or the last.
func TestBeyond(t *testing.T) {
	path := []float64{1, .1, .01}
	for best, want := range map[float64]float64{1: math.Pow(10, 1.5), .1: 0, .01: math.Pow(10, -3.5)} {
		got := beyond(best, path)
		if (want == 0) != (got == nil) || got != nil && (got[0] != best || math.Abs(got[3]/want-1) > 1e-12) {
			t.Errorf("beyond %g: %v", best, got)
		}
	}
}

// TestManyTargets chooses kernels on some of the targets. The result is about all of them, and about as good
// as that of a choice on all.
func TestManyTargets(t *testing.T) {
	const l, n = 60, 2 * defaults.ChooseTargets
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
	var said []string
	job := Job{Options: Options{Folds: 3}, Method: learn.Method{Env: learn.Env{Notify: func(line string) { said = append(said, line) }}}}
	r, err := Run(t.Context(), d, job)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(said, "choosing kernels on 100 of 200 targets") {
		t.Errorf("%q", said)
	}
	s := &selection{Job: job, data: d}
	if err := s.fill(); err != nil {
		t.Fatal(err)
	}
	all, err := s.compare(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	some, whole := r.Points[r.Best].Mean, all.Points[all.Best].Mean
	if !(some < 1.1*whole) || !(whole < .9) {
		t.Errorf("nmse %g by some targets, %g by all", some, whole)
	}
	if !slices.Contains(r.Means, n-1) || len(r.Means) > n/10 {
		t.Errorf("%d of %d targets are predicted by their mean: %v", len(r.Means), n, r.Means)
	}
}

package choose

import (
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/stream"
)

// metric is a selection by a metric.
func metric(name string) *selection { return &selection{Job: Job{Options: Options{Metric: name}}} }

// against is a selection by nmse of one target on folds where a model without kernels has these errors.
func against(t *testing.T, constant ...float64) *selection {
	s := metric("nmse")
	s.folds, s.constant = len(constant), of(constant...)
	y := blas.NewGeneral(9, 1)
	y.Data[0] = 1
	var err error
	if s.data, err = samples.NewRows(blas.NewGeneral(9, 1), y, samples.Options{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// of is errors of one target on folds, NaN where there are none.
func of(errors ...float64) [][]float64 {
	each := make([][]float64, len(errors))
	for f, e := range errors {
		each[f] = known([]float64{e})
	}
	return each
}

// TestScreenKnowsAdditiveFunctions screens a sum of functions of single columns among noise.
func TestScreenKnowsAdditiveFunctions(t *testing.T) {
	X, Y := learntest.Wave(120, 22)
	for i := range 120 {
		Y.SetRow(i, []float64{math.Sin(X.At(i, 0)) + math.Abs(X.At(i, 1)-10), math.Sin(X.At(i, 2)), math.Cos(X.At(i, 3))})
	}
	ranking := func(threads int) []screened {
		par.SetThreads(threads)
		defer par.SetThreads(0)
		d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), samples.Options{Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true}})
		if err != nil {
			t.Fatal(err)
		}
		s := &selection{Job: Job{Options: Options{Folds: 3}}, data: d}
		if err := s.fill(); err != nil {
			t.Fatal(err)
		}
		if err := s.take(d, 120); err != nil {
			t.Fatal(err)
		}
		r, err := s.screen(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, three := ranking(1), ranking(3)
	if !slices.ContainsFunc(one[0].kernels, func(k string) bool {
		return k == "gaussian:each:median*0.5" || k == "gaussian:each:median*1" || k == "gaussian:each:median*2"
	}) {
		t.Errorf("best dictionary %v", one[0].kernels)
	}
	for k := range one {
		if !slices.Equal(one[k].kernels, three[k].kernels) || one[k].score != three[k].score || one[k].step != three[k].step {
			t.Errorf("rank %d: %+v with one thread, %+v with three", k, one[k], three[k])
		}
	}
}

func TestNarrow(t *testing.T) {
	s := against(t, 9, 9, 9, 9)
	branchOf := func(errors ...[]float64) *branch {
		b := &branch{lambdas: make([]float64, len(errors))}
		b.dropped = make([]bool, len(errors))
		for _, e := range errors {
			b.errors = append(b.errors, append(of(e...), nil))
		}
		return b
	}
	good := branchOf([]float64{4, 4, 4, 4}, []float64{3, 3, 3, 3}, []float64{1, 2, 3, 1}, []float64{2, 2, 2, 2}, []float64{3, 3, 3, 3})
	near := branchOf([]float64{1.1, 1.9, 3.2, 1})
	bad := branchOf([]float64{1.2, 2.5, 3.5, 1.1})
	unfinished := branchOf([]float64{0.1, 0.1, math.NaN(), 0.1})
	s.narrow([]*branch{good, near, bad, unfinished}, 4)
	for name, c := range map[string]struct {
		b    *branch
		want []bool
	}{
		"the best keeps its neighbours": {good, []bool{true, false, false, false, true}},
		"as good as the best":           {near, []bool{false}},
		"worse on every fold":           {bad, []bool{true}},
		"not complete":                  {unfinished, []bool{true}},
	} {
		if !slices.Equal(c.b.dropped, c.want) {
			t.Errorf("%s: dropped %v, want %v", name, c.b.dropped, c.want)
		}
	}
}

// TestScore checks that a hard fold does not decide.
func TestScore(t *testing.T) {
	s := metric("nmse")
	if !(s.score([]float64{0.1, 0.1, 9}) < s.score([]float64{0.2, 0.2, 8})) {
		t.Error("half the error on two of three folds, and an eighth more on a hard one, is not preferred")
	}
	if !math.IsInf(s.score([]float64{0.1, math.NaN()}), 1) {
		t.Error("an unknown error is scored")
	}
	s = metric("accuracy")
	if !(s.score([]float64{0.9, 0.7}) < s.score([]float64{0.8, 0.7})) {
		t.Error("the lower accuracy is preferred")
	}
}

func TestMeanAndError(t *testing.T) {
	for _, unit := range []float64{1, 1e-300, 1e300, -1e300} {
		mean, se := meanAndError([]float64{unit, 2 * unit, 6 * unit})
		if !(math.Abs(mean/unit-3) <= 1e-15) || !(math.Abs(se/math.Abs(unit)-math.Sqrt(7.0/3)) <= 1e-15) {
			t.Errorf("mean %g, standard error %g", mean, se) // the variance of the sample is 7
		}
	}
}

// With OneSE the largest λ whose mean is within one standard error of the best wins,
// among settings that differ in λ alone.
func TestSteadier(t *testing.T) {
	at := func(lambda, mean float64, norm string) Point {
		return Point{Lambda: lambda, Mean: mean, StdErr: 0.1, Norm: norm}
	}
	points := []Point{at(10, 1.25, "lp:1"), at(1, 1.09, "lp:1"), at(0.1, 1, "lp:1"), at(0.01, 1.05, "lp:1"), at(100, 1, "lp:2")}
	if got := new(selection).steadier(points, 2); got != 1 {
		t.Errorf("chose λ = %g, %s", points[got].Lambda, points[got].Norm)
	}
}

// TestSimplest prefers fixed weights, and one L, within one standard error of the difference on four folds, which is
// corrected for the samples that these share.
func TestSimplest(t *testing.T) {
	s := against(t, 9, 9, 9, 9)
	s.Folds = 4
	best := []float64{1, 1.2, .9, 1.1}
	noisy, steady := []float64{1.1, 1.1, .97, 1.1}, []float64{1.03, 1.23, .93, 1.13} // worse by .3 and 5 standard errors
	none, l, eta, both, sum := Point{Learn: "none"}, Point{Learn: "l"}, Point{Learn: "eta"}, Point{Learn: "eta,l"}, Point{Learn: "eta,l", Model: "sum"}
	for name, c := range map[string]struct {
		points []Point
		errors [][]float64
		best   int
		want   int
	}{
		"fixed weights, within the noise": {[]Point{none, both}, [][]float64{noisy, best}, 1, 0},
		"fixed weights, worse":            {[]Point{none, both}, [][]float64{steady, best}, 1, 1},
		"weights are learned":             {[]Point{eta, l}, [][]float64{noisy, best}, 1, 1},
		"L is learned":                    {[]Point{none, l}, [][]float64{noisy, best}, 1, 1},
		"a sum":                           {[]Point{both, sum}, [][]float64{noisy, best}, 1, 0},
		"the better of two as simple":     {[]Point{both, none, l}, [][]float64{best, noisy, {1.1, 1.1, .97, 1.09}}, 0, 2},
	} {
		if got := s.simplest(c.points, c.errors, c.best); got != c.want {
			t.Errorf("%s: point %d, want %d", name, got, c.want)
		}
	}
	s.Models = []string{"product", "sum"}
	if got := s.simplest([]Point{both, sum}, [][]float64{noisy, best}, 1); got != 1 {
		t.Error("of the models to compare, the one with larger errors was taken")
	}
}

// Of folds that were only begun, the settings that all of them have tried count.
func TestSoFar(t *testing.T) {
	s := against(t, 9, 9, 9)
	b := &branch{lambdas: []float64{1, 0.1}, errors: [][][]float64{of(3, math.NaN(), 2), of(1, math.NaN(), math.NaN())}}
	if r := s.soFar([]*branch{b}, make([]bool, 3)); r == nil || r.Folds != 2 || len(r.Points) != 1 || r.Points[0].Lambda != 1 {
		t.Errorf("folds begun: %+v", r)
	}
	if r := s.soFar([]*branch{b}, []bool{true, false, false}); r == nil || len(r.Points) != 2 || r.Points[r.Best].Lambda != 0.1 || r.Points[0].StdErr != 0 {
		t.Errorf("one fold complete: %+v", r)
	}
}

// TestRising ends a path at the second value in a row that is too high.
func TestRising(t *testing.T) {
	for name, c := range map[string]struct {
		errors []float64
		want   int // index of the error at which the path ends
	}{
		"falling":         {[]float64{4, 3, 2, 1}, -1},
		"rises at once":   {[]float64{1, 2, 2, 2}, 2},
		"one high value":  {[]float64{2, 1, 1.6, 1.4, 1.6, 1.7}, 5},
		"rises slowly":    {[]float64{1, 1.4, 1.49}, -1},
		"no number":       {[]float64{1, math.NaN(), math.NaN()}, 2},
		"high, then best": {[]float64{1, 1.6, 0.5, 0.8, 0.9}, 4},
	} {
		r, got := rising{least: math.Inf(1)}, -1
		for i, e := range c.errors {
			if r.ended(e) && got < 0 {
				got = i
			}
		}
		if got != c.want {
			t.Errorf("%s: ended at %d, want %d", name, got, c.want)
		}
	}
}

// TestDataAgree compares settings on the same samples as rows, as Gram matrices and as
// sums over a stream: the errors on every fold must be the same.
func TestDataAgree(t *testing.T) {
	const l = 90
	X, Y := learntest.Wave(l, 71)
	x, y := blas.Raw(X), blas.Raw(Y)
	kernels, opt := []string{"linear:0-1", "linear:2-3"}, columns.Options{ScaleOutputs: true}
	groups := make([]int, l)
	for i := range groups {
		groups[i] = i * i % 17 % 7
	}
	rows, err := samples.NewRows(x, y, samples.Options{Columns: opt})
	if err != nil {
		t.Fatal(err)
	}
	var matrices []blas.General
	for at := 0; at < 4; at += 2 {
		K, part := blas.NewGeneral(l, l), blas.View(x, 0, at, l, 2)
		blas.Gemm(blas.Active(), false, true, 1, part, part, 0, K)
		matrices = append(matrices, K)
	}
	grams, err := samples.NewGrams(t.Context(), matrices, y, samples.Options{Columns: opt})
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := sums.New(t.Context(), sums.Rows{Inputs: 4, Outputs: 3, Name: "rows", Open: func() (stream.Source, error) {
		return stream.FromMatrices("rows", x, y), nil
	}}, sums.Options{Columns: opt, Kernels: kernels, Folds: 3, FoldGroups: groups})
	if err != nil {
		t.Fatal(err)
	}
	var want *Result
	for _, d := range []learn.Data{rows, grams, streamed} {
		r, err := Run(t.Context(), d, Job{
			Options: Options{Kernels: [][]string{kernels}, Folds: 3, Groups: groups, Lambdas: []float64{10, 0.1}, Taus: []float64{1, 3}, Norms: []string{"lp:1.5"}, Metric: "rmse", Tol: 1e-9},
			Method:  learn.Method{Tol: 1e-9},
		})
		if err != nil {
			t.Fatalf("%T: %v", d, err)
		}
		if want == nil {
			want = r
		}
		if len(r.Points) != 4 || r.Best != want.Best {
			t.Fatalf("%T: best %d of %d points, of rows %d", d, r.Best, len(r.Points), want.Best)
		}
		for i, p := range r.Points {
			for f, e := range p.Folds {
				if q := want.Points[i].Folds[f]; !(math.Abs(e-q) <= 1e-5*q) {
					t.Errorf("%T, λ = %g, τ = %g: error %.10g on fold %d, of rows %.10g", d, p.Lambda, p.Tau, e, f, q)
				}
			}
		}
	}
}

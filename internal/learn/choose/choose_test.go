package choose

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
	"github.com/iokl/iokl/internal/learn/sums"
	"github.com/iokl/iokl/stream"
)

// metric is a race by a metric.
func metric(name string) *race { return &race{Job: Job{Options: Options{Metric: name}}} }

// against is a race by nmse of one target on folds where a model without kernels has these errors.
func against(t *testing.T, constant ...float64) *race {
	s := metric("nmse")
	s.folds, s.constant, s.complete = len(constant), of(constant...), slices.Repeat([]bool{true}, len(constant))
	s.data = rowsOf(t, 9, 1)
	s.all, s.top = s.data, s.data
	return s
}

// rowsOf is so many samples of a constant input and n targets.
func rowsOf(t *testing.T, l, n int) learn.Data {
	t.Helper()
	y := blas.NewGeneral(l, n)
	y.Data[0] = 1
	d, err := samples.NewRows(blas.NewGeneral(l, 1), y, blas.General{}, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Data()
}

// of is errors of one target on folds, NaN where there are none.
func of(errors ...float64) [][]float64 {
	each := make([][]float64, len(errors))
	for f, e := range errors {
		if !math.IsNaN(e) {
			each[f] = []float64{e}
		}
	}
	return each
}

// armOf is an arm with these errors at each λ on each fold.
func armOf(errors ...[]float64) *arm {
	a := &arm{lambdas: make([]float64, len(errors)), to: len(errors)}
	for i, e := range errors {
		a.lambdas[i] = math.Pow(10, -float64(i))
		a.errors = append(a.errors, of(e...))
	}
	return a
}

// TestAdditive chooses for a sum of functions of single columns among noise, with one thread and with three.
func TestAdditive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	X, Y := learntest.Wave(120, 22)
	for i := range 120 {
		Y.SetRow(i, []float64{
			math.Sin(X.At(i, 0)) + math.Abs(X.At(i, 1)-10), math.Sin(X.At(i, 2)),
			math.Cos(X.At(i, 3)),
		})
	}
	chosen := func(threads int) *Result {
		par.SetThreads(threads)
		defer par.SetThreads(0)
		r, err := learned(t, t.Context(), blas.Raw(X), blas.Raw(Y), 0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, three := chosen(1), chosen(3)
	if p := one.Chosen(); !slices.ContainsFunc(p.Kernels, func(k string) bool {
		return strings.Contains(k, ":each:")
	}) {
		t.Errorf("%v", p.Kernels)
	}
	if !reflect.DeepEqual(one, three) {
		t.Errorf("%+v with one thread, %+v with three", one.Chosen(), three.Chosen())
	}
}

// eliminate compares the arms of s and removes some.
func eliminate(t *testing.T, s *race) {
	t.Helper()
	if _, err := s.summarize(s.compared()); err != nil {
		t.Fatal(err)
	}
	s.eliminate()
}

// TestEliminate keeps the best λ of an arm and its neighbours, all of a path that one decomposition serves, and no arm
// that is worse beyond doubt or unfinished, or like a better one. Three stay where there are more samples than the race
// has.
func TestEliminate(t *testing.T) {
	s := against(t, 9, 9, 9, 9)
	s.Folds = 4
	of := func(kernel string, a *arm) *arm {
		a.Kernels = []string{kernel + ":all:median"}
		return a
	}
	good := of("gaussian", armOf([]float64{4, 4, 4, 4}, []float64{3, 3, 3, 3}, []float64{1, 2, 3, 1},
		[]float64{2, 2, 2, 2}, []float64{3, 3, 3, 3}))
	near := of("laplacian", armOf([]float64{1.1, 1.9, 3.2, 1}))
	bad := of("matern32", armOf([]float64{1.2, 2.5, 3.7, 1.2}))
	unfinished := of("matern12", armOf([]float64{0.1, 0.1, math.NaN(), 0.1}))
	near.closed = true
	s.arms = []*arm{bad, unfinished, near, good}
	eliminate(t, s)
	if len(s.arms) != 2 || s.arms[0] != good || s.arms[1] != near {
		t.Fatalf("%d arms are left", len(s.arms))
	}
	if good.from != 1 || good.to != 4 {
		t.Errorf("values of λ from %d to %d, want 1 to 3", good.from, good.to-1)
	}
	near.lambdas, near.to, near.errors = good.lambdas, len(good.lambdas), good.errors
	s.arms = []*arm{near}
	if eliminate(t, s); near.from != 0 || near.to != len(near.lambdas) {
		t.Errorf("values of λ from %d to %d of a path that one decomposition serves", near.from, near.to-1)
	}
	s.all = rowsOf(t, 10, 1)
	s.arms = []*arm{bad, unfinished, near, of("cosine", armOf([]float64{1.3, 2.5, 3.7, 1.2})), good}
	if eliminate(t, s); len(s.arms) != unionOfBest || slices.Contains(s.arms, unfinished) {
		t.Errorf("%d arms are left of a part of the samples", len(s.arms))
	}
	s.all, s.arms = s.data, nil
	for i := range 9 {
		s.arms = append(s.arms, of([]string{"gaussian", "laplacian"}[i%2], armOf([]float64{1, 2, 3, 1})))
	}
	if eliminate(t, s); len(s.arms) != 2 {
		t.Errorf("%d of 9 arms of two kinds are left", len(s.arms))
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
	one, other := &arm{}, &arm{}
	at := func(lambda, mean float64, a *arm) Point {
		return Point{Lambda: lambda, Mean: mean, StdErr: 0.1, arm: a}
	}
	points := []Point{at(10, 1.25, one), at(1, 1.09, one), at(0.1, 1, one), at(0.01, 1.05, one), at(100, 1, other)}
	if got := new(race).steadier(points, 2); got != 1 {
		t.Errorf("chose λ = %g", points[got].Lambda)
	}
}

// TestSimplest prefers fixed weights within one standard error of the difference on four folds, which is
// corrected for the samples that these share.
func TestSimplest(t *testing.T) {
	s := against(t, 9, 9, 9, 9)
	s.Folds = 4
	best := []float64{1, 1.2, .9, 1.1}
	// worse by .3 and 5 standard errors
	noisy, steady := []float64{1.1, 1.1, .97, 1.1}, []float64{1.03, 1.23, .93, 1.13}
	none, l, eta, both, sum := Point{Learn: "none"}, Point{Learn: "l"}, Point{Learn: "eta"}, Point{Learn: "eta,l"},
		Point{Learn: "eta,l", Model: "sum"}
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
		"a sum":                           {[]Point{both, sum}, [][]float64{noisy, best}, 1, 1},
		"the better of two as simple": {
			[]Point{both, none, l},
			[][]float64{best, noisy, {1.1, 1.1, .97, 1.09}},
			0,
			2,
		},
	} {
		points := slices.Clone(c.points)
		for i := range points {
			points[i].mixed, points[i].Folds = c.errors[i], c.errors[i]
		}
		if got := s.simplest(points, c.best); got != c.want {
			t.Errorf("%s: point %d, want %d", name, got, c.want)
		}
	}
}

// Of folds that were only begun, the settings that all of them have tried count.
func TestSoFar(t *testing.T) {
	s := against(t, 9, 9, 9)
	s.arms, s.complete = []*arm{armOf([]float64{3, math.NaN(), 2}, []float64{1, math.NaN(), math.NaN()})},
		make([]bool, 3)
	if s.soFar(); s.best == nil || s.best.Folds != 2 || len(s.best.Points) != 1 || s.best.Points[0].Lambda != 1 {
		t.Errorf("folds begun: %+v", s.best)
	}
	before := s.best
	if s.soFar(); s.best != before {
		t.Errorf("folds begun take the place of a result: %+v", s.best)
	}
	s.complete[0] = true
	if s.soFar(); s.best == before || len(s.best.Points) != 2 || s.best.Chosen().Lambda != 0.1 ||
		s.best.Points[0].StdErr != 0 {
		t.Errorf("one fold complete: %+v", s.best)
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
	rows, err := samples.NewRows(x, y, blas.General{}, samples.Options{Columns: opt})
	if err != nil {
		t.Fatal(err)
	}
	var matrices []blas.General
	for at := 0; at < 4; at += 2 {
		K, part := blas.NewGeneral(l, l), blas.View(x, 0, at, l, 2)
		blas.Gemm(blas.Active(), false, true, 1, part, part, 0, K)
		matrices = append(matrices, K)
	}
	grams, err := samples.NewGrams(t.Context(), matrices, y, blas.General{}, samples.Options{Columns: opt})
	if err != nil {
		t.Fatal(err)
	}
	streamed, err := sums.New(t.Context(), stream.Rows{Inputs: 4, Outputs: 3, Name: "rows", Open: func() (stream.Source,
		error,
	) {
		return stream.FromMatrices("rows", x, y), nil
	}}, sums.Options{Columns: opt, Kernels: kernels, Folds: 3, FoldGroups: groups})
	if err != nil {
		t.Fatal(err)
	}
	var want *Result
	for _, d := range []learn.Data{rows.Data(), grams.Data(), streamed.Data()} {
		r, err := Run(t.Context(), d, Job{
			Options: Options{
				Kernels: [][]string{kernels}, Folds: 3, Groups: groups, Lambdas: []float64{10, 0.1},
				Taus: []float64{1, 3}, Norms: []string{"lp:1.5"}, Metric: "rmse", Tol: 1e-9,
			},
			Method: learn.Method{Tol: 1e-9},
		})
		if err != nil {
			t.Fatalf("%T: %v", d.Learnable, err)
		}
		if want == nil {
			want = r
		}
		if len(r.Points) != 4 || r.Best != want.Best {
			t.Fatalf("%T: best %d of %d points, of rows %d", d.Learnable, r.Best, len(r.Points), want.Best)
		}
		for i, p := range r.Points {
			for f, e := range p.Folds {
				if q := want.Points[i].Folds[f]; !(math.Abs(e-q) <= 1e-5*q) {
					t.Errorf("%T, λ = %g, τ = %g: error %.10g on fold %d, of rows %.10g", d.Learnable, p.Lambda,
						p.Tau, e, f, q)
				}
			}
		}
	}
}

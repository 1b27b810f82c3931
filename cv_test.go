package iokl

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/internal/par"
	"github.com/iokl/iokl/kernel"
)

// TestRidgeIsWhatFitFinds compares the errors by factorisation with those of models fitted to the same split.
func TestRidgeIsWhatFitFinds(t *testing.T) {
	X, Y := wave(50, 21)
	split := Split{}
	for i := range 50 {
		if i%5 == 0 {
			split.Test = append(split.Test, i)
		} else {
			split.Train = append(split.Train, i)
		}
	}
	for name, tau := range map[string]float64{"default τ": 0, "τ = 6": 6} {
		t.Run(name, func(t *testing.T) {
			opt := Options{Kernels: []string{"gaussian:each:median*0.5,1", linearKernel}, Tau: tau, Learn: "none"}
			s := &study{X: raw(X), Y: raw(Y)}
			checked, err := opt.check(false)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.ridge(split, &checked)
			if err != nil {
				t.Fatal(err)
			}
			K, err := r.cross(t.Context(), opt.Kernels)
			if err != nil {
				t.Fatal(err)
			}
			lambdas := []float64{1e-1, 1e-3}
			e := make([]float64, len(lambdas))
			r.errors(t.Context(), e, K, lambdas, "nmse")
			train := func(A mat.Matrix, idx []int) *mat.Dense {
				return mat.NewDense(len(idx), dims(A), rows(raw(A), idx).Data)
			}
			for i, lambda := range lambdas {
				opt.Lambda = lambda
				m, err := Fit(bg, train(X, split.Train), train(Y, split.Train), opt)
				if err != nil {
					t.Fatal(err)
				}
				P, err := m.Predict(train(X, split.Test))
				if err != nil {
					t.Fatal(err)
				}
				want := relativeMSE(raw(P), r.test, r.Y, r.out)
				if !(math.Abs(e[i]-want) <= 1e-7*want) {
					t.Errorf("λ = %g: error %.10g by factorisation, %.10g of the model", lambda, e[i], want)
				}
				for j, v := range m.Eta() {
					part := 1.0 / 16
					if j == 8 {
						part = 1.0 / 2
					}
					if math.Abs(v-part) > 1e-15 {
						t.Errorf("weight %g of kernel %d, want %g", v, j, part)
					}
				}
			}
		})
	}
}

func dims(A mat.Matrix) int { _, c := A.Dims(); return c }

// TestScreenKnowsAdditiveFunctions screens a sum of functions of single columns among noise.
func TestScreenKnowsAdditiveFunctions(t *testing.T) {
	X, Y := wave(120, 22)
	for i := range 120 {
		Y.SetRow(i, []float64{math.Sin(X.At(i, 0)) + math.Abs(X.At(i, 1)-10), math.Sin(X.At(i, 2)), math.Cos(X.At(i, 3))})
	}
	ranking := func(threads int) []screened {
		par.SetThreads(threads)
		defer par.SetThreads(0)
		opt, err := Options{CV: CVOptions{Folds: 3}}.check(false)
		if err != nil {
			t.Fatal(err)
		}
		s := &study{X: raw(X), Y: raw(Y)}
		g, err := s.grid(&opt, 10)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.screen(bg, g, opt)
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

// TestZeroOptionsWithinMemory gives less and less memory: fewer dictionaries are
// compared, then fewer kernels, and then none is possible.
func TestZeroOptionsWithinMemory(t *testing.T) {
	X, Y := wave(60, 25)
	for grams, most := range map[int]int{1000: 1000, 12: 12, 1: 1, 0: 0} {
		opt := Options{CV: CVOptions{Folds: 3, Repeats: 1}}
		opt.MaxBytes = opt.fitBytes(grams, 60, 3)
		m, err := Fit(bg, X, Y, opt)
		if most == 0 {
			if m != nil || !errors.Is(err, ErrMemory) {
				t.Errorf("without memory: model %v, error %v", m, err)
			}
			continue
		}
		if err != nil || len(m.Eta()) > most {
			t.Errorf("memory for %d matrices: model %v, error %v", grams, m, err)
		}
	}
}

func TestNarrow(t *testing.T) {
	g := &grid{CVOptions: CVOptions{Metric: "nmse"}}
	branchOf := func(errors ...[]float64) *branch {
		b := &branch{lambdas: make([]float64, len(errors))}
		b.init(5)
		for i, e := range errors {
			copy(b.errors[i], e)
		}
		return b
	}
	good := branchOf([]float64{4, 4, 4, 4}, []float64{3, 3, 3, 3}, []float64{1, 2, 3, 1}, []float64{2, 2, 2, 2}, []float64{3, 3, 3, 3})
	near := branchOf([]float64{1.1, 1.9, 3.2, 1})
	bad := branchOf([]float64{1.2, 2.5, 3.5, 1.1})
	unfinished := branchOf([]float64{0.1, 0.1, math.NaN(), 0.1})
	g.narrow([]*branch{good, near, bad, unfinished}, 4)
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
	g := &grid{CVOptions: CVOptions{Metric: "nmse"}}
	if !(g.score([]float64{0.1, 0.1, 9}) < g.score([]float64{0.2, 0.2, 8})) {
		t.Error("half the error on two of three folds, and an eighth more on a hard one, is not preferred")
	}
	if !math.IsInf(g.score([]float64{0.1, math.NaN()}), 1) {
		t.Error("an unknown error is scored")
	}
	g.Metric = "accuracy"
	if !(g.score([]float64{0.9, 0.7}) < g.score([]float64{0.8, 0.7})) {
		t.Error("the lower accuracy is preferred")
	}
}

func TestMeanAndError(t *testing.T) {
	if mean, se := meanAndError([]float64{1, 2, 6}); math.Abs(mean-3) > 1e-15 || math.Abs(se-math.Sqrt(7.0/3)) > 1e-15 {
		t.Errorf("mean %g, standard error %g", mean, se) // the variance of the sample is 7
	}
}

// With OneSE the largest λ whose mean is within one standard error of the best wins,
// among settings that differ in λ alone.
func TestSteadier(t *testing.T) {
	at := func(lambda, mean float64, norm string) CVPoint {
		return CVPoint{Lambda: lambda, Mean: mean, StdErr: 0.1, Norm: norm}
	}
	points := []CVPoint{at(10, 1.25, "lp:1"), at(1, 1.09, "lp:1"), at(0.1, 1, "lp:1"), at(0.01, 1.05, "lp:1"), at(100, 1, "lp:2")}
	if got := new(grid).steadier(points, 2); got != 1 {
		t.Errorf("chose λ = %g, %s", points[got].Lambda, points[got].Norm)
	}
}

// TestSampleKeepsSides thins out splits of many samples.
func TestSampleKeepsSides(t *testing.T) {
	l := 3 * screenRows
	_, Y := wave(l, 23)
	splits, err := Folds(l, 3, 1, nil, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &study{Y: raw(Y)}
	total := 0
	for _, split := range splits {
		thin := s.sample(5)(split)
		total += len(thin.Test)
		if len(thin.Train)+len(thin.Test) != screenRows {
			t.Errorf("%d samples are left", len(thin.Train)+len(thin.Test))
		}
		for _, i := range thin.Test {
			if _, ok := slices.BinarySearch(split.Test, i); !ok {
				t.Fatalf("sample %d changed sides", i)
			}
		}
	}
	if total != screenRows {
		t.Errorf("%d samples are tested on, want %d", total, screenRows)
	}
}

// TestSubspaces checks that the sets are of columns that exist, of both sizes, and depend on the seed alone.
func TestSubspaces(t *testing.T) {
	if s := subspaces(3, 1); s != nil {
		t.Errorf("three columns have subspaces %v", s)
	}
	specs := subspaces(12, 1)
	if !slices.Equal(specs, subspaces(12, 1)) || slices.Equal(specs, subspaces(12, 2)) {
		t.Error("the sets do not follow the seed")
	}
	X, _ := wave(20, 24)
	Z := mat.NewDense(20, 12, nil)
	for j := range 12 {
		Z.SetCol(j, mat.Col(nil, j%4, X))
	}
	d, _, err := dictionary(t.Context(), raw(Z), raw(Z), &Options{Kernels: specs}, new(kernel.Medians))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int]int{}
	for _, k := range d {
		sizes[len(k.Columns)]++
	}
	if sizes[4] != subsets || sizes[8] != subsets {
		t.Errorf("%v kernels by number of columns", sizes)
	}
}

// An error inside a fold says which: the data as a whole are fine.
func TestFoldNamed(t *testing.T) {
	X, _ := wave(20, 3)
	Y := mat.NewDense(20, 1, nil)
	Y.Set(7, 0, 1)
	_, err := CrossValidate(bg, X, Y, Options{Kernels: []string{"gaussian:all"}, CV: CVOptions{Folds: 4, Lambdas: []float64{1e-2}}})
	if !errors.Is(err, ErrInput) || !regexp.MustCompile(`^fold \d: every target column is constant`).MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
}

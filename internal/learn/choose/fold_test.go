package choose

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

// TestTasks has every arm once on every fold, those that share matrices in one task, and what is learned of columns
// before the fits that need it, sums of kernels first, but of other folds after the first fold, from which it starts.
func TestTasks(t *testing.T) {
	X, Y := learntest.Wave(30, 2)
	d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := d.Data()
	s := &race{Job: Job{Options: Options{Taus: []float64{0}}}, all: all, top: all, data: all, folds: 3}
	one, sum := "gaussian:ard:median", "gaussian+matern12:ard:median"
	for _, k := range [][]string{{one}, {one, linearKernel}, {sum}, {linearKernel}} {
		for _, what := range []learn.Learned{learn.Nothing, learn.Weights, learn.Both} {
			if err := s.add(t.Context(), learn.Setting{Kernels: k, Norm: "lp:1", Learn: what}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	count := map[*arm]int{}
	for _, task := range s.tasks([]int{0, 2}) {
		if task.arms == nil {
			got = append(got, task.spec)
			continue
		}
		for _, a := range task.arms {
			count[a]++
			if !slices.Equal(a.Kernels, task.arms[0].Kernels) && !a.closed || a.closed != task.arms[0].closed {
				t.Errorf("%v and %v share matrices", a.Kernels, task.arms[0].Kernels)
			}
		}
		if task.fold == 0 && len(got) != 2 || task.fold == 2 && len(got) != 4 {
			t.Errorf("a fit without fold %d after learning %v", task.fold, got)
		}
	}
	if want := []string{sum, one, sum, one}; !slices.Equal(got, want) {
		t.Errorf("%v are learned, want %v", got, want)
	}
	for _, a := range s.arms {
		if count[a] != 2 {
			t.Errorf("%v: %d times", a.Kernels, count[a])
		}
	}
	if alone := len(s.groups()); alone != 7 {
		t.Errorf("%d groups of arms", alone)
	}
}

// pathOf is a race of so many samples of three targets, and an arm with this path of λ.
func pathOf(t *testing.T, l, folds int, kernel string, what learn.Learned, lambdas []float64) (*race, *arm) {
	t.Helper()
	X, Y := learntest.Wave(l, 3)
	d, err := samples.NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := d.Data()
	s := &race{Job: Job{Options: Options{Metric: "nmse", Folds: folds, Repeats: 1}}, all: all, top: all, data: all}
	if err := s.take(all, l); err != nil {
		t.Fatal(err)
	}
	a := &arm{
		Setting: learn.Setting{Kernels: []string{kernel}, Norm: "lp:1", Learn: what, Model: learn.Product},
		lambdas: lambdas, to: len(lambdas),
	}
	a.move(1, folds)
	return s, a
}

// TestUncertifiedEnds ends a path before the first λ, but the largest, at which the gap stays above the tolerance,
// unless the user has bounded the iterations.
func TestUncertifiedEnds(t *testing.T) {
	for most, want := range []int{1, 2} {
		s, a := pathOf(t, 40, 2, "gaussian:each:median", learn.Weights, []float64{1e-1, 1e-5})
		s.Method.Tol, s.Method.MaxOuter = 1e-25, most
		if err := s.fold(t.Context(), []*arm{a}, 0); err != nil {
			t.Fatal(err)
		}
		a.end(0, 1)
		if got := a.to - a.from; got != want {
			t.Errorf("at most %d iterations: %d values of λ are compared, want %d", most, got, want)
		}
	}
}

// TestPathEnds ends a path that begins beside the best at the first λ beyond it.
func TestPathEnds(t *testing.T) {
	var lambdas []float64
	for lambda := 1.; lambda > 1e-12; lambda /= 10 {
		lambdas = append(lambdas, lambda)
	}
	s, a := pathOf(t, 60, 3, "gaussian:all:median", learn.Nothing, lambdas)
	a.from = 1
	if err := s.fold(t.Context(), []*arm{a}, 0); err != nil {
		t.Fatal(err)
	}
	best, known := 1, 0
	for i, e := range a.errors {
		if e[0] == nil {
			continue
		}
		of := func(e []float64) float64 { return atMostConstant(&learn.Errors{Relative: e}) }
		if known++; of(e[0]) < of(a.errors[best][0]) {
			best = i
		}
	}
	if known != best+1 || known == len(a.lambdas) {
		t.Errorf("%d values of %d were compared, the best is number %d", known, len(a.lambdas), best+1)
	}
}

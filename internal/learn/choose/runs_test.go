package choose_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/base/par"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

func TestCrossValidateSameForAnyParallelism(t *testing.T) {
	X, Y := learntest.Wave(60, 3)
	var want *iokl.CVResult
	for _, p := range parallelisms {
		var r *iokl.CVResult
		p.run(func() {
			var err error
			if r, err = iokl.CrossValidate(bg, X, Y, iokl.Options{
				Kernels: []string{"gaussian:each"},
				CV:      iokl.CVOptions{Folds: 4},
			}); err != nil {
				t.Fatal(err)
			}
		})
		if want == nil {
			want = r
			continue
		}
		if r.Best != want.Best || len(r.Points) != len(want.Points) {
			t.Fatalf("best %d of %d with one thread, %d of %d with %+v", want.Best, len(want.Points), r.Best,
				len(r.Points), p)
		}
		for i, q := range r.Points {
			if !slices.Equal(q.Folds, want.Points[i].Folds) {
				t.Errorf("%+v, point %d: %v and %v", p, i, q.Folds, want.Points[i].Folds)
			}
		}
	}
}

// TestCancelledCrossValidation looks at what is known when some folds are complete, in the order of the folds.
func TestCancelledCrossValidation(t *testing.T) {
	X, Y := learntest.Wave(50, 3)
	opt := iokl.Options{Kernels: []string{"gaussian:all"}, CV: iokl.CVOptions{Lambdas: []float64{1, 1e-2}, Folds: 5}}
	whole, err := iokl.CrossValidate(bg, X, Y, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	opt.Notify = func(line string) {
		if strings.HasPrefix(line, "cross-validation: ") {
			cancel()
		}
	}
	r, err := iokl.CrossValidate(ctx, X, Y, opt)
	if !errors.Is(err, context.Canceled) || r == nil || r.Folds == 0 || r.Folds >= 5 ||
		len(r.Points) != len(whole.Points) {
		t.Fatalf("result %+v, error %v", r, err)
	}
	for i, p := range r.Points {
		known := slices.DeleteFunc(slices.Clone(whole.Points[i].Folds), func(e float64) bool {
			return !slices.Contains(p.Folds, e)
		})
		if len(p.Folds) != r.Folds || !slices.Equal(p.Folds, known) {
			t.Errorf("point %d: errors %v of %d folds, of all folds %v", i, p.Folds, r.Folds, whole.Points[i].Folds)
		}
	}
	dead, stop := context.WithCancel(bg)
	stop()
	if r, err := iokl.CrossValidate(dead, X, Y, opt); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %+v, %v", r, err)
	}
}

// TestZeroOptionsSameForAnyParallelism compares the whole outcome of zero Options, to the bit.
func TestZeroOptionsSameForAnyParallelism(t *testing.T) {
	X, Y := learntest.Hidden(36, 5)
	Xt, _ := learntest.Hidden(10, 6)
	var want *iokl.Model
	for _, p := range parallelisms {
		var m *iokl.Model
		p.run(func() {
			var err error
			if m, err = iokl.Fit(bg, X, Y, iokl.Options{Seed: 3, CV: iokl.CVOptions{Repeats: 1}}); err != nil {
				t.Fatal(err)
			}
		})
		if want == nil {
			want = m
			continue
		}
		if a, b := m.Certificate(), want.Certificate(); a != b {
			t.Errorf("with %+v %+v, with one thread %+v", p, a, b)
		}
		if !slices.Equal(m.KernelNames(), want.KernelNames()) || !slices.Equal(m.Eta(), want.Eta()) {
			t.Errorf("with %+v the kernels %v weigh %v; with one thread %v, %v", p, m.KernelNames(), m.Eta(),
				want.KernelNames(), want.Eta())
		}
		P, err := m.Predict(Xt)
		if err != nil {
			t.Fatal(err)
		}
		Q, err := want.Predict(Xt)
		if err != nil || !fittest.SameBits(P, Q) {
			t.Errorf("predictions differ with %+v: %v", p, err)
		}
	}
}

// parallelism is how many threads and processors there are; 0 leaves them alone.
type parallelism struct{ threads, procs int }

// parallelisms are some ways to compute that must not change any answer, one thread first.
var parallelisms = []parallelism{{1, 0}, {5, 2}, {0, 1}, {0, 4}}

func (p parallelism) run(f func()) {
	par.SetThreads(p.threads)
	defer par.SetThreads(0)
	if p.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(p.procs))
	}
	f()
}

package iokl

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/internal/learn/learntest"
)

func TestCrossValidateSameForAnyParallelism(t *testing.T) {
	X, Y := learntest.Wave(60, 3)
	var want *CVResult
	for _, p := range parallelisms {
		var r *CVResult
		p.run(func() {
			var err error
			if r, err = CrossValidate(bg, X, Y, Options{
				Kernels: []string{"gaussian:each"},
				CV:      CVOptions{Folds: 4},
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
	opt := Options{Kernels: []string{"gaussian:all"}, CV: CVOptions{Lambdas: []float64{1, 1e-2}, Folds: 5}}
	whole, err := CrossValidate(bg, X, Y, opt)
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
	r, err := CrossValidate(ctx, X, Y, opt)
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
	if r, err := CrossValidate(dead, X, Y, opt); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %+v, %v", r, err)
	}
}

package samples

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// TestThinKeepsSides thins out splits of many samples.
func TestThinKeepsSides(t *testing.T) {
	const some = 1000
	l := 3 * some
	X, Y := learntest.Wave(l, 23)
	r, err := NewRows(blas.Raw(X), blas.Raw(Y), Options{Env: learn.Env{Seed: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Split(learn.Folding{Folds: 3, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, split := range r.splits {
		thin := r.thin(split, some)
		total += len(thin.Test)
		if len(thin.Train)+len(thin.Test) != some {
			t.Errorf("%d samples are left", len(thin.Train)+len(thin.Test))
		}
		for _, i := range thin.Test {
			if _, ok := slices.BinarySearch(split.Test, i); !ok {
				t.Fatalf("sample %d changed sides", i)
			}
		}
	}
	if total != some {
		t.Errorf("%d samples are tested on, want %d", total, some)
	}
}

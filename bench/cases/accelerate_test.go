package cases

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/iokl/iokl/bench"
)

// TestGonum runs the smallest operations and looks at what is left behind.
func TestGonum(t *testing.T) {
	before := blas64.Implementation()
	env := quickEnv()
	env.Count = 1
	results, err := (&bench.Case{Run: runGonum}).Measure(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if blas64.Implementation() != before {
		t.Error("gonum does not have its BLAS back")
	}
	if want := 2 * 2 * len(matOperations); len(results) != want {
		t.Errorf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if (r.Metrics["times_faster"] > 0) != (r.Name == accelerated) || !(r.Seconds > 0) {
			t.Errorf("%s %s: %g s, %v", r.Name, r.Without(), r.Seconds, r.Metrics)
		}
	}
	said := words.Sentences("gonum", results)
	if len(said) != 1 || !strings.Contains(said[0], "order 300: Mul ") ||
		strings.Count(said[0], "×") != len(matOperations) {
		t.Errorf("concludes %q", said)
	}
	if said := words.Sentences("gonum", []bench.Result{{Name: plainGonum}}); said != nil {
		t.Errorf("concludes %q from nothing", said)
	}
}

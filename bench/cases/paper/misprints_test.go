package paper

import (
	"context"
	"math"
	"testing"

	"github.com/iokl/iokl/bench/benchtest"
)

// TestMisprints checks that every corrected formula gives what it should and that
// the printed one is visibly off.
func TestMisprints(t *testing.T) {
	results, err := runMisprints(context.Background(), benchtest.Quick())
	if err != nil || len(results) != len(misprints) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		should := r.Metrics["should_be"]
		if d := math.Abs(r.Metrics["as_corrected"] - should); !(d < 5e-3) {
			t.Errorf("%s: corrected %g, should be %g", r.Name, r.Metrics["as_corrected"], should)
		}
		if d := math.Abs(r.Metrics["as_printed"] - should); !(d > 0.03) {
			t.Errorf("%s: printed %g is as good as right, %g", r.Name, r.Metrics["as_printed"], should)
		}
	}
}

// TestLStepGradient compares the gradient with differences of the objective.
func TestLStepGradient(t *testing.T) {
	s := newLStep(benchtest.Quick().Rand(1))
	L, D := gaussian(benchtest.Quick().Rand(2), 6, 6), positiveDefinite(benchtest.Quick().Rand(3), 6)
	const h = 1e-6
	shifted := func(c float64) float64 {
		M := product(D)
		M.Scale(c, M)
		M.Add(M, L)
		return s.value(M)
	}
	want := (shifted(h) - shifted(-h)) / (2 * h)
	got := inner(product(s.gradient(L, false)), product(D))
	if !(math.Abs(got-want) < 1e-6*math.Abs(want)) {
		t.Errorf("⟨∇g, D⟩ = %g, differences say %g", got, want)
	}
}

package regression

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/bench/benchtest"
	"github.com/iokl/iokl/blas"
)

func TestMacroBeatsTheMean(t *testing.T) {
	results, err := runMacro(context.Background(), benchtest.Quick())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		switch v := r.Metrics["rrmse"]; {
		case r.Name == "training mean" && math.Abs(v-1) > 0.05:
			t.Errorf("the training mean scores %g against itself", v)
		case r.Name != "training mean" && !(v < 1):
			t.Errorf("%s: %g is no better than the training mean", r.Name, v)
		}
	}
}

func TestLagged(t *testing.T) {
	series := blas.General{Rows: 4, Cols: 2, Stride: 2, Data: []float64{0, 10, 1, 11, 2, 12, 3, 13}}
	X, Y := lagged(series, 2)
	if want := []float64{1, 11, 0, 10, 2, 12, 1, 11}; !slices.Equal(X.Data, want) {
		t.Errorf("X = %v, want %v", X.Data, want)
	}
	if want := []float64{2, 12, 3, 13}; !slices.Equal(Y.Data, want) {
		t.Errorf("Y = %v, want %v", Y.Data, want)
	}
}

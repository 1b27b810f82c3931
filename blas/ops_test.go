package blas_test

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
)

// Both work on parts of larger matrices, and leave the rest.
func TestSymmetrizeAndScaleColumns(t *testing.T) {
	whole := blas.General{Rows: 2, Cols: 3, Stride: 3, Data: []float64{1, 2, 9, 6, 5, 9}}
	part := blas.View(whole, 0, 0, 2, 2)
	blas.Symmetrize(part)
	if want := []float64{1, 4, 9, 4, 5, 9}; !slices.Equal(whole.Data, want) {
		t.Errorf("symmetrized: %v, want %v", whole.Data, want)
	}
	blas.ScaleColumns(part, []float64{2, -1})
	if want := []float64{2, -4, 9, 8, -5, 9}; !slices.Equal(whole.Data, want) {
		t.Errorf("columns times 2 and -1: %v, want %v", whole.Data, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("three factors for two columns: no panic")
		}
	}()
	blas.ScaleColumns(part, []float64{1, 2, 3})
}

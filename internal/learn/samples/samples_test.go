package samples

import (
	"math"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/dictionary"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/kernel"
)

// TestSampleIsItsRows compares a fit to some samples with one to data of just these.
func TestSampleIsItsRows(t *testing.T) {
	X, Y := learntest.Wave(40, 3)
	idx := []int{3, 4, 9, 12, 17, 21, 22, 28, 33, 39}
	rows, err := NewRows(blas.Raw(X), blas.Raw(Y), Options{})
	if err != nil {
		t.Fatal(err)
	}
	gram, err := (&kernel.Kernel{Kind: kernel.Gaussian, Inputs: rows.x.Cols, Width: 1}).Gram(rows.x, blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	K := blas.NewGeneral(40, 40)
	gram.Dense(K)
	grams, err := NewGrams(t.Context(), []blas.General{K}, blas.Raw(Y), Options{})
	if err != nil {
		t.Fatal(err)
	}
	some, x := blas.NewGeneral(10, 10), blas.NewGeneral(10, rows.x.Cols)
	y := blas.NewGeneral(10, rows.y.Cols)
	for a, i := range idx {
		copy(blas.Row(x, a), blas.Row(rows.x, i))
		copy(blas.Row(y, a), blas.Row(rows.y, i))
		for b, j := range idx {
			some.Data[a*10+b] = K.Data[i*40+j]
		}
	}
	objective := func(d learn.Data, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		end, err := learn.Fit(t.Context(), d, learn.Setting{Kernels: []string{"gaussian:all:1"}, Lambda: .01}, learn.Method{Tol: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		return end.Result.Objective
	}
	direct, err := NewRows(x, y, Options{})
	if got, want := objective(rows.Sample(idx)), objective(direct, err); got != want {
		t.Errorf("rows: %g, want %g", got, want)
	}
	given, err := NewGrams(t.Context(), []blas.General{some}, y, Options{})
	if got, want := objective(grams.Sample(idx)), objective(given, err); got != want {
		t.Errorf("Gram matrices: %g, want %g", got, want)
	}
}

// TestLengths says that the lengths of a training set are learned once, on its own samples, from where others ended.
func TestLengths(t *testing.T) {
	X, Y := learntest.Hidden(60, 4)
	data := func(start dictionary.Lengths) *Rows {
		rows, err := NewRows(blas.Raw(X), blas.Raw(Y), Options{Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true}, Lengths: start})
		if err == nil {
			_, err = rows.Split(learn.Folding{Folds: 3})
		}
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	train := func(rows *Rows, fold int, specs ...string) {
		t.Helper()
		if _, err := rows.Train(t.Context(), specs, fold); err != nil {
			t.Fatal(err)
		}
	}
	rows := data(nil)
	if all := rows.Lengths(learn.All); len(all) > 0 {
		t.Errorf("lengths %v of no kernel", all)
	}
	train(rows, learn.All, "gaussian:ard")
	train(rows, 0, "gaussian:ard")
	all, first := rows.Lengths(learn.All)["gaussian"], rows.Lengths(0)["gaussian"]
	if len(all.Scale) != 9 || len(first.Scale) != 9 || slices.Equal(all.Scale, first.Scale) || rows.Lengths(1) != nil {
		t.Errorf("inverse lengths %v of all samples, %v without a fold", all.Scale, first.Scale)
	}
	train(rows, 0, "laplacian:ard", "gaussian:ard:median*0.5")
	if again := rows.Lengths(0); len(again) != 2 || &again["gaussian"].Scale[0] != &first.Scale[0] {
		t.Error("lengths of a training set were learned twice")
	}
	warm := data(rows.Lengths(learn.All))
	train(warm, learn.All, "gaussian:ard")
	again := warm.Lengths(learn.All)["gaussian"]
	for c, s := range all.Scale[:8] {
		if s == again.Scale[c] || !(math.Abs(again.Scale[c]-s) <= 0.3*slices.Max(all.Scale)) {
			t.Errorf("inverse length %d is %g, and %g from there", c, s, again.Scale[c])
		}
	}
	if _, err := rows.Split(learn.Folding{Folds: 4}); err != nil || rows.Lengths(0) != nil || rows.Lengths(learn.All) == nil {
		t.Errorf("other folds have the lengths of the last: %v", err)
	}
}

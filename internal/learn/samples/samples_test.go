package samples

import (
	"math"
	"reflect"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/kernel"
)

// TestSampleIsItsRows compares a fit to some samples with one to data of just these.
func TestSampleIsItsRows(t *testing.T) {
	X, Y := learntest.Wave(40, 3)
	idx := []int{3, 4, 9, 12, 17, 21, 22, 28, 33, 39}
	rows, err := NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	gram, err := (&kernel.Kernel{Kind: kernel.Gaussian, Inputs: rows.x.Cols, Width: 1}).Gram(rows.x, blas.Float64)
	if err != nil {
		t.Fatal(err)
	}
	K := blas.NewGeneral(40, 40)
	gram.Dense(K)
	grams, err := NewGrams(t.Context(), []blas.General{K}, blas.Raw(Y), blas.General{}, Options{})
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
		end, err := learn.Fit(t.Context(), d, learn.Setting{Kernels: []string{"gaussian:all:1"}, Lambda: .01},
			learn.Method{Tol: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		return end.Result.Objective
	}
	direct, err := NewRows(x, y, blas.General{}, Options{})
	if got, want := objective(rows.Sample(idx)), objective(direct.Data(), err); got != want {
		t.Errorf("rows: %g, want %g", got, want)
	}
	given, err := NewGrams(t.Context(), []blas.General{some}, y, blas.General{}, Options{})
	if got, want := objective(grams.Sample(idx)), objective(given.Data(), err); got != want {
		t.Errorf("Gram matrices: %g, want %g", got, want)
	}
}

// inThreeFolds is l rows that are dealt to three folds.
func inThreeFolds(t *testing.T, l int) *Rows {
	t.Helper()
	X, Y := learntest.Wave(l, 3)
	rows, err := NewRows(blas.Raw(X), blas.Raw(Y), blas.General{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Split(learn.Folding{Folds: 3, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestPartTakesKnownLengths takes the lengths that the rows of a fold have taught, and learns from others anew.
func TestPartTakesKnownLengths(t *testing.T) {
	rows := inThreeFolds(t, 120)
	specs := []string{"gaussian+linear:ard:median"}
	if _, err := rows.Train(t.Context(), specs, learn.Nothing, 0); err != nil {
		t.Fatal(err)
	}
	want := rows.parts[0].Lengths()
	rows.Follow(rows)
	split, err := rows.split(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, idx := range map[string][]int{"the same": split.Train, "other": split.Train[1:]} {
		part, err := rows.Part(idx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Train(t.Context(), specs, learn.Nothing, learn.All); err != nil {
			t.Fatal(err)
		}
		got := part.Table.(*Rows).all.Lengths()
		if same := reflect.DeepEqual(got, want); same != (name == "the same") {
			t.Errorf("%s rows: lengths %v, those of the fold %v", name, got, want)
		}
	}
}

// TestFoldsStartFromFirst learns lengths without the first fold before those without another, which differ.
func TestFoldsStartFromFirst(t *testing.T) {
	rows := inThreeFolds(t, 90)
	if err := rows.Teach(t.Context(), "gaussian+linear:ard:median", 2); err != nil {
		t.Fatal(err)
	}
	first, third := rows.parts[0].Lengths(), rows.parts[2].Lengths()
	if len(first) != 1 || len(third) != 1 || rows.parts[1] != nil || reflect.DeepEqual(first, third) {
		t.Errorf("lengths %v of the first fold, %v of the third", first, third)
	}
}

// TestFitTakesMeanOfFolds says that lengths of all samples are the mean of those of the folds, without a search.
func TestFitTakesMeanOfFolds(t *testing.T) {
	rows := inThreeFolds(t, 120)
	const spec, name = "gaussian+linear:ard:median", "ard:gaussian+linear"
	noise := 0.
	for fold := range 3 {
		if err := rows.Teach(t.Context(), spec, fold); err != nil {
			t.Fatal(err)
		}
		noise += math.Log(rows.parts[fold].Lengths()[name].Noise) / 3
	}
	rows.Follow(rows)
	if _, err := rows.Train(t.Context(), []string{spec}, learn.Nothing, learn.All); err != nil {
		t.Fatal(err)
	}
	if got := math.Log(rows.all.Lengths()[name].Noise); !(math.Abs(got-noise) < 1e-4) {
		t.Errorf("the logarithm of the noise is %g, the mean of those of the folds %g", got, noise)
	}
}

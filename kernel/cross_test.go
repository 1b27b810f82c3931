package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/par"
)

// TestCrossingMul compares products by parts of K_η with those by all of it, for more
// points than a slab has on either side, and for any number of threads.
func TestCrossingMul(t *testing.T) {
	t.Cleanup(func() { par.SetThreads(0) })
	rng := rand.New(rand.NewPCG(14, 2))
	X, Xnew := positiveX(rng, 2*slabCols+37, 6), positiveX(rng, 2*slabRows+5, 6)
	plain := slices.DeleteFunc(slices.Clone(everyKernel), func(s string) bool { return strings.Contains(s, "center") })
	for name, c := range map[string]struct {
		specs   []string
		sparse  bool
		outputs int
	}{
		"every kernel": {everyKernel, false, 3}, "not centred": {plain, false, 3},
		"some of them": {everyKernel, true, 3}, "one": {[]string{"gaussian"}, false, 3},
		"of weight 0":  {[]string{"gaussian"}, true, 3},
		"many outputs": {plain, false, dotCols + 1},
	} {
		t.Run(name, func(t *testing.T) {
			B := blas.NewGeneral(X.Rows, c.outputs)
			for i := range B.Data {
				B.Data[i] = rng.NormFloat64()
			}
			d, err := Build(c.specs, X, testGroups, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Grams(t.Context(), X, GramOptions{}); err != nil { // for the means
				t.Fatal(err)
			}
			eta := weights(len(d), c.sparse)
			if name == "of weight 0" {
				eta[0] = 0
			}
			cross, err := d.Crossing(eta, X, nil)
			if err != nil {
				t.Fatal(err)
			}
			K := blas.NewGeneral(Xnew.Rows, X.Rows)
			if err := d.CrossSum(K, eta, Xnew, X); err != nil {
				t.Fatal(err)
			}
			want, size := blas.NewGeneral(Xnew.Rows, c.outputs), blas.NewGeneral(Xnew.Rows, c.outputs)
			blas.Mul(blas.Active(), want, false, false, K, B)
			abs := func(a blas.General) blas.General {
				a = blas.Clone(a)
				for i, v := range a.Data {
					a.Data[i] = math.Abs(v)
				}
				return a
			}
			blas.Mul(blas.Active(), size, false, false, abs(K), abs(B))
			var first []float64
			for _, threads := range []int{1, 2, 7} {
				par.SetThreads(threads)
				got := blas.NewGeneral(Xnew.Rows, c.outputs)
				for i := range got.Data {
					got.Data[i] = math.NaN() // not to be read
				}
				if err := cross.Mul(got, Xnew, B); err != nil {
					t.Fatal(err)
				}
				for i, v := range got.Data {
					if !(math.Abs(v-want.Data[i]) <= 1e-13*size.Data[i]) {
						t.Fatalf("element %d is %g, want %g", i, v, want.Data[i])
					}
				}
				if first == nil {
					first = got.Data
				} else if !slices.Equal(first, got.Data) {
					t.Errorf("Mul depends on the number of threads")
				}
			}
			row := blas.NewGeneral(1, c.outputs)
			if err := cross.Mul(row, blas.View(Xnew, 7, 0, 1, Xnew.Cols), B); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(row.Data, first[7*c.outputs:8*c.outputs]) {
				t.Errorf("row 7 alone is %g, among others %g", row.Data, first[7*c.outputs:8*c.outputs])
			}
		})
	}
}

// A bad cell is named by its row among all, not among those of its slab.
func TestCrossingNamesRows(t *testing.T) {
	X := positiveX(rand.New(rand.NewPCG(15, 2)), 2*slabRows+20, 6)
	d, err := Build([]string{"gaussian", "chi2"}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	bad := blas.Clone(X)
	row := 2*slabRows + 3
	blas.Row(bad, row)[2] = -1
	c, err := d.Crossing([]float64{1, 1}, X, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Mul(blas.NewGeneral(bad.Rows, 1), bad, blas.NewGeneral(X.Rows, 1)); !errors.Is(err, ErrNegative) ||
		!strings.Contains(err.Error(), "row 259, column 2") {
		t.Errorf("error %v, want the name of row %d", err, row)
	}
	if _, err := d.Crossing([]float64{1, 1}, bad, nil); !errors.Is(err, ErrNegative) ||
		!strings.Contains(err.Error(), "training data") {
		t.Errorf("bad training data: %v", err)
	}
}

// TestCrossingAmong compares the kernels among some points with those of a Crossing of these, and does so again after
// others have used the scratch.
func TestCrossingAmong(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 2))
	X := positiveX(rng, 300, 6)
	plain := slices.DeleteFunc(slices.Clone(everyKernel), func(s string) bool { return strings.Contains(s, "center") })
	d, err := Build(plain, X, testGroups, 1)
	if err != nil {
		t.Fatal(err)
	}
	eta := slices.Repeat([]float64{.5}, len(d))
	c, err := d.Crossing(eta, X, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 64, slabRows, 7} {
		Z := blas.TakeRows(X, rng.Perm(X.Rows)[:size])
		got, want := blas.NewGeneral(size, size), blas.NewGeneral(size, size)
		if err := c.Among(got, Z); err != nil {
			t.Fatal(err)
		}
		if err := d.CrossSum(want, eta, Z, Z); err != nil {
			t.Fatal(err)
		}
		for i, v := range got.Data {
			if !(math.Abs(v-want.Data[i]) <= 1e-9*(1+math.Abs(want.Data[i]))) {
				t.Fatalf("%d points: value %d is %g, want %g", size, i, v, want.Data[i])
			}
		}
	}
	Z := blas.Clone(blas.View(X, 0, 0, 3, X.Cols))
	Z.Data[1] = math.NaN()
	if err := c.Among(blas.NewGeneral(3, 3), Z); !errors.Is(err, ErrNotFinite) {
		t.Errorf("a point that is not a number: %v", err)
	}
}

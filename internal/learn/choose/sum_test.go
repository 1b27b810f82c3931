package choose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/samples"
)

// Where targets go together in different ways for different inputs, the sum is chosen, but tried only where it is
// asked for.
func TestTriesSum(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	const l = 70
	X, Y := blas.NewGeneral(l, 2), blas.NewGeneral(l, 4)
	for i := range l {
		a, b := 2*rng.NormFloat64(), rng.NormFloat64()
		copy(blas.Row(X, i), []float64{a, b})
		copy(blas.Row(Y, i), []float64{math.Sin(3 * a), 0.7 * math.Sin(3*a), b, -0.8 * b})
	}
	for i := range Y.Data {
		Y.Data[i] += 0.3 * rng.NormFloat64()
	}
	sums := func(n int, job Job) (count, best int) {
		d, err := samples.NewRows(X, blas.Clone(blas.View(Y, 0, 0, l, n)), blas.General{}, samples.Options{})
		if err != nil {
			t.Fatal(err)
		}
		job.Folds = 3
		r, err := Run(t.Context(), d.Data(), job)
		if err != nil {
			t.Fatal(err)
		}
		for k, p := range r.Points {
			if p.Model == "sum" {
				count++
				if k == r.Best {
					best++
				}
			} else if p.Model != "product" {
				t.Errorf("a point of model %q", p.Model)
			}
		}
		return count, best
	}
	if count, _ := sums(4, Job{}); count != 0 {
		t.Errorf("%d points of sums for open settings", count)
	}
	if count, _ := sums(1, Job{}); count != 0 {
		t.Errorf("%d points of sums for one target", count)
	}
	if count, _ := sums(4, Job{Setting: learn.Setting{Model: "product"}}); count != 0 {
		t.Errorf("%d points of sums where the product is asked for", count)
	}
	both := Job{Options: Options{Models: []learn.Model{learn.Product, learn.Sum}}}
	if count, _ := sums(4, both); count < 2 {
		t.Errorf("%d points of sums for open kernels", count)
	}
	given := Job{Setting: learn.Setting{Model: "sum"}, Method: learn.Method{Solver: "reduced"}}
	if count, best := sums(2, given); count == 0 || best != 1 {
		t.Errorf("%d points of sums, %d the best, by a given solver", count, best)
	}
	kernels := []string{"gaussian:0:median*0.25", "linear:1"}
	lambdas := []float64{1e-2, 3e-3}
	if count, best := sums(4, Job{
		Setting: learn.Setting{Kernels: kernels, Norm: "lp:1"},
		Options: Options{
			Models:  []learn.Model{learn.Product, learn.Sum},
			Lambdas: slices.Clone(lambdas),
		},
	}); count != 2 || best != 1 {
		t.Errorf("%d points of sums, %d the best, where both are compared", count, best)
	}
}

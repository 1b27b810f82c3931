package sylvester

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
)

// sampledKernel is the matrix of a kernel on l samples of d normal inputs, in clusters of the given size.
func sampledKernel(t *testing.T, formula string, l, d, cluster int) *linop.GramSum {
	t.Helper()
	rng := rand.New(rand.NewPCG(51, uint64(l+d)))
	X := blas.NewGeneral(l, d)
	for i := range l {
		for j := range d {
			if x := 0.05 * rng.NormFloat64(); i%cluster == 0 {
				X.Data[i*d+j] = rng.NormFloat64()
			} else {
				X.Data[i*d+j] = X.Data[(i-i%cluster)*d+j] + x
			}
		}
	}
	kernels, err := kernel.Build([]string{formula}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := kernels.Grams(t.Context(), X, kernel.GramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	K := linop.NewGramSum(terms, nil, blas.Float64)
	K.SetWeights([]float64{1})
	return K
}

// TestPredictedIterations compares the iterations that a model predicts from a sample of K, and from a sketch, with
// those that are taken: for smooth and rough kernels, for matrices of low rank, close to the identity, and of clusters.
func TestPredictedIterations(t *testing.T) {
	const l = 400
	for _, c := range []struct {
		name, formula string
		d, cluster    int
	}{
		{"smooth", "gaussian:all:2", 5, 1},
		{"rough", "matern12:all:1.5", 4, 1},
		{"close to the identity", "gaussian:all:0.5", 20, 1},
		{"rank 6", "linear", 6, 1},
		{"clusters", "gaussian:all:0.7", 8, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			K := sampledKernel(t, c.formula, l, c.d, c.cluster)
			rng := rand.New(rand.NewPCG(52, 53))
			Y := blas.NewGeneral(l, 2)
			for i := range Y.Data {
				Y.Data[i] = rng.NormFloat64()
			}
			for _, lambda := range []float64{1e-1, 1e-3, 1e-5} {
				sys, opt := System{K, linop.ScaledIdentity(2, 1), lambda * l}, Options{Tol: 1e-6}
				plain := iterations(t, &rotated{}, sys, Y, opt)
				it := newNystrom(Config{Backend: blas.Default(), Seed: 1})
				f := &frame{own: blas.Default()}
				if err := f.begin(blas.NewGeneral(l, 2), sys, Y, opt); err != nil {
					t.Fatal(err)
				}
				if err := it.view(f, false); err != nil {
					t.Fatal(err)
				}
				near(t, "plain", lambda, predicted(&it.model, &it.load, 0), plain)
				behind := iterations(t, it, sys, Y, opt)
				near(t, "behind a sketch", lambda, predicted(&it.model, &it.load, it.sk.low.rank()), behind)
			}
		})
	}
}

// near asserts that a number of iterations is within a factor of four, or three, of that predicted.
func near(t *testing.T, what string, lambda, predicted float64, taken int) {
	t.Helper()
	if n := float64(taken); math.Abs(predicted-n) > 3 && !(predicted < 4*n && n < 4*predicted) {
		t.Errorf("%s, λ = %g: %d iterations, %g predicted", what, lambda, taken, predicted)
	}
}

// iterations is the number of those that a method takes after it has prepared.
func iterations(t *testing.T, m engine, sys System, Y blas.General, opt Options) int {
	t.Helper()
	first, last := -1, 0
	opt.Trace = func(s Step) error {
		if last = s.Iter; first < 0 {
			first = s.Iter
		}
		return nil
	}
	s := &solver{frame: frame{own: blas.Default()}, engine: m}
	if _, err := s.Solve(context.Background(), blas.Like(Y), sys, Y, opt); err != nil {
		t.Fatal(err)
	}
	return last - first
}

// TestWatch asserts that iterations end when they have cost as much as the other method and would cost more, not
// before, and not when they are about to end.
func TestWatch(t *testing.T) {
	const l, iteration = 100, 10.
	f := &frame{Y: blas.NewGeneral(l, 1), opt: Options{Tol: 1e-6}}
	for _, c := range []struct {
		name  string
		decay float64 // of the residual in an iteration
		less  float64 // iterations that cost as much as the other method
		ends  int     // the iteration that ends, 0 for none
	}{
		{"slow", 0.99, 20, 20},
		{"nearly done", 0.9, 100, 0},
		{"fast", 0.5, 40, 0},
	} {
		s := newAuto(Config{Backend: blas.Default()}).(*auto)
		each := &iterationCost{pass: [3]float64{iteration, 0, 0}}
		watch := s.watch(f, each, c.less*iteration)
		ended, residual := 0, 1.0
		for i := 0; residual > f.opt.Tol && ended == 0; i++ {
			if watch(Step{Iter: i, Residual: residual, Columns: i}) != nil {
				ended = i
			}
			residual *= c.decay
		}
		if ended != c.ends {
			t.Errorf("%s: ended at iteration %d, want %d", c.name, ended, c.ends)
		}
	}
}

package choose

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/learn"
	"github.com/iokl/iokl/internal/learn/columns"
	"github.com/iokl/iokl/internal/learn/defaults"
	"github.com/iokl/iokl/internal/learn/fault"
	"github.com/iokl/iokl/internal/learn/learntest"
	"github.com/iokl/iokl/internal/learn/samples"
)

// TestParts compares on growing parts of many samples, each of which holds the one before, with
// the groups of its samples.
func TestParts(t *testing.T) {
	const l = 2*defaults.RaceFrom + 100
	x, y := blas.NewGeneral(l, 1), blas.NewGeneral(l, 1)
	groups := make([]int, l)
	for i := range l {
		x.Data[i], y.Data[i], groups[i] = float64(i), float64(i), i%7
	}
	d, err := samples.NewRows(x, y, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	spy := &sampled{Sampler: d}
	s := &selection{Job: Job{Options: Options{Metric: "mse", Folds: 3, Groups: groups}}}
	sizes := s.sizes(spy)
	if want := []int{l / 2, l}; !slices.Equal(sizes, want) {
		t.Fatalf("sizes %v, want %v", sizes, want)
	}
	for _, size := range sizes {
		if err := s.take(spy, size); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.data.Size(); got != size || len(s.constant) != 3 {
			t.Errorf("%d samples and %d folds, want %d and 3", got, len(s.constant), size)
		}
	}
	if err := s.take(spy, l-1); err != nil {
		t.Fatal(err)
	}
	small, large := spy.rows[0], spy.rows[1]
	for _, i := range small {
		if _, found := slices.BinarySearch(large, i); !found {
			t.Fatalf("sample %d is not in the larger part", i)
		}
	}
}

// sampled keeps which samples were asked for.
type sampled struct {
	learn.Sampler
	rows [][]int
}

func (s *sampled) Sample(rows []int) (learn.Data, error) {
	s.rows = append(s.rows, rows)
	return s.Sampler.Sample(rows)
}

// TestServed uses a setting for the targets that it predicts better than the constant beyond noise.
func TestServed(t *testing.T) {
	s := metric("nmse")
	s.folds = 4
	s.constant = [][]float64{{1, 1, 1, math.NaN()}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}
	//                        better everywhere, better by chance, worse, better where it counts
	each := [][]float64{{.5, .4, 2, math.NaN()}, {.6, 1.3, 2, .5}, {.5, .9, 2, .5}, {.4, 1.2, 2, .5}}
	errors, worth := s.served(each, []int{0, 1, 2, 3})
	if want := []bool{true, false, false, true}; !slices.Equal(worth, want) {
		t.Errorf("worth %v, want %v", worth, want)
	}
	for f, want := range []float64{2.5 / 3, 3.1 / 4, 3.0 / 4, 2.9 / 4} {
		if math.Abs(errors[f]-want) > 1e-15 {
			t.Errorf("fold %d: error %g, want %g", f, errors[f], want)
		}
	}
	each[2] = nil
	if errors, _ := s.served(each, []int{0, 1, 2, 3}); errors != nil {
		t.Errorf("errors %v of a fold that has none", errors)
	}
	s = metric("accuracy")
	s.folds, s.constant = 2, [][]float64{{.6}, {.5}}
	if _, worth := s.served([][]float64{{.9}, {.8}}, []int{0, 1}); !worth[0] {
		t.Error("a higher accuracy is not better")
	}
}

// A fold that hides the only cell of a target tells nothing, and the others decide.
func TestTellingFolds(t *testing.T) {
	X, Y := learntest.Wave(9, 1)
	y := blas.Raw(Y)
	wide := blas.NewGeneral(9, 2)
	for i := range 9 {
		wide.Data[2*i], wide.Data[2*i+1] = y.Data[i], math.NaN()
	}
	wide.Data[0], wide.Data[1] = math.NaN(), 1
	d, err := samples.NewRows(blas.Raw(X), wide, samples.Options{Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), d, Job{Options: Options{Folds: 9}})
	if err != nil || r.Folds != 8 || len(r.Points[r.Best].Folds) != 8 || !(r.Points[r.Best].Mean > 0) {
		t.Errorf("%v", err)
	}
	s := against(t, math.NaN(), math.NaN())
	if _, err := s.summarize(nil, upTo(2)); !errors.Is(err, fault.ErrInput) {
		t.Errorf("no fold tells: %v", err)
	}
}

// learned is the choice among two dictionaries for Y.
func learned(t *testing.T, ctx context.Context, X, Y blas.General, budget time.Duration) (*Result, error) {
	t.Helper()
	d, err := samples.NewRows(X, Y, samples.Options{Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true}})
	if err != nil {
		t.Fatal(err)
	}
	return Run(ctx, d, Job{Options: Options{Folds: 5}, Budget: budget})
}

// TestNothing tells targets of noise from one that the inputs predict.
func TestNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	X, Y := learntest.Wave(100, 5)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 100 {
		Y.Set(i, 1, rng.NormFloat64())
		Y.Set(i, 2, math.Exp(2*rng.NormFloat64()))
	}
	r, err := learned(t, t.Context(), blas.Raw(X), blas.Raw(Y), 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2}; !slices.Equal(r.Means, want) {
		t.Errorf("targets %v are left to the mean, want %v", r.Means, want)
	}
}

// TestBudget ends a choice early, with something to fit, and tells it from a cancelled one.
func TestBudget(t *testing.T) {
	X, Y := learntest.Wave(200, 5)
	for _, budget := range []time.Duration{1, 50 * time.Millisecond} {
		r, err := learned(t, t.Context(), blas.Raw(X), blas.Raw(Y), budget)
		if err != nil || len(r.Points) == 0 || !(r.Points[r.Best].Lambda > 0) || r.Points[r.Best].Kernels == nil {
			t.Errorf("budget %v: %+v, %v", budget, r, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := learned(t, ctx, blas.Raw(X), blas.Raw(Y), time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// batches is rows that were measured twenty at a time: two inputs and the target have an offset in each batch.
func batches(l int, seed uint64) (X, Y blas.General) {
	rng := rand.New(rand.NewPCG(seed, 4))
	X, Y = blas.NewGeneral(l, 4), blas.NewGeneral(l, 1)
	var offset [3]float64
	for i := range l {
		for k := range offset {
			if i%20 == 0 {
				offset[k] = rng.NormFloat64()
			}
		}
		row := blas.Row(X, i)
		row[0], row[1] = offset[0]+0.05*rng.NormFloat64(), offset[1]+0.05*rng.NormFloat64()
		row[2], row[3] = 0.3*rng.NormFloat64(), 0.3*rng.NormFloat64()
		Y.Data[i] = offset[2] + row[2] + 0.1*rng.NormFloat64()
	}
	return X, Y
}

// TestAdjacent deals rows to folds in blocks where they are like their neighbours, and not where the same rows are shuffled.
func TestAdjacent(t *testing.T) {
	const l = 480
	for seed := range uint64(3) {
		X, Y := batches(l, seed)
		order := rand.New(rand.NewPCG(seed, 9)).Perm(l)
		for name, rows := range map[string][]int{"by batch": nil, "shuffled": order} {
			x, y := X, Y
			if rows != nil {
				x, y = columns.Rows(X, rows), columns.Rows(Y, rows)
			}
			d, err := samples.NewRows(x, y, samples.Options{Columns: columns.Options{ScaleInputs: true, ScaleOutputs: true}})
			if err != nil {
				t.Fatal(err)
			}
			s := &selection{}
			times, sure, err := s.adjacent(t.Context(), d)
			if yes := sure && times > defaults.Notable; err != nil || yes != (rows == nil) {
				t.Errorf("seed %d, rows %s: alike %t, %.3g times the error, %v", seed, name, sure, times, err)
			}
		}
	}
}

package kernel_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
	"github.com/iokl/iokl/linop"
	"github.com/iokl/iokl/linop/linoptest"
)

var _ linop.Separate = (*kernel.Sum)(nil)

// TestSum checks the sum whose kernels are computed anew against the matrices one by one, centred ones among them.
func TestSum(t *testing.T) {
	for _, l := range []int{1, 63, 65, 300} {
		rng := rand.New(rand.NewPCG(11, uint64(l)))
		X := blas.NewGeneral(l, 3)
		for i := range X.Data {
			X.Data[i] = rng.NormFloat64()
		}
		d, err := kernel.Build([]string{
			"gaussian:all:1,2", "laplacian:0-1:1.5", "poly:2:all:1", "matern32:each:1", "linear:all",
		}, X, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		d[1].Center, d[3].Center = true, true
		grams, err := d.Grams(t.Context(), X, kernel.GramOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]blas.General, len(d))
		for j, g := range grams {
			want[j] = blas.NewGeneral(l, l)
			g.Dense(want[j])
		}
		for prec, unit := range map[blas.Precision]float64{blas.Float64: 64 * 0x1p-53, blas.Float32: 0x1p-24} {
			s, err := d.Sum(t.Context(), X, kernel.GramOptions{Precision: prec})
			if err != nil {
				t.Fatal(err)
			}
			linoptest.RunSum(t, s, want, linoptest.Options{Unit: unit, Allocates: true})
		}
	}
}

// TestSumEnds ends the evaluation of kernels with a context, after which another context gives all of it.
func TestSumEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	X := blas.NewGeneral(400, 3)
	for i := range X.Data {
		X.Data[i] = rng.NormFloat64()
	}
	d, err := kernel.Build([]string{"gaussian:each:1", "laplacian:all:1.5"}, X, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sum(t.Context(), X, kernel.GramOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.SetWeights([]float64{1, 2, 3, 4})
	idx, Y, Z := []int{0, 3}, blas.NewGeneral(400, 3), blas.NewGeneral(400, 3)
	want := make([]float64, 2)
	s.Apply(Y, X)
	s.Forms(want, X, Y, idx)
	for _, at := range []int64{1, 2, 5} {
		ended := &looked{Context: t.Context(), left: at}
		s.Until(ended)
		s.SetWeights([]float64{float64(at), 2, 3, 4.5})
		s.Apply(Z, X)
		s.Forms(make([]float64, 2), X, Y, idx)
		if ended.done > at-1 {
			t.Errorf("ended at look %d: %d tiles were evaluated", at, ended.done)
		}
		s.Until(t.Context())
		s.SetWeights([]float64{1, 2, 3, 4})
		s.Apply(Z, X)
		got := make([]float64, 2)
		s.Forms(got, X, Y, idx)
		if !slices.Equal(got, want) || !slices.Equal(Z.Data, Y.Data) {
			t.Errorf("after the end at look %d: forms %v, want %v", at, got, want)
		}
	}
}

// looked is a context that ends at the look that leaves none, and counts those before.
type looked struct {
	context.Context
	mu         sync.Mutex
	left, done int64
}

func (c *looked) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left <= 0 {
		return context.Canceled
	}
	c.done++
	return nil
}

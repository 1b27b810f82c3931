package stream

import (
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
)

func TestGram(t *testing.T) {
	X, Y, maps := data(t, 300)
	open := func() (Source, error) { return &chopped{x: X, y: Y, sizes: []int{111}, end: io.EOF}, nil }
	g := NewGram(maps, open, Options{BlockRows: 50}, nil)
	s := direct(t, maps, X, Y, func(int) bool { return true })
	blas.MirrorLower(s.Gamma)
	x, got, want := blas.NewGeneral(g.Dim(), 4), blas.NewGeneral(g.Dim(), 4), blas.NewGeneral(g.Dim(), 4)
	for i := range x.Data {
		x.Data[i], got.Data[i] = math.Cos(float64(i)), math.NaN()
	}
	g.Apply(got, x)
	blas.Mul(blas.Active(), want, false, false, s.Gamma, x)
	blas.AddScaled(got, -1, want)
	if e := blas.Frob(got); !(e <= 1e-13*blas.Frob(want)) || g.Err() != nil {
		t.Errorf("off by %g, %v", e, g.Err())
	}
	gone := errors.New("gone")
	g = NewGram(maps, func() (Source, error) { return nil, gone }, Options{}, nil)
	g.Apply(got, x)
	if !errors.Is(g.Err(), gone) || !math.IsNaN(got.Data[0]) {
		t.Errorf("a source that is gone: %v", g.Err())
	}
}

// Without Γ the other sums are the same, in less memory.
func TestNoGamma(t *testing.T) {
	X, Y, maps := data(t, 150)
	a := New(maps, 3, 2, Options{BlockRows: 40, NoGamma: true})
	if err := a.Run(context.Background(), FromMatrices("memory", X, Y)); err != nil {
		t.Fatal(err)
	}
	sums, err := a.Sums()
	if err != nil {
		t.Fatal(err)
	}
	want := direct(t, maps, X, Y, func(int) bool { return true })
	want.Gamma = blas.General{}
	if err := same(sums[0], want, 1e-13); err != nil || sums[0].Gamma.Rows != 0 {
		t.Error(err)
	}
	if total := Total(sums, nil); same(total, want, 1e-13) != nil {
		t.Error("the total differs")
	}
}

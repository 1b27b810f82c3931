package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/iokl/iokl/blas"
)

// weighted hands out rows with weights, in blocks of a changing size.
type weighted struct {
	Source
	weights []float64
}

func (s *weighted) Next() (Block, error) {
	b, err := s.Source.Next()
	b.Weights = s.weights[b.Row : b.Row+int64(b.X.Rows)]
	return b, err
}

// repeats is data with weights 0, 1, 2 and 3 in turn, and the same with as many copies of each row in their place.
func repeats(t *testing.T) (X, Y blas.General, weights []float64, XX, YY blas.General, maps Features) {
	X, Y, maps = data(t, 301)
	var rows []int
	for i := range X.Rows {
		w := i * 7 % 4
		if w == 0 {
			Y.Data[i*Y.Stride] = 1e300 // no number of the row is to be seen
		}
		weights = append(weights, float64(w))
		for range w {
			rows = append(rows, i)
		}
	}
	return X, Y, weights, blas.TakeRows(X, rows), blas.TakeRows(Y, rows), maps
}

func sumsOf(t *testing.T, a *Accumulator, src Source) Sums {
	t.Helper()
	if err := a.Run(context.Background(), src); err != nil {
		t.Fatal(err)
	}
	sums, err := a.Sums()
	if err != nil {
		t.Fatal(err)
	}
	return Total(sums, nil)
}

// Weights are repeats of rows: in sums, over folds and ranks, after a checkpoint, in products and in the survey.
func TestWeights(t *testing.T) {
	X, Y, weights, XX, YY, maps := repeats(t)
	opt := Options{BlockRows: 32, Folds: 3}
	want := sumsOf(t, New(maps, 3, 2, opt), FromMatrices("repeats", XX, YY))
	present := 0
	for i, w := range weights {
		if w > 0 {
			present++
			continue
		}
		blas.Fill(blas.View(X, i, 0, 1, X.Cols), math.NaN()) // what a row of weight 0 holds is not looked at
		blas.Fill(blas.View(Y, i, 0, 1, Y.Cols), math.Inf(1))
	}
	check := func(what string, got Sums) {
		t.Helper()
		if got.Rows != int64(present) || got.Weight != float64(XX.Rows) {
			t.Errorf("%s: %d rows of weight %g, want %d of %d", what, got.Rows, got.Weight, present, XX.Rows)
		}
		got.Rows = want.Rows
		if err := same(got, want, 1e-13); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		m, s := got.OutputMoments()
		mean, dev := want.OutputMoments()
		if !near(m, mean, 1e-13) || !near(s, dev, 1e-13) {
			t.Errorf("%s: moments %v, %v, want %v, %v", what, m, s, mean, dev)
		}
	}
	open := func() (Source, error) {
		return &weighted{&chopped{x: X, y: Y, sizes: []int{7, 90}, end: io.EOF}, weights}, nil
	}
	src, _ := open()
	check("blocks", sumsOf(t, New(maps, 3, 2, opt), src))
	check("matrices", sumsOf(t, New(maps, 3, 2, opt), FromMatrices("memory", X, Y, weights...)))

	all := Block{X: X, Y: Y, Weights: weights}
	half, again := New(maps, 3, 2, opt), New(maps, 3, 2, opt)
	var saved bytes.Buffer
	if err := errors.Join(half.Add(all.Part(0, 131)), half.Encode(&saved), again.Decode(&saved)); err != nil {
		t.Fatal(err)
	}
	check("resumed", sumsOf(t, again, FromMatrices("memory", X, Y, weights...)))

	ranks := []*Accumulator{New(maps, 3, 2, opt), New(maps, 3, 2, opt)}
	err := errors.Join(ranks[0].Add(all.Part(0, 80)), ranks[1].Add(all.Part(80, 301)), reduceAll(ranks))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := ranks[1].Sums()
	if err != nil {
		t.Fatal(err)
	}
	check("ranks", Total(sums, nil))

	g, gamma := NewGram(maps, open, Options{BlockRows: 50}, nil), blas.Clone(want.Gamma)
	blas.MirrorLower(gamma)
	x, got, product := blas.NewGeneral(g.Dim(), 2), blas.NewGeneral(g.Dim(), 2), blas.NewGeneral(g.Dim(), 2)
	for i := range x.Data {
		x.Data[i] = math.Cos(float64(i))
	}
	g.Apply(got, x)
	blas.Mul(blas.Active(), product, false, false, gamma, x)
	if !near(got.Data, product.Data, 1e-12) {
		t.Error("products with Γ differ")
	}

	src, _ = open()
	s, err := Inspect(context.Background(), src, 3, 2, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	x2, y2 := definition(XX), definition(YY)
	if !near(s.X.Mean, x2.Mean, 1e-12) || !near(s.X.Deviation, x2.Deviation, 1e-12) ||
		!near(s.Y.Mean, y2.Mean, 1e-12) || !near(s.Y.Deviation, y2.Deviation, 1e-12) {
		t.Errorf("moments %v, %v, want %v, %v", s.X, s.Y, x2, y2)
	}
	for k, at := range s.At {
		if s.Weights[k] != weights[at.Row] {
			t.Errorf("row %d of the sample has weight %g, want %g", k, s.Weights[k], weights[at.Row])
		}
	}
}

func TestBadWeights(t *testing.T) {
	X, Y, maps := data(t, 3)
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		a, b := New(maps, 3, 2, Options{}), Block{X: X, Y: Y, Source: "test.csv", Weights: []float64{1, 0, w}}
		if err := a.Add(b); !errors.Is(err, ErrRow) || a.Rows() != 2 {
			t.Errorf("weight %g: %v after %d rows", w, err, a.Rows())
		}
		if _, err := Inspect(context.Background(), FromMatrices("memory", X, Y, b.Weights...), 3, 2, 9, 1); !errors.Is(
			err, ErrRow) {
			t.Errorf("weight %g in the survey: %v", w, err)
		}
	}
	if err := New(maps, 3, 2, Options{}).Add(Block{X: X, Y: Y, Weights: []float64{1}}); !errors.Is(err, ErrRow) {
		t.Errorf("too few weights: %v", err)
	}
}

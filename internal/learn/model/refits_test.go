package model_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

// Held-out predictions and influences of models that chose nothing are those of the models that have forgotten the row.
func TestRefitsForget(t *testing.T) {
	const l, fresh = 90, 3
	X, Y := learntest.Wave(l+fresh, 51)
	rng := rand.New(rand.NewPCG(5, 1))
	holes, w := mat.DenseCopyOf(Y.Slice(0, l, 0, 3)), mat.NewDense(l, 3, nil)
	for i := range l {
		for j := range 3 {
			if w.Set(i, j, math.Exp(rng.NormFloat64())); (i+j)%4 == 0 {
				holes.Set(i, j, math.NaN())
			}
		}
	}
	w1 := mat.DenseCopyOf(w.Slice(0, l, 0, 1))
	fixed := iokl.Options{Kernels: []string{"gaussian:all:median*0.5,1"}, Lambda: 1e-2}
	of := func(change func(*iokl.Options)) iokl.Options {
		opt := fixed
		change(&opt)
		return opt
	}
	features := func(opt *iokl.Options) { opt.Kernels = []string{"nystrom:gaussian:all:median:25", "linear:all"} }
	for _, c := range []struct {
		name   string
		Y      *mat.Dense
		opt    iokl.Options
		stream bool
	}{
		{name: "complete", opt: fixed},
		{name: "missing", Y: holes, opt: fixed},
		{name: "weights", opt: of(func(o *iokl.Options) { o.Weights = w })},
		{name: "missing and weights", Y: holes, opt: of(func(o *iokl.Options) { o.Weights = w })},
		{name: "sum", opt: of(func(o *iokl.Options) { o.Model = "sum" })},
		{name: "sum, missing", Y: holes, opt: of(func(o *iokl.Options) { o.Model = "sum" })},
		{name: "features", opt: of(features)},
		{name: "features, weights", opt: of(func(o *iokl.Options) { features(o); o.Weights = w1 })},
		{name: "stream", opt: of(features), stream: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, y := fittest.Rows(X, 0, l), c.Y
			if y == nil {
				y = fittest.Rows(Y, 0, l)
			}
			c.opt.Seed = 2
			var m *iokl.Model
			var err error
			if c.stream {
				m, err = iokl.FitStream(t.Context(), fittest.Stream(x, y), c.opt)
			} else {
				m, err = iokl.Fit(t.Context(), x, y, c.opt)
			}
			if err != nil {
				t.Fatal(err)
			}
			m = fittest.Loaded(t, m)
			h, err := m.HeldOut(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Rows) != l {
				t.Fatalf("%d rows of %d", len(h.Rows), l)
			}
			new := fittest.Rows(X, l, l+1)
			change, err := m.Influence(t.Context(), new)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := m.Predict(new)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range []int{0, 17, 88} {
				less, err := m.Forget(t.Context(), []int{i}, iokl.UpdateOptions{})
				if err != nil {
					one := iokl.UpdateOptions{}
					if c.opt.Weights != nil {
						one.Weights = fittest.Rows(w1, i, i+1)
					}
					less, err = m.ForgetRows(t.Context(), fittest.Rows(x, i, i+1), fittest.Rows(y, i, i+1), one)
				}
				if err != nil {
					t.Fatal(err)
				}
				own, err := less.Predict(fittest.Rows(x, i, i+1))
				if err != nil {
					t.Fatal(err)
				}
				there, err := less.Predict(new)
				if err != nil {
					t.Fatal(err)
				}
				for j, f := range own.RawRowView(0) {
					scale := floats.Norm(mat.Col(nil, j, Y), 2) / math.Sqrt(l)
					if got := h.Predictions.At(i, j); !math.IsNaN(y.At(i, j)) && !(math.Abs(got-f) <= 1e-6*scale) {
						t.Errorf("row %d, output %d: held out %.9g, without it %.9g", i, j, got, f)
					}
					if got, want := change.Changes.At(i, j), whole.At(0, j)-there.At(0, j); !(math.Abs(got-want) <=
						1e-6*scale) {
						t.Errorf("row %d, output %d: it changes %.9g, not %.9g", i, j, want, got)
					}
				}
			}
		})
	}
}

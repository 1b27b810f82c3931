package update_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/internal/learn/learntest"
)

var bg = context.Background()

// After a change, held-out predictions are those of models without the row, and intervals are made of them, also by a
// model from a file.
func TestUpdateHoldsOut(t *testing.T) {
	X, Y := learntest.Wave(90, 8)
	for i := range 30 {
		Y.Set(3*i, i%3, math.NaN())
	}
	weights := mat.NewDense(80, 1, nil)
	for i := range 80 {
		weights.Set(i, 0, float64(1+i%2))
	}
	whole := mat.DenseCopyOf(Y)
	whole.Apply(func(_, _ int, v float64) float64 {
		if math.IsNaN(v) {
			return 1
		}
		return v
	}, Y)
	exact, features := []string{"gaussian:all:median", "linear:all"}, []string{"nystrom:gaussian:all:median:30"}
	for _, c := range []struct {
		name    string
		Y       *mat.Dense
		kernels []string
		with    func(*iokl.Options, *iokl.UpdateOptions)
		rows    int
	}{
		{"missing targets", Y, exact, func(*iokl.Options, *iokl.UpdateOptions) {}, 90},
		{"weights", whole, exact, func(o *iokl.Options, _ *iokl.UpdateOptions) { o.Weights = weights }, 90},
		{"a sum", whole, exact, func(o *iokl.Options, _ *iokl.UpdateOptions) { o.Model = "sum" }, 90},
		{
			"a window", Y, exact,
			func(_ *iokl.Options, u *iokl.UpdateOptions) { u.Window, u.Forget = 60, []int{3, 70} }, 60,
		},
		{"folds", whole, exact, func(o *iokl.Options, _ *iokl.UpdateOptions) { o.IntervalFolds = 4 }, 90},
		{"features", whole, features, func(*iokl.Options, *iokl.UpdateOptions) {}, 90},
		{
			"features, a window", whole, features,
			func(_ *iokl.Options, u *iokl.UpdateOptions) { u.Window, u.Forget = 60, []int{3, 70} }, 60,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt, up := iokl.Options{Kernels: c.kernels, Lambda: 1e-2, Seed: 3}, iokl.UpdateOptions{}
			c.with(&opt, &up)
			m, err := iokl.Fit(bg, fittest.Rows(X, 0, 80), fittest.Rows(c.Y, 0, 80), opt)
			if err != nil {
				t.Fatal(err)
			}
			more, err := m.Update(bg, fittest.Rows(X, 80, 90), fittest.Rows(c.Y, 80, 90), up)
			if err != nil {
				t.Fatal(err)
			}
			r, err := more.PredictInterval(bg, X, iokl.IntervalOptions{Level: 0.8})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 90 {
				for j := range 3 {
					if !(r.Low.At(i, j) < r.High.At(i, j)) {
						t.Fatalf("row %d, target %d: an interval from %g to %g", i, j, r.Low.At(i, j), r.High.At(i, j))
					}
				}
			}
			again, err := fittest.Loaded(t, more).PredictInterval(bg, X, iokl.IntervalOptions{Level: 0.8})
			if err != nil || !mat.EqualApprox(again.Low, r.Low, 1e-9*mat.Norm(r.Low, 2)) {
				t.Errorf("intervals of the file differ: %v", err)
			}
			if more.IntervalFolds() > 0 {
				t.Errorf("%d folds are kept", more.IntervalFolds())
			}
			held, err := more.HeldOut(bg)
			if err != nil {
				t.Fatal(err)
			}
			if l := more.Certificate().Samples; len(held.Rows) != c.rows || l != c.rows {
				t.Fatalf("%d rows are held out of %d, want %d", len(held.Rows), l, c.rows)
			}
			var order []int // which row of X each row of the model is
			for i := range 90 {
				if !slices.Contains(up.Forget, i) {
					order = append(order, i)
				}
			}
			order = order[len(order)-c.rows:]
			for _, at := range []int{0, 7, c.rows - 1} {
				without, err := more.Forget(bg, []int{at}, iokl.UpdateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				i := order[at]
				want, err := without.Predict(X.Slice(i, i+1, 0, 4))
				if err != nil {
					t.Fatal(err)
				}
				for j := range 3 {
					y, v := held.Targets.At(at, j), c.Y.At(i, j)
					if !(math.Abs(v-y) <= 1e-9*math.Abs(v)) && !(math.IsNaN(v) && math.IsNaN(y)) {
						t.Fatalf("row %d: target %g, kept as %g", i, v, y)
					}
					p, f := want.At(0, j), held.Predictions.At(at, j)
					if !math.IsNaN(y) && !(math.Abs(p-f) <= 1e-6*(1+math.Abs(p))) {
						t.Errorf("row %d: %g held out, %g by the model that forgets it", i, f, p)
					}
				}
			}
		})
	}
}

// What an update cannot keep it says before it acts.
func TestUpdateSaysWhatItDrops(t *testing.T) {
	X, _ := learntest.Wave(60, 8)
	labels := make([]string, 60)
	for i := range labels {
		labels[i] = []string{"a", "b"}[i%2]
	}
	m, err := iokl.FitClasses(bg, X, labels, iokl.Options{Kernels: []string{"linear:all"}, Lambda: 1, IntervalFolds: 3})
	if err != nil {
		t.Fatal(err)
	}
	said, stop := "", errors.New("stop")
	more, err := m.UpdateClasses(bg, X, labels, iokl.UpdateOptions{
		Relearn: true, Tol: 1e-12,
		Notify: func(line string) {
			said += line
		}, Trace: func(bcd.Step) error {
			if !strings.Contains(said, "left out") {
				t.Errorf("before the update: %q", said)
			}
			return stop
		},
	})
	if !strings.Contains(said, "left out") {
		t.Errorf("the update said %q", said)
	}
	left := func(w string) bool { return strings.Contains(w, "left out") }
	if more != nil && !slices.ContainsFunc(more.Warnings(), left) {
		t.Errorf("after it: %q, %v", more.Warnings(), err)
	}
}

// Models of another loss learn anew: an update is the fit to all rows.
func TestUpdateOfLosses(t *testing.T) {
	X, Y := learntest.Wave(90, 9)
	opt := iokl.Options{Kernels: []string{"gaussian:all:1.5"}, Lambda: 1e-2}
	for _, c := range []struct{ loss iokl.Loss }{{"huber:1"}, {"quantile:.2,.8"}} {
		opt.Loss, opt.Lambda = c.loss, 1e-2
		m, err := iokl.Fit(bg, fittest.Rows(X, 0, 80), fittest.Rows(Y, 0, 80), opt)
		if err != nil {
			t.Fatal(err)
		}
		more, err := fittest.Loaded(t, m).Update(bg, fittest.Rows(X, 80, 90), fittest.Rows(Y, 80, 90),
			iokl.UpdateOptions{Forget: []int{0, 1}})
		if err != nil {
			t.Fatal(err)
		}
		opt.Lambda *= 80. / 88
		want, err := iokl.Fit(bg, fittest.Rows(X, 2, 90), fittest.Rows(Y, 2, 90), opt)
		if err != nil {
			t.Fatal(err)
		}
		a, b := more.Certificate(), want.Certificate()
		if a.Samples != 88 || !(math.Abs(a.Objective-b.Objective) <= 1e-6*b.Objective) || a.Loss != b.Loss {
			t.Errorf("%s: %d rows, objective %.9g; a fit has %.9g", c.loss, a.Samples, a.Objective, b.Objective)
		}
		again, err := more.Forget(bg, []int{5}, iokl.UpdateOptions{})
		if err != nil || again.Certificate().Samples != 87 {
			t.Errorf("%s, updated twice: %v", c.loss, err)
		}
	}
}

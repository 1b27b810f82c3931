package update_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/iokl/iokl/internal/learn/model"
)

var bg = context.Background()

// Where intervals need models without each fold, an update keeps such models, of the rows that there are then: each is
// the model that forgets the fold.
func TestUpdateKeepsFolds(t *testing.T) {
	X, Y := learntest.Wave(90, 8)
	for i := range 30 {
		Y.Set(3*i, i%3, math.NaN())
	}
	part := func(a *mat.Dense, from, to int) *mat.Dense {
		_, c := a.Dims()
		return mat.DenseCopyOf(a.Slice(from, to, 0, c))
	}
	weights := mat.NewDense(80, 1, nil)
	for i := range 80 {
		weights.Set(i, 0, float64(1+i%2))
	}
	whole := part(Y, 0, 90)
	for i := range 90 {
		for j := range 3 {
			if math.IsNaN(whole.At(i, j)) {
				whole.Set(i, j, 1)
			}
		}
	}
	opt := iokl.Options{Kernels: []string{"gaussian:all:median", "linear:all"}, Lambda: 1e-2, IntervalFolds: 4}
	for _, c := range []struct {
		name string
		Y    *mat.Dense
		with func(*iokl.Options, *iokl.UpdateOptions)
		kept bool
	}{
		{"missing targets", Y, func(*iokl.Options, *iokl.UpdateOptions) {}, true},
		{"weights", whole, func(o *iokl.Options, _ *iokl.UpdateOptions) { o.Weights = weights }, true},
		{"a sum", whole, func(o *iokl.Options, _ *iokl.UpdateOptions) { o.Model = "sum" }, true},
		{"a window", Y, func(_ *iokl.Options, u *iokl.UpdateOptions) { u.Window, u.Forget = 60, []int{3, 70} }, true},
		{"all targets", whole, func(*iokl.Options, *iokl.UpdateOptions) {}, false}, // jackknife+ serves
	} {
		t.Run(c.name, func(t *testing.T) {
			opt, up := opt, iokl.UpdateOptions{}
			c.with(&opt, &up)
			m, err := iokl.Fit(bg, part(X, 0, 80), part(c.Y, 0, 80), opt)
			if err != nil {
				t.Fatal(err)
			}
			more, err := m.Update(bg, part(X, 80, 90), part(c.Y, 80, 90), up)
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
			if got := more.IntervalFolds() > 0; got != c.kept {
				t.Fatalf("%d folds are kept", more.IntervalFolds())
			}
			if !c.kept {
				return
			}
			rows := upToOf(90)
			if up.Window > 0 {
				rows = slices.DeleteFunc(rows, func(i int) bool { return slices.Contains(up.Forget, i) })
				rows = rows[len(rows)-up.Window:]
			}
			var all []int
			kept := learned(t, more).Folds
			for _, f := range kept {
				all = append(all, f.Rows...)
				without, err := more.Forget(bg, f.Rows, iokl.UpdateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for k, at := range f.Rows {
					i := rows[at]
					want, err := without.Predict(X.Slice(i, i+1, 0, 4))
					if err != nil {
						t.Fatal(err)
					}
					for j := range 3 {
						y, f := f.Y.Data[k*f.Y.Stride+j], f.F.Data[k*f.F.Stride+j]
						if p := want.At(0, j); !(math.Abs(p-f) <= 1e-6*(1+math.Abs(p))) {
							t.Fatalf("row %d: %g without its fold, %g by the model that forgets it", i, f, p)
						}
						v := c.Y.At(i, j)
						if !(math.Abs(v-y) <= 1e-9*math.Abs(v)) && !(math.IsNaN(v) && math.IsNaN(y)) {
							t.Fatalf("row %d: target %g, kept as %g", i, v, y)
						}
					}
				}
			}
			if slices.Sort(all); !slices.Equal(all, upToOf(len(rows))) {
				t.Errorf("the folds have the rows %v", all)
			}
			for k, f := range learned(t, m).Folds { // rows stay together
				for _, i := range f.Rows {
					if at := slices.Index(rows, i); at >= 0 && !slices.Contains(kept[k].Rows, at) {
						t.Fatalf("row %d is not in fold %d any more", i, k)
					}
				}
			}
			var file bytes.Buffer
			if err := more.Encode(&file); err != nil {
				t.Fatal(err)
			}
			read, err := iokl.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				t.Fatal(err)
			}
			again, err := read.PredictInterval(bg, X, iokl.IntervalOptions{Level: 0.8})
			if err != nil || !mat.EqualApprox(again.Low, r.Low, 1e-9*mat.Norm(r.Low, 2)) {
				t.Errorf("intervals of the file differ: %v", err)
			}
		})
	}
}

func upToOf(n int) (rows []int) {
	for i := range n {
		rows = append(rows, i)
	}
	return rows
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

// learned is what the model file of m holds.
func learned(t *testing.T, m *iokl.Model) *model.Model {
	t.Helper()
	file := fittest.Encode(t, m)
	l, err := model.Decode(bytes.NewReader(file), int64(len(file)), new(json.RawMessage))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

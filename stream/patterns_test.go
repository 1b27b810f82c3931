package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
)

// holed is data whose rows lack the first target, or both, in turn, and the patterns of that.
func holed(t *testing.T, l int) (X, Y blas.General, maps Features, patterns [][]bool) {
	X, Y, m := data(t, l)
	for i := range l {
		switch i % 5 {
		case 1, 2:
			blas.Row(Y, i)[0] = math.NaN()
		case 4:
			blas.Row(Y, i)[0], blas.Row(Y, i)[1] = math.NaN(), math.NaN()
		}
	}
	return X, Y, m, [][]bool{{true, true}, {false, true}, {false, false}}
}

// Each part holds the sums of the rows of one fold and pattern, in one pass, over ranks, and resumed.
func TestPatterns(t *testing.T) {
	X, Y, f, patterns := holed(t, 400)
	_, _, maps := data(t, 400)
	opt := Options{BlockRows: 32, Folds: 2, Patterns: patterns, Fold: func(_ string, row int64) int {
		return int(row / 7 % 2)
	}}
	zeros := blas.Clone(Y)
	for i, v := range zeros.Data {
		if math.IsNaN(v) {
			zeros.Data[i] = 0
		}
	}
	run := func(a *Accumulator, src Source) *Accumulator {
		if err := a.Run(context.Background(), src); err != nil {
			t.Fatal(err)
		}
		return a
	}
	whole := run(New(f, 3, 2, opt), FromMatrices("memory", X, Y))
	ranks := []*Accumulator{New(f, 3, 2, opt), New(f, 3, 2, opt)}
	for k, a := range ranks {
		run(a, Share(FromMatrices("memory", X, Y), k, 2))
	}
	if err := reduceAll(ranks); err != nil {
		t.Fatal(err)
	}
	half := New(f, 3, 2, opt)
	if err := half.Add(Block{X: blas.View(X, 0, 0, 177, 3), Y: blas.View(Y, 0, 0, 177, 2)}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := half.Encode(&file); err != nil {
		t.Fatal(err)
	}
	other := opt
	other.Patterns = [][]bool{patterns[1], patterns[0], patterns[2]}
	if err := New(f, 3, 2, other).Decode(bytes.NewReader(file.Bytes())); !errors.Is(err, ErrCheckpoint) ||
		!strings.Contains(err.Error(), "targets are missing") {
		t.Errorf("a checkpoint of other patterns: %v", err)
	}
	resumed := New(f, 3, 2, opt)
	if err := resumed.Decode(&file); err != nil {
		t.Fatal(err)
	}
	run(resumed, FromMatrices("memory", X, Y))
	for name, a := range map[string]*Accumulator{"one pass": whole, "ranks": ranks[1], "resumed": resumed} {
		sums, err := a.Sums()
		if err != nil {
			t.Fatal(err)
		}
		if len(sums) != 6 {
			t.Fatalf("%s: %d sums", name, len(sums))
		}
		for k := range sums {
			s, fold, observed := sums[k], k/3, patterns[k%3]
			want := direct(t, maps, X, zeros, func(i int) bool {
				return i/7%2 == fold && slices.Equal(Patterns(blas.View(Y, i, 0, 1, Y.Cols))[0], observed)
			})
			if !slices.Equal(s.Observed, observed) || s.Rows != want.Rows {
				t.Fatalf("%s, part %d: %d rows of %v, want %d of %v", name, k, s.Rows, s.Observed, want.Rows, observed)
			}
			H, yy := s.Standardized([]float64{0, 0}, []float64{1, 1})
			if !near(H.Data, want.H.Data, 1e-11) || !near(yy, want.YY, 1e-11) {
				t.Errorf("%s, part %d: sums of targets differ", name, k)
			}
			if slices.Contains(observed, true) && !near(s.Gamma.Data, want.Gamma.Data, 1e-11) ||
				!slices.Contains(observed, true) && s.Gamma.Rows != 0 {
				t.Errorf("%s, part %d: Γ differs", name, k)
			}
		}
	}
	a, _ := whole.Sums()
	b, _ := resumed.Sums()
	for k := range a {
		if !slices.Equal(a[k].Gamma.Data, b[k].Gamma.Data) || !slices.Equal(a[k].H.Data, b[k].H.Data) {
			t.Errorf("part %d: a resumed pass ends with other bits", k)
		}
	}
	mean, deviation := OutputMoments(a)
	for j := range mean {
		var y []float64
		for i := range Y.Rows {
			if v := blas.Row(Y, i)[j]; !math.IsNaN(v) {
				y = append(y, v)
			}
		}
		want := definition(blas.General{Rows: len(y), Cols: 1, Stride: 1, Data: y})
		if !near(mean[j:j+1], want.Mean, 1e-12) || !near(deviation[j:j+1], want.Deviation, 1e-12) {
			t.Errorf("target %d: mean %g and deviation %g, want %v", j, mean[j], deviation[j], want)
		}
	}
	s, err := Inspect(context.Background(), FromMatrices("memory", X, Y), 3, 2, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(s.Patterns, patterns, slices.Equal) || !near(s.Y.Mean, mean, 1e-12) ||
		!near(s.Y.Deviation, deviation, 1e-12) || s.Targets.Rows != 50 {
		t.Errorf("the survey has patterns %v, moments %v", s.Patterns, s.Y)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := new(Survey)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Targets.Data {
		if w := back.Targets.Data[i]; w != v && !(math.IsNaN(w) && math.IsNaN(v)) {
			t.Fatalf("target %d of the sample is %g, and was %g before it was written", i, w, v)
		}
	}
	if !slices.EqualFunc(back.Patterns, patterns, slices.Equal) || len(back.At) != 50 {
		t.Errorf("a survey with patterns %v comes back", back.Patterns)
	}
	bad := New(f, 3, 2, Options{Patterns: patterns[:1]})
	if err := bad.Add(Block{X: X, Y: Y, Source: "memory"}); !errors.Is(err, ErrRow) ||
		!strings.Contains(err.Error(), "row 1:") {
		t.Errorf("a pattern that was not met: %v", err)
	}
}

// The sums of a pattern are those of its own rows, whatever pattern comes first: one without targets has no Γ.
func TestTotalOfPattern(t *testing.T) {
	X, Y, f, _ := holed(t, 300)
	patterns := [][]bool{{false, false}, {true, true}}
	for i := range Y.Rows {
		for j := range Y.Cols {
			Y.Data[i*Y.Stride+j] = float64(i % 7)
			if i%3 == 0 {
				Y.Data[i*Y.Stride+j] = math.NaN()
			}
		}
	}
	a := New(f, X.Cols, Y.Cols, Options{Patterns: patterns})
	if err := a.Add(Block{X: X, Y: Y, Source: "memory"}); err != nil {
		t.Fatal(err)
	}
	sums, err := a.Sums()
	if err != nil {
		t.Fatal(err)
	}
	total := Total(sums, func(k int) bool { return k != 1 })
	if total.Rows != 200 || total.Gamma.Rows != f.Dim() || !near(total.pack(), sums[1].pack(), 1e-12) {
		t.Errorf("%d rows of %d features, want 200 of %d", total.Rows, total.Gamma.Rows, f.Dim())
	}
}

package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCompareManyLines compares two runs of one build, where some lines of many
// must differ by chance, and a run of a build in which every fourth line is slower.
func TestCompareManyLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const lines = 200
	file := func(factor func(i int) float64) *File {
		f := &File{}
		for i := range lines {
			times := make([]float64, 5)
			for j := range times {
				times[j] = (1 + 0.3*rng.Float64()) * factor(i)
			}
			f.Results = append(f.Results, Result{
				Case: "many", Name: fmt.Sprint(i), Samples: times,
				Seconds: Median(times), Min: slices.Min(times), Max: slices.Max(times),
			})
		}
		return f
	}
	same := func(int) float64 { return 1 }
	slow := func(i int) float64 {
		if i%4 == 0 {
			return 1.5
		}
		return 1
	}
	base := file(same)
	again := Compare(base, file(same), 0.05)
	if again.Regressed {
		t.Errorf("two runs of one build differ")
	}
	got := Compare(base, file(slow), 0.05)
	wrong := 0
	for i, ch := range got.Lines {
		switch slower := ch.Verdict == Slower; {
		case i%4 == 0 && !slower:
			t.Errorf("line %d, slower by half: %+v", i, ch)
		case i%4 != 0 && slower:
			wrong++
		}
	}
	if wrong > 5 { // a twentieth of those found is expected
		t.Errorf("%d of %d lines that did not change count as slower", wrong, lines*3/4)
	}
}

// threeLines have five repetitions each.
func threeLines() *File {
	f := &File{Machine: Describe(NewEnv())}
	for i := range 3 {
		r := Result{Case: "gemm", Name: fmt.Sprint(i), Params: map[string]any{"l": i}}
		x := math.Pow10(i - 3)
		r.Time([]float64{x, x * 1.01, x * 1.02, x * 1.03, x * 1.04})
		f.Results = append(f.Results, r)
	}
	return f
}

func TestCompare(t *testing.T) {
	base := threeLines()
	scaled := func(factor float64, change func(r *Result)) *File {
		f := threeLines()
		for i := range f.Results {
			r := &f.Results[i]
			for k := range r.Samples {
				r.Samples[k] *= factor
			}
			r.Time(r.Samples)
			if change != nil {
				change(r)
			}
		}
		return f
	}
	for _, c := range []struct {
		name      string
		b         *File
		verdict   Verdict
		regressed bool
	}{
		{"the same build", scaled(1.005, nil), Same, false},
		{"within the threshold", scaled(1.08, nil), Same, false},
		{"slowed", scaled(1.5, nil), Slower, true},
		{"faster", scaled(0.6, nil), Faster, false},
		{"slower but for one lucky repetition", scaled(1.5, func(r *Result) {
			r.Samples[0] = r.Samples[0] / 1.5
			r.Time(r.Samples)
		}), Same, false},
		{"too few repetitions", scaled(1.5, func(r *Result) { r.Time(r.Samples[:2]) }), Single, false},
		{"a new error", scaled(1, func(r *Result) { r.Error = "broken" }), Worse, true},
		{"other parameters", scaled(1, func(r *Result) { r.Params["l"] = 7 }), Gone, false},
	} {
		got := Compare(base, c.b, 0.1)
		if got.Regressed != c.regressed {
			t.Errorf("%s: regressed %v", c.name, got.Regressed)
		}
		if v := got.Lines[0].Verdict; v != c.verdict {
			t.Errorf("%s: %+v", c.name, got.Lines[0])
		}
	}
}

func TestCompareAnswers(t *testing.T) {
	old := Result{Accuracy: Num(0.9), Objective: Num(1)}
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{Accuracy: Num(0.9), Objective: Num(1)}, ""},
		{Result{Accuracy: Num(0.8), Objective: Num(1)}, "accuracy"},
		{Result{Accuracy: Num(0.9), Objective: Num(1.1)}, "objective"},
		{Result{Accuracy: Num(0.9), Objective: Num(1.1), Stopped: true}, ""},
	} {
		if got := worse(old, c.r); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.r, got)
		}
	}
}

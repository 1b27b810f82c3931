package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
				Seconds: median(times), Min: slices.Min(times), Max: slices.Max(times),
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
	if again.Regressed() {
		t.Errorf("two runs of one build differ")
	}
	got := Compare(base, file(slow), 0.05)
	wrong := 0
	for i, ch := range got.Lines {
		switch slower := ch.Verdict == Slower; {
		case i%4 == 0 && !slower:
			t.Errorf("line %d, slower by half: %s, p = %g", i, ch.Verdict, ch.P)
		case i%4 != 0 && slower:
			wrong++
		}
	}
	if wrong > 5 { // a twentieth of those found is expected
		t.Errorf("%d of %d lines that did not change count as slower", wrong, lines*3/4)
	}
}

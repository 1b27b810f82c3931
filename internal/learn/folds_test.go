package learn

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/linop"
)

// Every observed cell is hidden once a repeat, about as many of each target in every fold.
func TestDealCells(t *testing.T) {
	const l, n = 41, 4
	cells := linop.NewCells(l, n, func(i, j int) bool { return (i+j)%3 != 0 })
	splits, err := Folding{Folds: 5, Repeats: 2, Seed: 3}.DealCells(cells)
	if err != nil || len(splits) != 10 {
		t.Fatalf("%d folds, %v", len(splits), err)
	}
	for r := range 2 {
		times := map[int]int{}
		for _, s := range splits[5*r : 5*r+5] {
			per := make([]int, n)
			for _, c := range s.Hidden {
				times[c]++
				per[c%n]++
				if _, ok := slices.BinarySearch(s.Test, c/n); !ok || !cells.Has(c/n, c%n) {
					t.Errorf("cell %d: in a tested row %v", c, ok)
				}
			}
			if len(s.Train) != l || slices.Max(per)-slices.Min(per) > 2 {
				t.Errorf("%d rows to train on, %v cells of each target to test on", len(s.Train), per)
			}
		}
		if len(times) != cells.Count() {
			t.Errorf("%d of %d cells are tested on", len(times), cells.Count())
		}
		for c, k := range times {
			if k != 1 {
				t.Errorf("cell %d is hidden %d times", c, k)
			}
		}
	}
	if slices.Equal(splits[0].Hidden, splits[5].Hidden) {
		t.Error("both repeats have the same folds")
	}
	for _, p := range []Folding{
		{Folds: 5, TimeOrdered: true},
		{Folds: 5, Groups: make([]int, l)},
		{Folds: 1},
		{Folds: l * n},
	} {
		if _, err := p.DealCells(cells); err == nil {
			t.Errorf("%+v has no error", p)
		}
	}
}

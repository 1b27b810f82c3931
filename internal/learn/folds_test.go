package learn

import (
	"slices"
	"testing"

	"github.com/iokl/iokl/linop"
)

// Where none is missing every cell is hidden once a repeat, about as many of each target in every fold.
func TestDealCells(t *testing.T) {
	const l, n = 41, 4
	cells := linop.NewCells(l, n, func(int, int) bool { return true })
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
		{Folds: l*n + 1},
	} {
		if _, err := p.DealCells(cells); err == nil {
			t.Errorf("%+v has no error", p)
		}
	}
}

// Of targets that are missing in a way, folds hide cells in the same way: tails where tails are missing, and those of
// the one target that some rows lack; of about as many rows each, and of a row at most once a repeat.
func TestDealCellsAsMissing(t *testing.T) {
	const l, n, k = 60, 8, 5
	for name, has := range map[string]func(i, j int) bool{
		"tails":      func(i, j int) bool { return j < 1+i%n },
		"one target": func(i, j int) bool { return j != 2 || i%3 > 0 },
	} {
		cells := linop.NewCells(l, n, has)
		splits, err := Folding{Folds: k, Repeats: 2, Seed: 1}.DealCells(cells)
		if err != nil || len(splits) != 2*k {
			t.Fatalf("%s: %d folds, %v", name, len(splits), err)
		}
		for r := range 2 {
			rows, least, most := map[int]bool{}, l, 0
			for _, s := range splits[k*r : k*r+k] {
				hidden := map[int]bool{}
				for _, c := range s.Hidden {
					hidden[c] = true
					if !cells.Has(c/n, c%n) {
						t.Errorf("%s: cell %d is hidden and missing", name, c)
					}
				}
				least, most = min(least, len(s.Test)), max(most, len(s.Test))
				for _, i := range s.Test {
					if rows[i] {
						t.Errorf("%s: row %d is tested twice", name, i)
					}
					rows[i] = true
					asAnother := slices.ContainsFunc(s.Train, func(other int) bool {
						for j := range n {
							if has(i, j) && !has(other, j) != hidden[i*n+j] {
								return false
							}
						}
						return true
					})
					if !asAnother {
						t.Errorf("%s: row %d lacks what no row lacks", name, i)
					}
				}
			}
			if len(rows) < l/4 || most-least > 1 {
				t.Errorf("%s: %d rows are tested, from %d to %d in a fold", name, len(rows), least, most)
			}
		}
	}
	// With this seed four rows lack what others have, too few for five folds.
	few := linop.NewCells(l, 2, func(i, j int) bool { return i < 2 && j == 0 || i >= 2 && j == 1 })
	if splits, err := (Folding{Folds: k}).DealCells(few); err != nil || len(splits[k-1].Hidden) == 0 {
		t.Errorf("few rows: %v", err)
	}
}

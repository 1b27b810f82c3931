package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// TestFoldsBy deals rows to folds by a column of words, by blocks and in the order of time.
func TestFoldsBy(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	writeXY(t, dir, "who,a", "y", 48, func(i int) (x, y string) {
		a := rng.NormFloat64()
		return fmt.Sprintf("p%d,%g", i%4, a), fmt.Sprint(a + 0.1*rng.NormFloat64())
	})
	write(t, dir, "who.csv", rowsText("", 48, func(i int) string { return fmt.Sprint("p", i%4) }))
	errors := func(flags string) string {
		t.Helper()
		r := object[results.CV](t, dir, "cv --x x.csv --y y.csv --kernel linear:all --lambdas 0.1 --norm lp:1 "+
			"--folds 4 --json "+flags)
		if !(r.Constant > 0.5) || !(r.Best.Mean < r.Constant) {
			t.Errorf("%s: error %g, of the mean %g", flags, r.Best.Mean, r.Constant)
		}
		return fmt.Sprint(r.Best.Folds)
	}
	shuffled := errors("")
	for _, c := range []struct {
		by, same string // flags that mean the same; "-": none do
	}{
		{"shuffle", ""}, {"who", "--fold-groups who.csv"}, {"time", "--time-ordered"}, {"blocks", "-"},
	} {
		got := errors("--folds-by " + c.by)
		if c.same != "-" && got != errors(c.same) {
			t.Errorf("--folds-by %s: errors %s, with %q %s", c.by, got, c.same, errors(c.same))
		}
		if (got == shuffled) != (c.by == "shuffle") {
			t.Errorf("--folds-by %s: errors %s, shuffled %s", c.by, got, shuffled)
		}
	}
}

// Without --folds there are no more folds than groups, rows with a target, or blocks in the order of time.
func TestFewFolds(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 4))
	holes := ""
	writeXY(t, dir, "who,a", "y,z", 9, func(i int) (x, y string) {
		a := rng.NormFloat64()
		y = fmt.Sprintf("%g,%g", a+0.1*rng.NormFloat64(), rng.NormFloat64())
		holes += map[bool]string{true: y, false: ","}[i%3 == 0] + "\n"
		return fmt.Sprintf("p%d,%g", i%3, a), y
	})
	write(t, dir, "holes.csv", "y,z\n"+holes)
	write(t, dir, "who.csv", rowsText("", 9, func(i int) string { return fmt.Sprint("p", i%3) }))
	for line, folds := range map[string]string{ // those of fit are repeated four times but in the order of time
		"fit --x x.csv --y y.csv --folds-by who":                                          "12",
		"fit --x x.csv --y y.csv --folds-by who --interval-folds 3":                       "12",
		"fit --x x.csv --y y.csv --folds-by time":                                         "3",
		"fit --x x.csv --y holes.csv":                                                     "12",
		"cv --x x.csv --y y.csv --fold-groups who.csv --kernel linear --lambdas .1":       "3",
		"cv --x x.csv --y y.csv --time-ordered --kernel linear --lambdas .1":              "3",
		"cv --x x.csv --y holes.csv --hide rows --kernel linear --lambdas .1":             "3",
		"cv --x x.csv --y holes.csv --folds loo --kernel linear --lambdas .1":             "3",
		"fit --x x.csv --y y.csv --folds-by who --interval-folds 3 --kernel linear:3":     "12",
		"fit --x x.csv --y y.csv --x-columns a --kernel linear --model sum --learn l,eta": "20",
	} {
		succeed(t, dir, line+" --json").out(`"folds": ` + folds + ",")
	}
}

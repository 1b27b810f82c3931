package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// TestFoldsBy deals rows to folds by a column of words, by blocks and in the order of time.
func TestFoldsBy(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	var x, y strings.Builder
	fmt.Fprintln(&x, "who,a")
	fmt.Fprintln(&y, "y")
	for i := range 48 {
		a := rng.NormFloat64()
		fmt.Fprintf(&x, "p%d,%g\n", i%4, a)
		fmt.Fprintf(&y, "%g\n", a+0.1*rng.NormFloat64())
	}
	errors := func(flags string) string {
		t.Helper()
		var r results.CV
		command(t, dir,
			"cv --x x.csv --y y.csv --kernel linear:all --lambdas 0.1 --norm lp:1 --folds 4 --json "+flags).object(&r)
		if !(r.Constant > 0.5) || !(r.Best.Mean < r.Constant) {
			t.Errorf("%s: error %g, of the mean %g", flags, r.Best.Mean, r.Constant)
		}
		return fmt.Sprint(r.Best.Folds)
	}
	var who strings.Builder
	for i := range 48 {
		fmt.Fprintf(&who, "p%d\n", i%4)
	}
	write(t, dir, "x.csv", x.String())
	write(t, dir, "y.csv", y.String())
	write(t, dir, "who.csv", who.String())
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
	var x, y, holes, who strings.Builder
	fmt.Fprintln(&x, "who,a")
	fmt.Fprintln(&y, "y,z")
	fmt.Fprintln(&holes, "y,z")
	for i := range 9 {
		a := rng.NormFloat64()
		fmt.Fprintf(&x, "p%d,%g\n", i%3, a)
		fmt.Fprintf(&who, "p%d\n", i%3)
		line := fmt.Sprintf("%g,%g\n", a+0.1*rng.NormFloat64(), rng.NormFloat64())
		fmt.Fprint(&y, line)
		if i%3 > 0 {
			line = ",\n"
		}
		fmt.Fprint(&holes, line)
	}
	for name, text := range map[string]*strings.Builder{
		"x.csv": &x, "y.csv": &y, "holes.csv": &holes,
		"who.csv": &who,
	} {
		write(t, dir, name, text.String())
	}
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

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
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
		var r cvReport
		command(t, dir, "cv --x x.csv --y y.csv --kernel linear:all --lambdas 0.1 --norm lp:1 --folds 4 --json "+flags).object(t, &r)
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

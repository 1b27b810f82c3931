package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// mixed writes a table of which a number, a word and a date determine the target,
// and the same with the word and the date written as numbers by hand.
func mixed(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	var typed, y []string
	header := "u,colour=blue,colour=green,colour=red,when,when.week.cos,when.week.sin"
	write(t, dir, "plain.csv", rowsText(header, 90, func(i int) string {
		u, colour, day := rng.NormFloat64(), rng.IntN(3), rng.IntN(60)
		if i == 0 {
			day = 0
		}
		name, first := []string{"blue", "green", "red"}[colour], []int{0, 0, 0}
		first[colour] = 1
		typed = append(typed, fmt.Sprintf("%v,%s,2024-%02d-%02d", u, name, 1+day/28, 1+day%28))
		days := day
		if day >= 28 {
			days += 3
		}
		if day >= 56 {
			days++
		}
		y = append(y, fmt.Sprint(math.Sin(u)+float64(colour)+float64(day)/30+.05*rng.NormFloat64()))
		week := 2 * math.Pi * math.Mod(19723+float64(days), 7) / 7 // 2024-01-01 is day 19723
		rounded := func(v float64) float64 { return math.Round(v*0x1p40) * 0x1p-40 }
		return fmt.Sprintf("%v,%d,%d,%d,%d,%v,%v", u, first[0], first[1], first[2], days, rounded(math.Cos(week)),
			rounded(math.Sin(week)))
	}))
	write(t, dir, "typed.csv", rowsText("u,colour,when", 90, func(i int) string { return typed[i] }))
	write(t, dir, "y.csv", rowsText("y", 90, func(i int) string { return y[i] }))
}

// Words and dates are learned from as if their columns had been written as numbers,
// by a fit in memory and by a streamed one.
func TestWordsAndDates(t *testing.T) {
	dir := folder(t)
	mixed(t, dir)
	for _, how := range []string{
		"--kernel gaussian:all:median --lambda 1e-3",
		"--stream --kernel rff:gaussian:all:median:60 --lambda 1e-3",
	} {
		for _, x := range []string{"typed", "plain"} {
			r := succeed(t, dir, fmt.Sprintf("fit --x %s.csv --y y.csv %s --out %s.iokl", x, how, x))
			const dates = `column 3 "when" since 2024-01-01, and as part of the week`
			if strings.Contains(r.stderr, "dates, taken as days since the first: "+dates) != (x == "typed") {
				t.Errorf("%s: said %q", x, r.stderr)
			}
			succeed(t, dir, fmt.Sprintf("predict --model %s.iokl --x %s.csv --out %s-p.csv", x, x, x)).noErr("warning")
		}
		near(t, how, mustTable(t, "typed-p.csv").Data.Data, mustTable(t, "plain-p.csv").Data.Data, 0)
	}
	rows := strings.Split(mustRead(t, filepath.Join(dir, "typed.csv")), "\n")
	write(t, dir, "new.csv", "when,colour,u\n2024-01-05,purple,1\n2024-01-05,,1\n2024-01-05,blue,\n")
	succeed(t, dir, "predict --model typed.iokl --x new.csv --out new-p.csv").
		err(`1 cells of column 2 "colour" hold words that the model has not learned`, "filled 2 missing cells")
	write(t, dir, "groups.csv", "column,group\ncolour,paint\nu,rest\nwhen,rest\n")
	succeed(t, dir, "fit --x typed.csv --y y.csv --groups groups.csv --kernel gaussian:groups:median --lambda 1e-3 "+
		"--json").out("paint")
	write(t, dir, "na.csv", strings.Join(append([]string{rows[0], "none,none,none"}, rows[2:]...), "\n"))
	succeed(t, dir, "fit --x na.csv --y y.csv --na none --kernel gaussian:all:median --lambda 1e-3 --json").
		out("filled 3 missing cells by the mean of their column, in 3 input columns u, colour, when")
}

// NaN in an array of inputs is a missing cell, as an empty cell of a text file is.
func TestMissingInArrays(t *testing.T) {
	dir := folder(t)
	mixed(t, dir)
	x := mustTable(t, filepath.Join(dir, "plain.csv"))
	x.Data.Data[0] = math.NaN()
	writeNpy(t, dir, "gap.npy", x.Data)
	x.Names = []string{"u", "colour=blue", "colour=green", "colour=red", "when", "when.week.cos", "when.week.sin"}
	write(t, dir, "gap.csv", csvOf(x))
	const fit = "fit --y y.csv --kernel gaussian:all:median --lambda 1e-3 --x "
	for _, name := range []string{"gap.npy", "gap.csv"} {
		succeed(t, dir, fit+name+" --out "+name+".iokl").err("filled 1 missing cells")
		succeed(t, dir, fmt.Sprintf("predict --model %s.iokl --x %s --out %s-p.csv", name, name, name))
	}
	if a, b := mustTable(t, "gap.npy-p.csv"), mustTable(t, "gap.csv-p.csv"); a.Data.Data[0] != b.Data.Data[0] {
		t.Errorf("%g from .npy, %g from CSV", a.Data.Data[0], b.Data.Data[0])
	}
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// Fits and predictions say what a user would want to know: inputs that give the target away, amounts taken for classes,
// and values far from those learned from.
func TestHints(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(36, 5))
	write(t, dir, "t.csv", rowsText("age,alive,class,survived", 60, func(i int) string {
		s := rng.IntN(2)
		return fmt.Sprintf("%d,%s,%d,%d", 20+rng.IntN(50), []string{"no", "yes"}[s], 1+i%3, s)
	}))
	const fit = "fit --x t.csv --y-columns survived --kernel gaussian:all:median --lambda 1e-2 --out m.iokl "
	const hint = `column 2 "alive" gives column 4 "survived" away`
	for flags, says := range map[string]bool{"": true, "--drop alive": false, "-q": true} {
		r := command(t, dir, fit+flags)
		if r.status != exitOK || strings.Contains(r.stderr, hint) != says || strings.Count(r.stderr, "away") > 1 {
			t.Errorf("%s: %+v", flags, r)
		}
		held := strings.Contains(r.stderr, "iokl: held out, each row by itself: survived is off by ")
		if held != (flags != "-q") {
			t.Errorf("%s: %+v", flags, r)
		}
	}
	command(t, dir, "fit --x t.csv --drop survived,alive --y-columns age --classes --kernel linear:all --lambda 1").
		err("different numbers, and each is a class of its own")
	marked := rowsText("a;km", 30, func(i int) string { return fmt.Sprintf("%d;%d,5", i%7, 100+i) })
	write(t, dir, "marked.csv", marked+"1;NA\n")
	command(t, dir, "fit --x marked.csv --y-columns km --classes --kernel linear:all --lambda 1").
		err("31 different numbers")
	command(t, dir, "fit --x t.csv --drop alive --y-columns class --classes --kernel gaussian:all --lambda 1").
		noErr("different numbers").err("of classes are right, the most frequent class 33.3 %")
	write(t, dir, "far.csv", "age,alive,class\n1e300,no,1\n30,yes,2\n-1e5,no,1\n")
	succeed(t, dir, "predict --model m.iokl --x far.csv --out p.csv").
		err("2 values of far.csv are far outside what the model learned from, in age")
	command(t, dir, "predict --model m.iokl --x t.csv --y-columns survived --json").noOut(`"accuracy"`)
	write(t, dir, "huge.csv", "a,y\n1e308,1\n-1e308,2\n3,1\n4,5\n")
	refuseAll(t, dir, `
		fit --x huge.csv --y-columns y --kernel linear:all --lambda 1 => input column a runs from -1e+308 to 1e+308, a width beyond double precision
		fit --x huge.csv --y-columns a --kernel linear:all --lambda 1 => target column a runs from -1e+308 to 1e+308, a width beyond double precision
	`)
}

// Two runs of a command make the same model file, whatever it is called.
func TestSameModelFiles(t *testing.T) {
	dir := folder(t)
	for _, line := range []string{"--kernel gaussian:all:median*0.5,1", "--kernel linear:all --lambda 1e-2"} {
		for _, out := range []string{"a.iokl", "b.iokl"} {
			succeed(t, dir, "fit --x x.csv --y y.csv --out "+out+" "+line)
		}
		if mustRead(t, filepath.Join(dir, "a.iokl")) != mustRead(t, filepath.Join(dir, "b.iokl")) {
			t.Errorf("%s: the files differ", line)
		}
	}
}

// A table of words alone is learned from with a header and without one.
func TestWordsAlone(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(36, 7))
	body := rowsText("", 60, func(int) string {
		return []string{"p,flat,foul,", "e,round,none,", "e,flat,none,"}[rng.IntN(3)]
	})
	write(t, dir, "named.csv", "class,cap,odor,\n"+body)
	write(t, dir, "bare.csv", body)
	const flags = " --classes --kernel gaussian:all:1 --lambda 1e-3 --out m.iokl"
	for line, file := range map[string]string{
		"fit --x named.csv --y-columns class" + flags: "named.csv",
		"fit --x bare.csv --y-columns 0" + flags:      "bare.csv",
	} {
		succeed(t, dir, line).err("held out, each row by itself: 100.0 ± 0.0 %")
		command(t, dir, "predict --model m.iokl --json --drop 0 --y-columns 0 --x "+file).
			out(`"rows": 60`, `"accuracy": 1`)
	}
}

// What is said of columns counts them as they stand in the file.
func TestNotesAfterDrop(t *testing.T) {
	dir := t.TempDir()
	text := rowsText("", 40, func(i int) string {
		return fmt.Sprintf("r%d,%d,%s,$%d,%d%%", i, i*i%7, []string{"red", "blue"}[i%2], i*i%11, i*3%17)
	})
	write(t, dir, "named.csv", "id,a,colour,price,y\n"+text)
	write(t, dir, "bare.csv", text)
	for line, want := range map[string][]string{
		"--x named.csv --drop a --keep id --y-columns y": {
			`targets: numbers with marks: column 5 "y" with the sign %`,
			`categories: column 3 "colour" of 2 levels`, `numbers with marks: column 4 "price" with the sign $`,
		},
		"--x bare.csv --drop 0,1 --y-columns 4": {
			"targets: numbers with marks: column 5 with the sign %",
			"categories: column 3 of 2 levels", "numbers with marks: column 4 with the sign $",
		},
	} {
		const fit = "fit --kernel rff:gaussian:all:1:20 --lambda 1e-2 "
		succeed(t, dir, fit+line).err(want...)
		succeed(t, dir, fit+line+" --stream").err(want[1:]...) // of targets nothing
	}
}

// A fit at one λ ends with its error on held-out rows, about that of a fit which keeps models without each fold, and
// its model keeps none of these.
func TestHeldOutOfOneSetting(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(36, 6))
	write(t, dir, "t.csv", rowsText("a,b,w,u,v", 60, func(i int) string {
		x, z := rng.NormFloat64(), rng.NormFloat64()
		hole := fmt.Sprint(x * z)
		if i%7 == 3 {
			hole = ""
		}
		return fmt.Sprintf("%g,%g,%d,%g,%s", x, z, 1+i%2, x+.1*rng.NormFloat64(), hole)
	}))
	for name, flags := range map[string]string{
		"explicit features": "--drop w --y-columns u --drop v --kernel linear:all",
		"missing targets":   "--drop w --y-columns u,v --kernel gaussian:all:1",
		"weights":           "--weights w --y-columns u --drop v --kernel gaussian:all:1",
		"a sum":             "--drop w --y-columns u --drop v --kernel gaussian:all:1 --model sum",
		"huber":             "--drop w --y-columns u --drop v --kernel gaussian:all:1 --loss huber",
	} {
		line := "fit --x t.csv --lambda 1e-2 --out m.iokl " + flags
		held := func(line string) string {
			r := command(t, dir, line)
			measure := "is off by "
			if name == "huber" {
				measure = "has a median absolute error of "
			}
			_, text, _ := strings.Cut(r.stderr, ": u "+measure)
			if text, _, _ = strings.Cut(text, "; "); r.status != exitOK || text == "" {
				t.Fatalf("%s: %+v", name, r)
			}
			return text
		}
		number := func(text string) (v float64) {
			_, _ = fmt.Sscan(text, &v)
			return v
		}
		want, got := number(held(line+" --interval-folds 5")), number(held(line))
		if !(math.Abs(got-want) <= .3*want) {
			t.Errorf("%s: off by %g, with folds kept by %g", name, got, want)
		}
		refuse(t, dir, "predict --model m.iokl --x t.csv --interval .9 --method cv+").err("keeps no models of folds")
	}
}

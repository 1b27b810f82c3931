package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputAxis fits curves by the command, with points from a file and from the header, and predicts other points.
func TestOutputAxis(t *testing.T) {
	dir := folder(t)
	x, y, two := "a\n", "1,2,4,8\n", "p,q\n0,1\n1,2\n2,4\n"
	for i := range 20 {
		x += fmt.Sprintf("%g\n", float64(i)/10)
		y += fmt.Sprintf("%d,%d,%d,\n", i%7, i%7+i, i%7+3*i)
		if i > 10 {
			y = strings.TrimSuffix(y, ",\n") + fmt.Sprintf(",%d\n", i%7+4*i)
		}
	}
	write(t, dir, "x.csv", x)
	write(t, dir, "y.csv", y)
	write(t, dir, "t.csv", "epoch\n1\n2\n4\n8\n")
	write(t, dir, "new.csv", "epoch\n2\n3\n")
	write(t, dir, "two.csv", two)
	write(t, dir, "nan.csv", "epoch\n1\n2\n\"\"\n8\n")
	const fit = "fit --x x.csv --y y.csv --kernel gaussian:all:median --lambda 1e-3 --header yes --json --quiet "
	var r struct {
		Chosen struct {
			OutputKernel string `json:"output_kernel"`
		} `json:"chosen"`
		Objective float64 `json:"objective"`
	}
	command(t, dir, fit+"--output-axis t.csv --out m.iokl").object(t, &r)
	file := r.Objective
	command(t, dir, fit+"--output-axis header --report page.html").object(t, &r)
	if r.Objective != file || r.Chosen.OutputKernel != "matern32:all:median" {
		t.Errorf("%+v, and objective %g by a file", r, file)
	}
	at := command(t, dir, "predict --model m.iokl --x x.csv --output-axis new.csv")
	own := command(t, dir, "predict --model m.iokl --x x.csv")
	if head, _, _ := strings.Cut(at.stdout, "\n"); at.status != exitOK || head != "2,3" {
		t.Fatalf("%+v", at)
	}
	var mine, theirs []float64
	for _, c := range []struct {
		text string
		at   int
		to   *[]float64
	}{{at.stdout, 0, &mine}, {own.stdout, 1, &theirs}} {
		for _, line := range strings.Split(strings.TrimSpace(c.text), "\n")[1:] {
			var v float64
			if _, err := fmt.Sscan(strings.Split(line, ",")[c.at], &v); err != nil {
				t.Fatal(err)
			}
			*c.to = append(*c.to, v)
		}
	}
	for i, v := range mine {
		if d := v - theirs[i]; !(d*d <= 1e-20*(1+v*v)) {
			t.Fatalf("row %d: %g at epoch 2, and %g of target 2", i+1, v, theirs[i])
		}
	}
	if r := command(t, dir, "info m.iokl"); !strings.Contains(r.stdout, "epoch; L is matern32:all:median on it") {
		t.Errorf("%+v", r)
	}
	command(t, dir, fit+"--out plain.iokl")
	for _, c := range []struct{ line, says string }{
		{fit + "--output-axis two.csv --out no.iokl", "3 points, and there are 4 outputs"},
		{fit + "--output-axis nan.csv --out no.iokl", "point 3 of the axis of the outputs: coordinate epoch"},
		{fit + "--output-axis absent.csv --out no.iokl", "absent.csv"},
		{fit + "--output-axis t.csv --learn l --out no.iokl", "learns L"},
		{fit + "--output-axis t.csv --loss huber --out no.iokl", "squared loss"},
		{fit + "--output-axis t.csv --stream --out no.iokl", "--stream"},
		{fit + "--output-axis t.csv --classes --y-columns 0 --out no.iokl", "--classes"},
		{"fit --x y.csv --y x.csv --lambda 1 --output-axis header --out no.iokl", `the target "a" is no number`},
		{"predict --model plain.iokl --x x.csv --output-axis new.csv", "without an axis"},
		{"predict --model m.iokl --x x.csv --output-axis two.csv", "1 coordinates"},
		{"predict --model m.iokl --x x.csv --output-axis new.csv --std", "leave out"},
	} {
		r := command(t, dir, c.line)
		if r.status != exitUsage || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: %+v", c.line, r)
		}
		if _, err := os.Stat(filepath.Join(dir, "no.iokl")); err == nil {
			t.Fatalf("%s: wrote a model", c.line)
		}
	}
}

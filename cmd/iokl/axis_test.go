package main

import (
	"fmt"
	"math"
	"slices"
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
	command(t, dir, fit+"--output-axis t.csv --out m.iokl").object(&r)
	file := r.Objective
	command(t, dir, fit+"--output-axis header --report page.html").object(&r)
	if r.Objective != file || r.Chosen.OutputKernel != "matern32:all:median" {
		t.Errorf("%+v, and objective %g by a file", r, file)
	}
	head, mine := numbers(t, succeed(t, dir, "predict --model m.iokl --x x.csv --output-axis new.csv").stdout)
	_, theirs := numbers(t, succeed(t, dir, "predict --model m.iokl --x x.csv").stdout)
	if !slices.Equal(head, []string{"2", "3"}) {
		t.Errorf("columns %q", head)
	}
	for i := range mine {
		if at, own := mine[i][0], theirs[i][1]; !(math.Abs(at-own) <= 1e-10*(1+math.Abs(own))) {
			t.Fatalf("row %d: %g at epoch 2, and %g of target 2", i+1, at, own)
		}
	}
	command(t, dir, "info m.iokl").out("epoch; L is matern32:all:median on it")
	command(t, dir, fit+"--out plain.iokl")
	refuseAll(t, dir, strings.ReplaceAll(`
		FIT two.csv => 3 points, and there are 4 outputs
		FIT nan.csv => point 3 of the axis of the outputs: coordinate epoch
		FIT absent.csv => absent.csv
		FIT t.csv --learn l => learns L
		FIT t.csv --loss huber => squared loss
		FIT t.csv --stream => --stream
		FIT t.csv --classes --y-columns 0 => --classes
		fit --x y.csv --y x.csv --lambda 1 --output-axis header --out no.iokl => the target "a" is no number
		predict --model plain.iokl --x x.csv --output-axis new.csv => without an axis
		predict --model m.iokl --x x.csv --output-axis two.csv => 1 coordinates
		predict --model m.iokl --x x.csv --output-axis new.csv --std => leave out
	`, "FIT", fit+"--out no.iokl --output-axis"))
}

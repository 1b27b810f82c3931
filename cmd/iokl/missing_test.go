package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
)

// holes writes x.csv and y.csv of 40 rows, where every third row has one empty target, and returns the targets.
func holes(t *testing.T, dir string) [][]string {
	t.Helper()
	var y [][]string
	write(t, dir, "hx.csv", rowsText("u,v", 40, func(i int) string {
		u, v := math.Sin(float64(3*i)), math.Cos(float64(5*i))
		y = append(y, []string{fmt.Sprint(u*v + u), fmt.Sprint(2*u*v + 2*u + v/10)})
		if i%3 == 0 {
			y[i][i%2] = ""
		}
		return fmt.Sprintf("%g,%g", u, v)
	}))
	write(t, dir, "hy.csv", rowsText("a,b", 40, func(i int) string { return strings.Join(y[i], ",") }))
	return y
}

// Empty target cells are learned from the others, counted, and filled in; the observed
// ones come out as they went in.
func TestMissingTargets(t *testing.T) {
	dir := folder(t)
	y := holes(t, dir)
	succeed(t, dir, "fit --x hx.csv --y hy.csv --kernel gaussian:all:median --lambda 1e-3 --out h.iokl --json").
		out(`"observed_cells": 66,`, "14 of 80 target cells are missing, in 2 target columns a, b")
	refuse(t, dir, "fit --x hx.csv --y hy.csv --lambda 1e-3 --missing-targets error").
		err("is empty, and --missing-targets error refuses")
	command(t, dir, "info h.iokl").out("observed cells", "a, b")
	succeed(t, dir, "predict --model h.iokl --x hx.csv --y hy.csv --fill --out filled.csv --json").out(`"filled": 14`)
	succeed(t, dir, "predict --model h.iokl --x hx.csv --out plain.csv")
	filled, plain := mustTable(t, filepath.Join(dir, "filled.csv")), mustTable(t, filepath.Join(dir, "plain.csv"))
	for i, row := range y {
		for j, cell := range row {
			got := blas.Row(filled.Data, i)[j]
			if cell == "" {
				if want := blas.Row(plain.Data, i)[j]; got != want {
					t.Errorf("row %d: %g in an empty cell, predicted is %g", i, got, want)
				}
			} else if fmt.Sprint(got) != cell {
				t.Errorf("row %d: %g in place of the observed %s", i, got, cell)
			}
		}
	}
	succeed(t, dir, "predict --model h.iokl --x hx.csv --y hy.csv --fill --std --out sure.csv --json").out(`"noise": [`)
	deviations := mustTable(t, filepath.Join(dir, "sure.csv"))
	for i, row := range y {
		for j, cell := range row { // a, a_std, b, b_std, …
			if std := blas.Row(deviations.Data, i)[2*j+1]; (cell == "") != (std > 0) {
				t.Errorf("row %d: deviation %g of the cell %q", i, std, cell)
			}
		}
	}
	refuseAll(t, dir, `
		predict --model h.iokl --x hx.csv --interval .9 --method boot --out o.csv => want held-out, cv+, jackknife+ or conformal
		predict --model h.iokl --x hx.csv --fill => give them by --y
		predict --model h.iokl --x hx.csv --y yt.csv --fill => 15 rows
		cv --x hx.csv --y hy.csv --hide some => --hide
		fit --x hx.csv --y hy.csv --hide some => --hide
		fit --x hx.csv --y hy.csv --missing-targets drop => --missing-targets
		fit --stream --x hx.csv --y hy.csv --kernel linear:all --lambda 1 --missing-targets error => row 1, target column 1 "a" is missing
	`)
	succeed(t, dir, "predict --model h.iokl --x hx.csv --y hy.csv --json").noOut("NaN")
}

// Of three outputs with missing cells, two of which follow one function with opposite signs, info names
// these two as those that help each other, and not the third.
func TestMissingHelp(t *testing.T) {
	dir := folder(t)
	rng := rand.New(rand.NewPCG(7, 3))
	var y []string
	write(t, dir, "sx.csv", rowsText("u,v", 120, func(int) string {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		var cells []string
		for _, f := range []float64{math.Sin(2 * v), math.Sin(3*u) + v/5, -math.Sin(3*u) - v/5} {
			cells = append(cells, fmt.Sprint(f+0.1*rng.NormFloat64()))
			if rng.Float64() < 0.4 {
				cells[len(cells)-1] = ""
			}
		}
		y = append(y, strings.Join(cells, ","))
		return fmt.Sprintf("%g,%g", u, v)
	}))
	write(t, dir, "sy.csv", rowsText("alone,up,down", 120, func(i int) string { return y[i] }))
	succeed(t, dir, "fit --x sx.csv --y sy.csv --kernel gaussian:all:median*0.5 --lambda 1e-3 --out s.iokl")
	succeed(t, dir, "info s.iokl").matches(`(?m)^up and down go against each other: their correlation in L is -`,
		`(?m)^alone +up +-?0\.[0-4]`)
}

// Rows that are streamed may lack targets, and give the fit of the rows in memory.
func TestMissingStreamed(t *testing.T) {
	dir := folder(t)
	holes(t, dir)
	const fit = " --x hx.csv --y hy.csv --kernel linear:all --kernel poly:2:all --lambda 1e-3 --tol 1e-8 --json"
	streamed, memory := object[results.Fit](t, dir, "fit --stream"+fit), object[results.Fit](t, dir, "fit"+fit)
	if !(math.Abs(streamed.Objective-memory.Objective) <= 1e-7*memory.Objective) || streamed.ObservedCells != 66 {
		t.Errorf("objective %.10g of %d cells, in memory %.10g", streamed.Objective, streamed.ObservedCells,
			memory.Objective)
	}
	if text := strings.Join(streamed.Warnings, "; "); !strings.Contains(text,
		"14 of 80 target cells are missing, in 2 target columns a, b") {
		t.Errorf("warnings: %s", text)
	}
	succeed(t, dir, "cv --stream --x hx.csv --y hy.csv --kernel linear:all --lambdas 1e-2,1e-3 --folds 4")
}

// NaN in an array of targets is a missing cell too; both ways to hide are told apart.
func TestMissingCV(t *testing.T) {
	dir := folder(t)
	holes(t, dir)
	writeNpy(t, dir, "hy.npy", mustTable(t, filepath.Join(dir, "hy.csv")).Data)
	mean := map[string]float64{}
	for _, how := range []string{"", " --hide cells", " --hide rows"} {
		cv := object[results.CV](t, dir, "cv --x hx.csv --y hy.npy --kernel gaussian:all:median*0.3 --lambdas 1e-3 "+
			"--norm lp:1 --folds 4 --json"+how)
		mean[how] = cv.Best.Mean
	}
	if mean[""] != mean[" --hide cells"] || mean[""] == mean[" --hide rows"] || !(mean[""] > 0) {
		t.Errorf("errors %v", mean)
	}
}

// A fit by likelihood says the shares of kernels and residuals in the variance of each output.
func TestLikelihoodInfo(t *testing.T) {
	dir := folder(t)
	rng := rand.New(rand.NewPCG(9, 3))
	var y []string
	write(t, dir, "lx.csv", rowsText("", 200, func(int) string {
		u := rng.NormFloat64()
		y = append(y, fmt.Sprintf("%g,%g", math.Sin(3*u)+0.1*rng.NormFloat64(), rng.NormFloat64()))
		return fmt.Sprint(u)
	}))
	write(t, dir, "ly.csv", rowsText("", 200, func(i int) string { return y[i] }))
	succeed(t, dir, "fit --x lx.csv --y ly.csv --kernel gaussian:all:median*0.05 --learn likelihood --out l.iokl").
		out("log-likelihood")
	succeed(t, dir, "info l.iokl").matches(`(?m)^  residuals +\[0\.0\d\d (0\.[89]\d\d|1\.000)\]$`).noOut("relative gap")
	refuse(t, dir, "fit --x lx.csv --y ly.csv --learn likelihood --lambda 1e-3").err("leave these out")
	refuse(t, dir, "cv --x lx.csv --y ly.csv --learn likelihood").err("likelihood")
}

// Blank lines at the end of a table of one column are missing cells where the inputs have as many rows more.
func TestBlankLinesAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x.csv", rowsText("a,b", 20, func(i int) string { return fmt.Sprintf("%d,%d", i, i*i%7) }))
	y := rowsText("y", 17, func(i int) string { return fmt.Sprintf("%g", math.Sin(float64(i))) })
	labels := rowsText("class", 17, func(i int) string { return string(rune('p' + i%2)) })
	for _, c := range map[string]struct {
		text string
		rows int // observed, of 20; 0 where the rows do not match
	}{
		"three":      {y + "\n\n\n", 17},
		"and more":   {y + "\n\n\n\n\n", 17},
		"of Windows": {strings.ReplaceAll(y+"\n\n\n", "\n", "\r\n"), 17},
		"too few":    {y + "\n\n", 0},
		"no end":     {strings.TrimSuffix(y, "\n") + "\n\n\n\n", 17},
	} {
		write(t, dir, "y.csv", c.text)
		const fit = "fit --x x.csv --y y.csv --kernel gaussian:all:median --lambda 1e-3 --out m.iokl --json"
		if c.rows == 0 {
			refuse(t, dir, fit).err("X has 20 rows and Y has 17")
			continue
		}
		succeed(t, dir, fit).out(fmt.Sprintf(`"observed_cells": %d,`, c.rows))
		command(t, dir, "predict --model m.iokl --x x.csv --y y.csv --fill --json --out filled.csv").out(`"filled": 3`)
		command(t, dir, "predict --model m.iokl --x x.csv --y y.csv --json --out p.csv").out(`"rmse"`)
	}
	write(t, dir, "y.csv", labels+"\n\n\n")
	refuse(t, dir, "fit --x x.csv --y y.csv --classes").
		err(`blank lines at its end count for none, so write a missing label there as ""`)
}

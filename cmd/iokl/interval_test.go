package main

import (
	"encoding/csv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/cmd/internal/results"
)

// numbers are the rows of a CSV table below its header.
func numbers(t *testing.T, text string) (header []string, rows [][]float64) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, rec := range all[1:] {
		row := make([]float64, len(rec))
		for j, cell := range rec {
			if row[j], err = strconv.ParseFloat(cell, 64); err != nil {
				t.Fatal(err)
			}
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

func TestPredictIntervals(t *testing.T) {
	dir := folder(t)
	fit := "fit --x x.csv --y y.csv --lambda 1e-3 --kernel gaussian:all --out m.iokl"
	succeed(t, dir, fit+" --interval-folds 4")
	plain, predictions := numbers(t, command(t, dir, "predict --model m.iokl --x xt.csv").stdout)
	n := len(plain)
	for _, method := range []string{"", " --method cv+", " --method jackknife+", " --local --joint"} {
		header, rows := numbers(t,
			command(t, dir, "predict --model m.iokl --x xt.csv --interval .8 --std"+method).stdout)
		if len(header) != 4*n || len(rows) != len(predictions) {
			t.Fatalf("%s: %d columns, %d rows", method, len(header), len(rows))
		}
		for j, name := range plain {
			if want := []string{name, name + "_lo", name + "_hi", name + "_std"}; !slices.Equal(header[4*j:4*j+4],
				want) {
				t.Errorf("columns %s, want %s", header[4*j:4*j+4], want)
			}
			for i, row := range rows {
				if f, lo, hi, std := row[4*j], row[4*j+1], row[4*j+2], row[4*j+3]; f != predictions[i][j] ||
					!(lo <= f && f <= hi && lo < hi && std > 0) {
					t.Errorf("%s row %d, %s: %g in [%g, %g], deviation %g", method, i, name, f, lo, hi, std)
				}
			}
		}
	}
	r := object[predictReport](t, dir, "predict --model m.iokl --x xt.csv --y yt.csv --interval .8 --json")
	if len(r.Coverage) != n || len(r.Low) != len(predictions) || r.JointCoverage == nil ||
		!(slices.Min(r.MeanWidth) > 0) || !(slices.Min(r.Coverage) > 0.5) {
		t.Errorf("%+v", r.intervalReport)
	}
	why := object[whyReport](t, dir, "predict --model m.iokl --x xt.csv --why 2 --json")
	if why.Row != 2 || !slices.Equal(why.Prediction, predictions[1]) || len(why.Influences) < 10 ||
		!(math.Abs(why.Influences[0].Change[0]) > 0) {
		t.Errorf("%+v", why)
	}
	succeed(t, dir, "predict --model m.iokl --x xt.csv --why 2").
		out("changed by training row " + strconv.Itoa(why.Influences[0].Row) + " ")
	succeed(t, dir, fit)
	refuseAll(t, dir, `
		predict --model m.iokl --x xt.csv --interval 2 => between 0 and 1
		predict --model m.iokl --x xt.csv --method cv+ => give --interval
		predict --model m.iokl --x xt.csv --interval .9 --method bayes => cv+, jackknife+ or conformal
		predict --model m.iokl --x xt.csv --interval .9 --method cv+ => keeps no models of folds
		predict --model m.iokl --x xt.csv --interval .99999 => too few
		predict --model m.iokl --x xt.csv --why 100000 => rows
		fit --x x.csv --y y.csv --interval-folds 1 => at least 2
		predict --model m.iokl --gram g.npz:Kx --std => --x
	`)
}

func TestPredictSetsOfClasses(t *testing.T) {
	dir := exampleFolder(t)
	succeed(t, dir, "fit --x digits.csv.gz --x-columns 0-63 --y-columns 64 --classes --lambda 1e-2 --kernel "+
		"gaussian:all --out c.iokl --interval-folds 3")
	r := command(t, dir, "predict --model c.iokl --x digits.csv.gz --x-columns 0-63 --interval .9")
	all, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
	if err != nil || len(all) != 31 || all[0][0] != "class" || all[0][1] != "set" || all[0][3] != all[0][2]+"_p" {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, rec := range all[1:] {
		var sum float64
		for j := 3; j < len(rec); j += 2 {
			p, err := strconv.ParseFloat(rec[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += p
		}
		if !slices.Contains(strings.Split(rec[1], "|"), rec[0]) || math.Abs(sum-1) > 1e-9 {
			t.Errorf("class %s, set %s, probabilities sum to %g", rec[0], rec[1], sum)
		}
	}
	s := object[predictReport](t, dir, "predict --model c.iokl --x digits.csv.gz --x-columns 0-63 --y digits.csv.gz "+
		"--y-columns 64 --interval .9 --json")
	if len(s.Coverage) != 1 || !(s.Coverage[0] > 0.8) || !(s.MeanWidth[0] >= 1) {
		t.Errorf("%+v", s.intervalReport)
	}
}

// A target that is changed on purpose is the most surprising one.
func TestInfoFindsSurprises(t *testing.T) {
	dir := folder(t)
	lines := strings.Split(mustRead(t, filepath.Join(dir, "y.csv")), "\n")
	_, v, _ := strings.Cut(lines[17], ",")
	lines[17] = "25," + v
	write(t, dir, "y.csv", strings.Join(lines, "\n"))
	succeed(t, dir, "fit --x x.csv --y y.csv --lambda 1e-2 --kernel gaussian:all:median --out m.iokl")
	r := object[results.Info](t, dir, "info m.iokl --json")
	if len(r.Surprising) == 0 || r.Surprising[0].Row != 17 || r.Surprising[0].Output != r.Outputs[0] ||
		!(r.Surprising[0].Residual > 10) || !(r.Freedom > 1) {
		t.Errorf("%+v", r)
	}
	command(t, dir, "info m.iokl").out("row 17, ", "degrees of freedom")
}

func TestCVLeaveOneOut(t *testing.T) {
	dir := folder(t)
	line := "cv --x x.csv --y y.csv --kernel gaussian:all:median --learn none --lambdas 1e-1,1e-2,1e-3 --folds "
	r, ten := object[results.CV](t, dir, line+"loo --json"), object[results.CV](t, dir, line+"10 --json")
	if r.Folds != 40 || len(r.Points) != 3 || !(r.Points[0].Freedom < r.Points[2].Freedom) {
		t.Errorf("%+v", r)
	}
	for i, p := range r.Points {
		if q := ten.Points[i]; !(math.Abs(math.Log(p.Mean/q.Mean)) < 0.5) {
			t.Errorf("λ = %g: error %g by rows, %g by folds", p.Lambda, p.Mean, q.Mean)
		}
	}
	succeed(t, dir, line+"loo").out("degrees of freedom")
	succeed(t, dir, "cv --gram g.npz:Ks --y g.npz:Y --folds loo")
	refuseAll(t, dir, strings.ReplaceAll(`
		FOLDS many => neither a number nor loo
		FOLDS loo --time-ordered => use folds
		FOLDS 1 => at least 2
	`, "FOLDS ", line))
}

// Coverage is a share of whole rows: 1 where all are covered, whatever their number.
func TestCoverageIsAShare(t *testing.T) {
	for rows := 1; rows <= 200; rows++ {
		r, Y := new(intervalReport), mat.NewDense(rows, 2, nil)
		for i := range rows {
			r.Low, r.High = append(r.Low, []float64{-1, -1}), append(r.High, []float64{1, 1})
			if i%3 == 2 {
				Y.Set(i, 1, 5)
			}
		}
		r.cover(Y, nil)
		within := float64(rows-rows/3) / float64(rows)
		if r.Coverage[0] != 1 || r.Coverage[1] != within || *r.JointCoverage != within {
			t.Errorf("%d rows: %v, together %v; want 1 and %v", rows, r.Coverage, *r.JointCoverage, within)
		}
		sets := &intervalReport{Sets: slices.Repeat([]string{"a|b"}, rows)}
		if sets.cover(Y, []string{"a", "b"}); sets.Coverage[0] != 1 || math.Abs(sets.MeanWidth[0]-2) > 1e-12 {
			t.Errorf("%d rows: sets %+v", rows, sets)
		}
	}
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
)

// Weights from a file are those of a column, which is then no input; losses are recorded, and quantiles have columns.
func TestWeightsAndLosses(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(40, 0)
	lines, file := strings.Split(strings.TrimSpace(x), "\n"), "w\n"
	for i := range lines {
		if i == 0 {
			lines[i] += ",w"
			continue
		}
		lines[i] += fmt.Sprintf(",%d", i%3)
		file += fmt.Sprintf("%d\n", i%3)
	}
	write(t, dir, "xw.csv", strings.Join(lines, "\n")+"\n")
	write(t, dir, "w.csv", file)
	write(t, dir, "y.csv", y)
	type report struct {
		Objective float64 `json:"objective"`
		Loss      string  `json:"loss"`
		Converged bool    `json:"converged"`
	}
	const fit = " --y y.csv --kernel gaussian:all:1 --lambda 1e-2 --json --quiet "
	var plain, byFile, byColumn, huber report
	command(t, dir, "fit --x x.csv"+fit).object(&plain)
	command(t, dir, "fit --x x.csv --weights w.csv"+fit).object(&byFile)
	command(t, dir, "fit --x xw.csv --weights w --out w.iokl"+fit).object(&byColumn)
	if byFile.Objective != byColumn.Objective || byFile.Objective == plain.Objective {
		t.Errorf("objectives %g of a file, %g of a column, %g without", byFile.Objective, byColumn.Objective,
			plain.Objective)
	}
	succeed(t, dir, "predict --model w.iokl --x xt.csv")
	command(t, dir, "fit --x x.csv --loss huber:0.5"+fit).object(&huber)
	if huber.Loss != "huber:0.5" || !huber.Converged {
		t.Errorf("%+v", huber)
	}
	succeed(t, dir, "fit --x x.csv --loss quantile:.9,.1 --out q.iokl"+fit)
	r := command(t, dir, "predict --model q.iokl --x xt.csv")
	if head, _, _ := strings.Cut(r.stdout, "\n"); head != "u_q0.1,u_q0.9,v_q0.1,v_q0.9" {
		t.Errorf("%+v", r)
	}
	const folds = "fit --x x.csv --loss quantile:.9,.1 --interval-folds 4"
	succeed(t, dir, folds+" --out q.iokl"+fit)
	r = command(t, dir, "predict --model q.iokl --x xt.csv --interval .7")
	if head, _, _ := strings.Cut(r.stdout, "\n"); head != "u_q0.1,u_q0.9,u_lo,u_hi,v_q0.1,v_q0.9,v_lo,v_hi" {
		t.Errorf("%+v", r)
	}
	succeed(t, dir, "predict --model q.iokl --x xt.csv --y yt.csv --interval .7 --method conformal").
		out("v  intervals hold", "u_q0.9  rmse")
	command(t, dir, folds+" --y y.csv --kernel gaussian:all:1 --lambda 1e-2").
		err("held out, 4 folds: u_q0.1 has a loss of ")
	for _, line := range []string{
		"predict --model q.iokl --x xt.csv --y yt.csv", "info q.iokl", "report q.iokl --out q.html",
	} {
		command(t, dir, line).noErr("internal error")
	}
	var cv struct {
		Metric string `json:"metric"`
		Best   struct {
			Mean float64 `json:"mean"`
		} `json:"best"`
	}
	command(t, dir, "cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1e-2,1e-3 --folds 3 --loss huber --json "+
		"--quiet").object(&cv)
	if cv.Metric != "loss" || !(cv.Best.Mean < 0.5) || math.IsNaN(cv.Best.Mean) {
		t.Errorf("%+v", cv)
	}
}

// The noise that is learned has a column beside deviations, wider intervals where it is larger, and is told of.
func TestNoiseLearn(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(33, 4))
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range 200 {
		a := float64(i) / 50
		fmt.Fprintf(&b, "%g,%g\n", a, math.Sin(a)+.1*math.Exp(.7*a)*rng.NormFloat64())
	}
	write(t, dir, "t.csv", b.String())
	succeed(t, dir, "fit --x t.csv --y-columns y --kernel gaussian:all:median --lambda 1e-3 --noise learn --out "+
		"m.iokl --json").out(`"learned_noise": true`)
	command(t, dir, "info m.iokl").out("learned as a function of the inputs")
	write(t, dir, "ends.csv", "a\n0.2\n3.8\n")
	r := command(t, dir, "predict --model m.iokl --x ends.csv --interval .9 --std")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if lines[0] != "y,y_lo,y_hi,y_std,y_noise" || len(lines) != 3 {
		t.Fatalf("%+v", r)
	}
	var v [2][5]float64
	for i, line := range lines[1:] {
		if _, err := fmt.Sscanf(line, "%g,%g,%g,%g,%g", &v[i][0], &v[i][1], &v[i][2], &v[i][3], &v[i][4]); err != nil {
			t.Fatal(err)
		}
	}
	if ratio := (v[1][2] - v[1][1]) / (v[0][2] - v[0][1]); !(ratio > 3) || !(v[1][4] > 3*v[0][4]) {
		t.Errorf("%v: widths in the ratio %g, of noise that has %g", v, ratio, math.Exp(.7*3.6))
	}
}

// Bad weights, noise and losses have exit status 2 and leave nothing behind.
func TestBadWeightsAndLosses(t *testing.T) {
	dir := folder(t)
	write(t, dir, "neg.csv", "w\n"+strings.Repeat("1\n", 39)+"-1\n")
	write(t, dir, "zero.csv", "w\n"+strings.Repeat("0\n", 40))
	write(t, dir, "few.csv", "w\n"+strings.Repeat("1\n", 39))
	write(t, dir, "gap.csv", "w,v\n"+strings.Repeat("1,2\n", 39)+"1,\n")
	write(t, dir, "red.csv", "w\n"+strings.Repeat("1\n", 39)+"red\n")
	before := listing(t, dir)
	for name, c := range map[string][2]string{
		"negative":     {"--weights neg.csv", "row 40, column 1 is -1"},
		"all zero":     {"--weights zero.csv", "all weights are 0"},
		"few":          {"--weights few.csv", "the weights are 39×1"},
		"gap":          {"--weights gap.csv", "row 40, column 2 is NaN"},
		"word":         {"--weights red.csv", "red"},
		"no column":    {"--weights weight", "weight"},
		"no file":      {"--weights weight.csv", "weight.csv"},
		"noise 0":      {"--noise zero.csv", "must be positive"},
		"noise learn":  {"--noise learn --loss quantile:0.5", "squared and huber"},
		"stdin":        {"--weights -", "--weights -"},
		"unknown loss": {"--loss absolute", "unknown loss"},
		"δ":            {"--loss huber:-1", "δ above 0"},
		"τ":            {"--loss quantile:0.5,2", "τ between 0 and 1"},
		"no classes":   {"--loss logistic", "targets 0 and 1"},
		"stream":       {"--loss huber --stream", "--stream"},
		"stream noise": {"--noise zero.csv --stream", "--noise"},
		"stream cells": {"--weights gap.csv --stream", "2 columns"},
		"stream few":   {"--weights few.csv --stream", "few.csv has 39 rows, and x.csv has more"},
		"stream below": {"--weights neg.csv --stream", "neg.csv: row 40: the weight is -1"},
		"stream zero":  {"--weights zero.csv --stream", "all weights are 0"},
		"stream word":  {"--weights red.csv --stream", "red"},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := " --kernel gaussian:all:1 "
			if strings.Contains(c[0], "--stream") {
				kernel = " --kernel linear:all "
			}
			refuse(t, dir, "fit --x x.csv --y y.csv --lambda 1e-2 --out new.iokl"+kernel+c[0]).err(c[1])
		})
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("left %v, had %v", after, before)
	}
}

// Probabilities of classes stand beside their outputs; targets that are no classes and models without are refused.
func TestProba(t *testing.T) {
	dir := folder(t)
	labels := "class\n"
	for i := range 40 {
		labels += map[bool]string{true: "red", false: "blue"}[math.Sin(float64(7*i)) > 0] + "\n"
	}
	write(t, dir, "c.csv", labels)
	const fit = "fit --x x.csv --kernel gaussian:all:1 --lambda 1e-3 --quiet --json --out "
	succeed(t, dir, fit+"c.iokl --y c.csv --classes --loss logistic")
	r := command(t, dir, "predict --model c.iokl --x xt.csv --proba")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if lines[0] != "class,blue,blue_p,red,red_p" || len(lines) != 16 {
		t.Fatalf("%+v", r)
	}
	for _, line := range lines[1:] {
		var label string
		var f, p [2]float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%s %g %g %g %g", &label, &f[0], &p[0], &f[1],
			&p[1]); err != nil {
			t.Fatal(err)
		}
		if math.Abs(p[0]+p[1]-1) > 1e-9 || (label == "red") != (p[1] > p[0]) {
			t.Errorf("%s", line)
		}
	}
	succeed(t, dir, fit+"r.iokl --y y.csv")
	refuse(t, dir, "predict --model r.iokl --x xt.csv --proba").err("no probabilities")
}

// The last line of a fit by the loss logistic and its page have the log loss and Brier score of held-out probabilities,
// counted here once more, with and without calibration.
func TestHeldOutProbabilities(t *testing.T) {
	dir := folder(t)
	rng := rand.New(rand.NewPCG(9, 9))
	rows := "a,high\n"
	for range 120 {
		a := rng.NormFloat64()
		rows += fmt.Sprintf("%g,%d\n", a, map[bool]int{true: 1}[a+rng.NormFloat64() > 0])
	}
	write(t, dir, "h.csv", rows)
	for _, classes := range []string{"", " --classes"} {
		r := command(t, dir, "fit --x h.csv --y-columns high --loss logistic --kernel gaussian:all:.3 --lambda 1e-3 "+
			"--out h.iokl --report h.html"+classes)
		m, err := iokl.Load(filepath.Join(dir, "h.iokl"))
		if r.status != exitOK || err != nil {
			t.Fatalf("%+v %v", r, err)
		}
		h, err := m.HeldOut(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, n := h.Targets.Dims()
		score := func(P *mat.Dense) (logLoss, brier float64) {
			for i := range 120 {
				p, y := P.At(i, n-1), h.Targets.At(i, n-1)
				logLoss -= (y*math.Log(p) + (1-y)*math.Log(1-p)) / 120
				brier += (y - p) * (y - p) / 120
			}
			return logLoss, brier
		}
		l, b := score(h.Probabilities)
		want := fmt.Sprintf("log loss %.3g ± ", l)
		if !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, fmt.Sprintf("; Brier score %.3g;", b)) {
			t.Errorf("no %q in %q", want, r.stderr)
		}
		text, err := os.ReadFile(filepath.Join(dir, "h.html"))
		if err != nil {
			t.Fatal(err)
		}
		l, b = score(h.Uncalibrated)
		page := said(string(text))
		want = fmt.Sprintf("Without calibration the log loss is %.3g and the Brier score %.3g.", l, b)
		if !strings.Contains(page, want) || !strings.Contains(page, "probability of the class predicted") {
			t.Errorf("no %q in %.3000s", want, page)
		}
	}
	r := command(t, dir, "fit --x h.csv --y-columns high --loss logistic --kernel gaussian:all:.3 --lambda 1e-3 "+
		"--interval-folds 0 --out h.iokl --report h.html")
	text, err := os.ReadFile(filepath.Join(dir, "h.html"))
	page := said(string(text))
	if err != nil || !strings.Contains(r.stderr, "high has log loss") ||
		!strings.Contains(page, "Errors of the prob") || strings.Contains(page, "calibration the") {
		t.Errorf("not calibrated: %v, %+v", err, r)
	}
}

// Rows of weight 0 are as not there: the model file is the same, byte for byte, and so are its predictions and what is
// said about held-out rows. Their words, classes and numbers are not seen.
func TestZeroRowsOfTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	clean, full := "a,kind,w,y,class\n", "a,kind,w,y,class\n"
	for i := range 60 {
		a, kind := rng.NormFloat64(), []string{"red", "blue"}[i%2]
		row := fmt.Sprintf("%.4f,%s,%d,%.4f,%s\n", a, kind, 1+i%2, 2*a+float64(i%2)+.1*rng.NormFloat64(),
			[]string{"no", "yes"}[(i/2)%2])
		clean, full = clean+row, full+row
		if i%3 == 0 {
			full += fmt.Sprintf("n.a. %d,green,0,%g,maybe\n", i, 1e6*rng.NormFloat64())
		}
	}
	dir, seconds := folder(t), regexp.MustCompile(`[\d.e-]+ s\b`)
	for _, flags := range []string{
		"--y-columns y --drop class", "--y-columns class --drop y --classes",
		"--y-columns y --drop class --folds-by kind",
		"--y-columns y --drop class --kernel gaussian:all:1 --lambda 1e-3 --loss quantile:.1,.9 --interval-folds 4",
		"--y-columns y --drop class --missing error --missing-targets error --kernel linear:all --lambda 1e-3",
	} {
		var models, said []string
		for _, text := range []string{clean, full} {
			write(t, dir, "t.csv", text)
			write(t, dir, "new.csv", clean)
			r := succeed(t, dir, "fit --x t.csv --weights w --out m.iokl "+flags)
			b, err := os.ReadFile(filepath.Join(dir, "m.iokl"))
			if err != nil {
				t.Fatal(err)
			}
			interval := ""
			if strings.Contains(flags, "interval-folds") {
				interval = " --interval .8"
			}
			p := command(t, dir, "predict --model m.iokl --x new.csv"+interval)
			models = append(models, string(b))
			said = append(said, seconds.ReplaceAllString(r.stdout+r.stderr+p.stdout, ""))
		}
		if models[0] != models[1] || said[0] != said[1] {
			t.Errorf("%s: the models are the same: %t\n%s\n%s", flags, models[0] == models[1], said[0], said[1])
		}
	}
}

// Widths of intervals follow the weights of the rows to predict, from the column that the fit has them from or another.
func TestWeightsOfNewRows(t *testing.T) {
	dir := folder(t)
	rng := rand.New(rand.NewPCG(6, 6))
	train := "x,w,y\n"
	for i := range 120 {
		x, w := rng.NormFloat64(), []float64{100, 1}[i%2]
		train += fmt.Sprintf("%.4f,%g,%.4f\n", x, w, x+rng.NormFloat64()/math.Sqrt(w))
	}
	write(t, dir, "t.csv", train)
	write(t, dir, "new.csv", "x,w\n0,1\n0,4\n0,0\n0,\n")
	write(t, dir, "bare.csv", "x\n0\n0\n0\n0\n")
	write(t, dir, "w.csv", "v\n1\n4\n100\n1\n")
	const fit = "fit --x t.csv --y-columns y --weights w --kernel linear:all --lambda 1e-3 --interval-folds 4 " +
		"--out m.iokl"
	succeed(t, dir, fit)
	for flags, want := range map[string][]float64{
		"--x new.csv": {1, 2, 1, 1}, "--x bare.csv": {1, 1, 1, 1}, "--x bare.csv --weights w.csv": {1, 2, 10, 1},
	} {
		r := command(t, dir, "predict --model m.iokl --interval .9 "+flags)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if r.status != exitOK || len(lines) != 5 {
			t.Fatalf("%s: %+v", flags, r)
		}
		var widths []float64
		for _, line := range lines[1:] {
			var f, lo, hi float64
			if _, err := fmt.Sscanf(line, "%g,%g,%g", &f, &lo, &hi); err != nil {
				t.Fatal(err)
			}
			widths = append(widths, hi-lo)
		}
		for i, w := range want {
			if got := widths[0] / widths[i]; math.Abs(got/w-1) > .1 {
				t.Errorf("%s: widths %v", flags, widths)
			}
		}
	}
	refuseAll(t, dir, `
		predict --model m.iokl --x bare.csv --weights w.csv => give --interval
		predict --model m.iokl --x bare.csv --interval .9 --weights t.csv:w => 
	`)
}

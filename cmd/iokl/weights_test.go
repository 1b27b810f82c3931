package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/cmd/internal/results"
)

// Weights from a file are those of a column, which is then no input; losses are recorded, and quantiles have columns.
func TestWeightsAndLosses(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(40, 0)
	weight := rowsText("w", 40, func(i int) string { return strconv.Itoa((i + 1) % 3) })
	write(t, dir, "xw.csv", besides(x, weight))
	write(t, dir, "w.csv", weight)
	write(t, dir, "y.csv", y)
	const fit = " --y y.csv --kernel gaussian:all:1 --lambda 1e-2 --json --quiet "
	plain := object[results.Fit](t, dir, "fit --x x.csv"+fit)
	byFile := object[results.Fit](t, dir, "fit --x x.csv --weights w.csv"+fit)
	byColumn := object[results.Fit](t, dir, "fit --x xw.csv --weights w --out w.iokl"+fit)
	if byFile.Objective != byColumn.Objective || byFile.Objective == plain.Objective {
		t.Errorf("objectives %g of a file, %g of a column, %g without", byFile.Objective, byColumn.Objective,
			plain.Objective)
	}
	succeed(t, dir, "predict --model w.iokl --x xt.csv")
	huber := object[results.Fit](t, dir, "fit --x x.csv --loss huber:0.5"+fit)
	if huber.Loss != "huber:0.5" || !huber.Converged {
		t.Errorf("%+v", huber)
	}
	succeed(t, dir, "fit --x x.csv --loss quantile:.9,.1 --out q.iokl"+fit)
	const predict = "predict --model q.iokl --x xt.csv"
	succeed(t, dir, predict).begins("u_q0.1,u_q0.9,v_q0.1,v_q0.9\n")
	const folds = "fit --x x.csv --loss quantile:.9,.1 --interval-folds 4"
	succeed(t, dir, folds+" --out q.iokl"+fit)
	succeed(t, dir, predict+" --interval .7").begins("u_q0.1,u_q0.9,u_lo,u_hi,v_q0.1,v_q0.9,v_lo,v_hi\n")
	succeed(t, dir, predict+" --y yt.csv --interval .7 --method conformal").out("v  intervals hold", "u_q0.9  rmse")
	command(t, dir, folds+" --y y.csv --kernel gaussian:all:1 --lambda 1e-2").
		err("held out, 4 folds: u_q0.1 has a loss of ")
	for _, line := range []string{predict + " --y yt.csv", "info q.iokl", "report q.iokl --out q.html"} {
		command(t, dir, line).noErr("internal error")
	}
	cv := object[results.CV](t, dir, "cv --x x.csv --y y.csv --kernel gaussian:all --lambdas 1e-2,1e-3 --folds 3 "+
		"--loss huber --json --quiet")
	if cv.Metric != "loss" || !(cv.Best.Mean < 0.5) {
		t.Errorf("%+v", cv)
	}
}

// The noise that is learned has a column beside deviations, wider intervals where it is larger, and is told of.
func TestNoiseLearn(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(33, 4))
	write(t, dir, "t.csv", rowsText("a,y", 200, func(i int) string {
		a := float64(i) / 50
		return fmt.Sprintf("%g,%g", a, math.Sin(a)+.1*math.Exp(.7*a)*rng.NormFloat64())
	}))
	succeed(t, dir, "fit --x t.csv --y-columns y --kernel gaussian:all:median --lambda 1e-3 --noise learn --out "+
		"m.iokl --json").out(`"learned_noise": true`)
	command(t, dir, "info m.iokl").out("learned as a function of the inputs")
	write(t, dir, "ends.csv", "a\n0.2\n3.8\n")
	head, v := numbers(t, succeed(t, dir, "predict --model m.iokl --x ends.csv --interval .9 --std").stdout)
	if !slices.Equal(head, []string{"y", "y_lo", "y_hi", "y_std", "y_noise"}) || len(v) != 2 {
		t.Fatalf("columns %q, %d rows", head, len(v))
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
	const fit = "fit --x x.csv --y y.csv --lambda 1e-2 --out new.iokl --kernel "
	refuseAll(t, dir, strings.NewReplacer("EXACT", fit+"gaussian:all:1", "STREAM", fit+"linear:all --stream").Replace(`
		EXACT --weights neg.csv => row 40, column 1 is -1
		EXACT --weights zero.csv => all weights are 0
		EXACT --weights few.csv => the weights are 39×1
		EXACT --weights gap.csv => row 40, column 2 is NaN
		EXACT --weights red.csv => red
		EXACT --weights weight => weight
		EXACT --weights weight.csv => weight.csv
		EXACT --noise zero.csv => must be positive
		EXACT --noise learn --loss quantile:0.5 => squared and huber
		EXACT --weights - => --weights -
		EXACT --loss absolute => unknown loss
		EXACT --loss huber:-1 => δ above 0
		EXACT --loss quantile:0.5,2 => τ between 0 and 1
		EXACT --loss logistic => targets 0 and 1
		STREAM --loss huber => --stream
		STREAM --noise zero.csv => --noise
		STREAM --weights gap.csv => 2 columns
		STREAM --weights few.csv => few.csv has 39 rows, and x.csv has more
		STREAM --weights neg.csv => neg.csv: row 40: the weight is -1
		STREAM --weights zero.csv => all weights are 0
		STREAM --weights red.csv => red
	`))
}

// Probabilities of classes stand beside their outputs; targets that are no classes and models without are refused.
func TestProba(t *testing.T) {
	dir := folder(t)
	write(t, dir, "c.csv", rowsText("class", 40, func(i int) string {
		return map[bool]string{true: "red", false: "blue"}[math.Sin(float64(7*i)) > 0]
	}))
	const fit = "fit --x x.csv --kernel gaussian:all:1 --lambda 1e-3 --quiet --json --out "
	succeed(t, dir, fit+"c.iokl --y c.csv --classes --loss logistic")
	r := command(t, dir, "predict --model c.iokl --x xt.csv --proba")
	lines := r.lines()
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
	write(t, dir, "h.csv", rowsText("a,high", 120, func(int) string {
		a := rng.NormFloat64()
		return fmt.Sprintf("%g,%d", a, map[bool]int{true: 1}[a+rng.NormFloat64() > 0])
	}))
	const fit = "fit --x h.csv --y-columns high --loss logistic --kernel gaussian:all:.3 --lambda 1e-3 --out h.iokl " +
		"--report h.html"
	for _, classes := range []string{"", " --classes"} {
		r := succeed(t, dir, fit+classes)
		m := mustLoad(t, "h.iokl")
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
		r.err(fmt.Sprintf("log loss %.3g ± ", l), fmt.Sprintf("; Brier score %.3g;", b))
		l, b = score(h.Uncalibrated)
		page := said(mustRead(t, "h.html"))
		want := fmt.Sprintf("Without calibration the log loss is %.3g and the Brier score %.3g.", l, b)
		if !strings.Contains(page, want) || !strings.Contains(page, "probability of the class predicted") {
			t.Errorf("no %q in %.3000s", want, page)
		}
	}
	succeed(t, dir, fit+" --interval-folds 0").noErr("log loss")
	if page := said(mustRead(t, "h.html")); strings.Contains(page, "calibration the") {
		t.Errorf("without held-out predictions: %.3000s", page)
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
			interval := ""
			if strings.Contains(flags, "interval-folds") {
				interval = " --interval .8"
			}
			p := command(t, dir, "predict --model m.iokl --x new.csv"+interval)
			models = append(models, mustRead(t, "m.iokl"))
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
	write(t, dir, "t.csv", rowsText("x,w,y", 120, func(i int) string {
		x, w := rng.NormFloat64(), []float64{100, 1}[i%2]
		return fmt.Sprintf("%.4f,%g,%.4f", x, w, x+rng.NormFloat64()/math.Sqrt(w))
	}))
	write(t, dir, "new.csv", "x,w\n0,1\n0,4\n0,0\n0,\n")
	write(t, dir, "bare.csv", "x\n0\n0\n0\n0\n")
	write(t, dir, "w.csv", "v\n1\n4\n100\n1\n")
	succeed(t, dir, "fit --x t.csv --y-columns y --weights w --kernel linear:all --lambda 1e-3 --interval-folds 4 "+
		"--out m.iokl")
	for flags, want := range map[string][]float64{
		"--x new.csv": {1, 2, 1, 1}, "--x bare.csv": {1, 1, 1, 1}, "--x bare.csv --weights w.csv": {1, 2, 10, 1},
	} {
		_, v := numbers(t, succeed(t, dir, "predict --model m.iokl --interval .9 "+flags).stdout)
		if len(v) != 4 {
			t.Fatalf("%s: %d rows", flags, len(v))
		}
		for i, w := range want { // prediction, lower end, upper end
			if ratio := (v[0][2] - v[0][1]) / (v[i][2] - v[i][1]); math.Abs(ratio/w-1) > .1 {
				t.Errorf("%s: intervals %v", flags, v)
			}
		}
	}
	refuseAll(t, dir, `
		predict --model m.iokl --x bare.csv --weights w.csv => give --interval
		predict --model m.iokl --x bare.csv --interval .9 --weights t.csv:w =>
	`)
}

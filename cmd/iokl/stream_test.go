package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/files/table"
)

// large has rows of two inputs and two targets in several forms.
func large(t *testing.T, l int) string {
	t.Helper()
	dir := t.TempDir()
	x, y := csvRows(l, 0)
	write(t, dir, "x.csv", x)
	write(t, dir, "y.csv", y)
	write(t, dir, "both.csv", besides(y, x))
	for _, name := range []string{"x", "y"} {
		writeNpy(t, dir, name+".npy", mustTable(t, filepath.Join(dir, name+".csv")).Data)
	}
	writeParquet(t, dir, "both.parquet", mustTable(t, filepath.Join(dir, "both.csv")).Data)
	return dir
}

func writeNpy(t *testing.T, dir, name string, a blas.General) {
	t.Helper()
	if err := table.WriteNpy(filepath.Join(dir, name), a); err != nil {
		t.Fatal(err)
	}
}

// sample is a row of both.parquet.
type sample struct {
	U float64 `parquet:"u"`
	V float64 `parquet:"v"`
	A float64 `parquet:"a"`
	B float64 `parquet:"b"`
}

func writeParquet(t *testing.T, dir, name string, a blas.General) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[sample](&b, parquet.MaxRowsPerRowGroup(2000))
	for i := range a.Rows {
		r := blas.Row(a, i)
		if _, err := w.Write([]sample{{r[0], r[1], r[2], r[3]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, name, b.String())
}

const streamKernels = " --kernel rff:gaussian:all:0.5,1:40 --kernel linear:all --lambda 1e-3 --tol 1e-8 --json "

func TestStreamCommand(t *testing.T) {
	dir := large(t, 3000)
	var want, got results.Fit
	command(t, dir, "fit --x x.csv --y y.csv --out m.iokl"+streamKernels).object(&want)
	for _, files := range []string{
		"--x x.csv --y y.csv", "--x x.npy --y y.npy",
		"--x both.csv --x-columns a,b --y-columns u,v", "--x both.parquet --x-columns a,b --y-columns u,v",
	} {
		command(t, dir, "fit --stream "+files+streamKernels+"--out s.iokl").object(&got)
		if !(math.Abs(got.Objective-want.Objective) <= 1e-7*want.Objective) || got.Samples != 3000 || !got.Converged {
			t.Errorf("%s: objective %.12g, want %.12g; %d samples", files, got.Objective, want.Objective, got.Samples)
		}
	}
	if got.Outputs[1] != "v" {
		t.Errorf("outputs %v", got.Outputs)
	}
	near(t, "predictions", predictions(t, "s.iokl"), predictions(t, "m.iokl"), 1e-5)
	succeed(t, dir, "fit --stream -v --x x.csv --y y.csv --kernel rff:gaussian:all:1:20").
		err("surveying x.csv: 1024 rows", "chose λ")
}

func predictions(t *testing.T, model string) []float64 {
	t.Helper()
	x := mustTable(t, "x.csv").Data
	P, err := mustLoad(t, model).Predict(blas.Dense(blas.View(x, 0, 0, 50, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return P.RawMatrix().Data
}

// A bad row is named, and all rows before it are kept, whatever the kind of file.
func TestStreamBadRow(t *testing.T) {
	dir := large(t, 7000)
	read := func(name string) blas.General { return mustTable(t, filepath.Join(dir, name)).Data }
	for _, c := range []struct {
		file, flags, want string
		spoil             func()
	}{
		{"x.csv", "--x x.csv --y y.csv", `x.csv: row 6500 (line 6501), column 2 "b": "oops"`, func() {
			lines := strings.SplitAfter(mustRead(t, filepath.Join(dir, "x.csv")), "\n")
			lines[6500] = "0.1,oops\n" // row 6500 below the header
			write(t, dir, "x.csv", strings.Join(lines, ""))
		}},
		{"y.npy", "--x x.npy --y y.npy", "y.npy: row 6500, column 1: +Inf", func() {
			a := read("y.npy")
			a.Data[2*6499] = math.Inf(1)
			writeNpy(t, dir, "y.npy", a)
		}},
		{
			"both.parquet", "--x both.parquet --x-columns a,b --y-columns u,v",
			`both.parquet: row 6500, column 1 "a" is missing`, func() {
				a := read("both.parquet")
				a.Data[4*6499+2] = math.NaN()
				writeParquet(t, dir, "both.parquet", a)
			},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			good := mustRead(t, filepath.Join(dir, c.file))
			c.spoil()
			line := "fit --stream " + c.flags + " --checkpoint " + c.file + ".sums" + streamKernels
			command(t, dir, line).ended(exitUsage).err(c.want)
			write(t, dir, c.file, good)
			var got results.Fit
			command(t, dir, line+"-v").err("going on after the 6499 rows of " + c.file + ".sums").object(&got)
			if got.Samples != 7000 {
				t.Errorf("%d samples", got.Samples)
			}
		})
	}
}

// Every fold, λ, τ and norm comes from the sums of one pass, and the best setting is fitted to them.
func TestStreamCV(t *testing.T) {
	dir := large(t, 3000)
	line := "cv --stream --x x.csv --y y.csv --kernel rff:gaussian:all:0.5,1:40 --folds 4 --metric rmse --lambdas " +
		"1e-1,1e-3,1e-5 --taus 1,2 --norms lp:1 --norms lp:1.5 --json "
	got := object[results.CV](t, dir, line+"--checkpoint sums --out m.iokl --plot pics")
	if len(got.Points) != 12 || got.Folds != 4 || got.Metric != "rmse" || len(got.Best.Folds) != 4 ||
		got.Best.Lambda == 0.1 || len(got.Pictures) != 2 {
		t.Errorf("%d points, %+v", len(got.Points), got)
	}
	if c := mustLoad(t, "m.iokl").Certificate(); c.Lambda != got.Best.Lambda || c.Samples != 3000 {
		t.Errorf("model: %+v", c)
	}
	again := object[results.CV](t, dir, line+"--checkpoint sums") // the sums are there already
	if again.Best.Mean != got.Best.Mean {
		t.Errorf("from the checkpoint: error %g, before %g", again.Best.Mean, got.Best.Mean)
	}
	write(t, dir, "groups.csv", strings.Repeat("p\nq\nr\ns\nt\n", 600))
	grouped := object[results.CV](t, dir, line+"--fold-groups groups.csv")
	if len(grouped.Points) != 12 || grouped.Best.Mean == got.Best.Mean {
		t.Errorf("by groups: %+v", grouped.Best)
	}
	refuseAll(t, dir, strings.ReplaceAll(`
		LINE --metric accuracy => unknown metric "accuracy"
		LINE --time-ordered => no order of time
		LINE --repeats 2 => one set of folds
		LINE --checkpoint sums --fold-groups groups.csv => other data
		LINE --norms lp:3 => lp:3
		cv --x x.csv --y y.csv --checkpoint sums => --stream
	`, "LINE", line))
}

func TestStreamRefusals(t *testing.T) {
	dir := large(t, 300)
	write(t, dir, "short.csv", "u,v\n1,2\n3,4\n")
	write(t, dir, "gap.csv", strings.Repeat("1,2\n", 200)+"3,\n"+strings.Repeat("4,2\n", 99))
	write(t, dir, "words.csv", "a,color,b\n"+strings.Repeat("1,red,2\n2,blue,3\n3,,4\n",
		99)+"1,red,2\n2,blue,3\n1,red,\n")
	write(t, dir, "huge.csv", strings.Repeat("1,2e200\n3,-1e200\n", 150))
	refuseAll(t, dir, `
		fit --stream --x huge.csv --y y.csv --kernel linear:all => column 2 of the inputs is too large
		fit --stream --x x.csv --y huge.csv --kernel linear:all => column 2 of the targets is too large
		fit --stream --x x.csv --y short.csv --kernel linear:all => short.csv has 2 rows, and x.csv has more
		fit --stream --x short.csv --y y.csv --kernel linear:all => y.csv has more than the 2 rows of short.csv
		fit --stream --x gap.csv --y y.csv --kernel linear:all => gap.csv: row 201, column 2 is missing
		fit --stream --x words.csv --y y.csv --kernel linear:all => words.csv: row 3, column 2 "color" is missing
		fit --stream --x words.csv --y-columns a --kernel linear:all => words.csv: row 3, column 1 "color" is missing
		fit --stream --x y.csv --y words.csv --y-columns b --missing-targets error --kernel linear:all => words.csv: row 300, target column 1 "b" is missing
		fit --stream --x - --y y.csv => standard input
		fit --stream --x x.csv --y y.csv --kernel gaussian:all => rff:
		fit --stream --x x.csv --y y.csv --classes => --classes
		fit --stream --x x.csv --y y.csv --missing mean => missing
		fit --stream --x x.csv => --y
		fit --stream --x x.csv --y y.csv --kernel linear:all --checkpoint x.csv --seed 1 => no checkpoint
		fit --x x.csv --y y.csv --survey-rows 9 => --stream
	`)
}

// Far into a file the row is still named, and the rows before it kept.
func TestStreamBadRowFarDown(t *testing.T) {
	const bad = 700_000
	text := rowsText("a,b", bad+1, func(i int) string {
		switch i {
		case bad - 1:
			return "1,?!"
		case bad:
			return "2,2"
		}
		return [...]string{"1,2", "3,1", "2,0", "0,5", "4,4"}[i%5]
	})
	dir := t.TempDir()
	write(t, dir, "far.csv", text)
	line := "fit --stream --x far.csv --x-columns a --y-columns b --kernel linear:all --lambda 1e-2 --survey-rows " +
		"1000 --checkpoint sums --json "
	command(t, dir, line).ended(exitUsage).err(`far.csv: row 700000 (line 700001), column 2 "b": "?!"`)
	write(t, dir, "far.csv", strings.Replace(text, "?!", "3", 1))
	var got results.Fit
	command(t, dir, line+"-v").err("going on after the 699999 rows of sums").object(&got)
	if got.Samples != bad+1 {
		t.Errorf("%d samples", got.Samples)
	}
}

// Rows that are streamed with weights, of a file of their own or of a column, give the fit of the rows in memory.
func TestStreamWeights(t *testing.T) {
	dir := large(t, 3000)
	weights := rowsText("w", 3000, func(i int) string { return strconv.Itoa(1 + (i+1)*7%4) })
	write(t, dir, "w.csv", weights)
	write(t, dir, "with.csv", besides(mustRead(t, filepath.Join(dir, "both.csv")), weights))
	want := object[results.Fit](t, dir, "fit --x x.csv --y y.csv --weights w.csv"+streamKernels)
	plain := object[results.Fit](t, dir, "fit --x x.csv --y y.csv"+streamKernels)
	for _, files := range []string{
		"--x x.csv --y y.csv --weights w.csv", "--x x.npy --y y.npy --weights w.csv",
		"--x with.csv --y-columns u,v --weights w", "--x both.parquet --x-columns a,b --y-columns u,v --weights w.csv",
	} {
		got := object[results.Fit](t, dir, "fit --stream "+files+streamKernels)
		if !(math.Abs(got.Objective-want.Objective) <= 1e-7*want.Objective) || got.Samples != 3000 || !got.Converged ||
			!(math.Abs(got.Objective-plain.Objective) > 1e-3*want.Objective) {
			t.Errorf("%s: objective %.12g, want %.12g; without weights %.12g", files, got.Objective, want.Objective,
				plain.Objective)
		}
	}
}

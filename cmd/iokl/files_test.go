package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
)

// besides pastes the lines of tables side by side.
func besides(tables ...string) string {
	all := make([][]string, len(tables))
	for k, text := range tables {
		all[k] = strings.Split(strings.TrimSpace(text), "\n")
	}
	return rowsText("", len(all[0]), func(i int) string {
		var cells []string
		for _, lines := range all {
			cells = append(cells, lines[i])
		}
		return strings.Join(cells, ",")
	})
}

// Where inputs and targets are columns of one file, the inputs are the other
// columns, and text in columns that nobody asked for does not matter.
func TestOneFile(t *testing.T) {
	dir := folder(t)
	x, y := mustRead(t, dir+"/x.csv"), mustRead(t, dir+"/y.csv")
	labels := "kind\n" + strings.Repeat("red\nblue\n", 20)
	all := besides(labels, x, y)
	write(t, dir, "all.csv", all)
	write(t, dir, "numbers.csv", besides(x, y))
	write(t, dir, "kinds.csv", besides(x, labels))
	const rest = " --kernel gaussian:all --lambda 1e-3 --json"
	var want, got results.Fit
	command(t, dir, "fit --x x.csv --y y.csv --out m.iokl"+rest).object(&want)
	for _, files := range []string{
		"--x numbers.csv --y-columns u,v", "--x all.csv --x-columns a,b --y-columns u,v",
		"--x - --x-columns 1-2 --y-columns 3-4",
	} {
		r := commandWith(t, context.Background(), dir, "fit "+files+rest, all)
		if r.object(&got); got.Objective != want.Objective {
			t.Errorf("%s: objective %v, from two files %v", files, got.Objective, want.Objective)
		}
	}
	alone := succeed(t, dir, "predict --model m.iokl --x x.csv --y y.csv").out("u  rmse")
	succeed(t, dir, "predict --model m.iokl --x numbers.csv --y-columns u,v").prints(alone.stdout)
	predicted := succeed(t, dir, "predict --model m.iokl --x x.csv").begins("u,v\n")
	succeed(t, dir, "predict --model m.iokl --x all.csv").prints(predicted.stdout)
	write(t, dir, "commas.csv", strings.Replace(all, "b,u,", `b,"u,dry",`, 1))
	command(t, dir, `fit --x commas.csv --x-columns a,b --y-columns "u,dry",v --out c.iokl`+rest).object(&got)
	if got.Objective != want.Objective {
		t.Errorf("a name with a comma: objective %v, want %v", got.Objective, want.Objective)
	}
	write(t, dir, "twice.csv", strings.Replace(all, "a,b,", "a,a,", 1))
	command(t, dir, "fit --x twice.csv --x-columns 1-2 --y y.csv --out d.iokl"+rest).object(&got)
	if got.Objective != want.Objective {
		t.Errorf("two inputs of one name: objective %v, want %v", got.Objective, want.Objective)
	}
	succeed(t, dir, "predict --model d.iokl --x twice.csv").prints(predicted.stdout)
	const fit = "fit --classes --kernel gaussian:all --lambda 1e-3 --out k.iokl "
	commandWith(t, context.Background(), dir, fit+"--x - --y-columns kind", mustRead(t, "kinds.csv")).succeeded()
	succeed(t, dir, "predict --model k.iokl --x kinds.csv --y-columns kind").begins("accuracy")
	cv := object[results.CV](t, dir, "cv --x kinds.csv --y-columns kind --metric accuracy --kernel gaussian:all "+
		"--lambdas 1e-2 --folds 4 --json")
	if cv.Metric != "accuracy" || !(cv.Best.Mean >= 0 && cv.Best.Mean <= 1) {
		t.Errorf("%+v", cv)
	}
}

// Predictions say how many cells they filled, and rows are named right beyond the first block.
func TestPredictMissing(t *testing.T) {
	dir := folder(t)
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel linear:all --lambda 1e-3 --out m.iokl")
	write(t, dir, "long.csv", "a,b\n"+strings.Repeat("1,2\n", predictRows+5)+"1,\n,\n")
	const filled = "iokl: warning: filled 3 missing cells of long.csv by the training mean of their column\n"
	for _, out := range []string{"p.csv", "p.npy --quiet"} {
		if r := succeed(t, dir, "predict --model m.iokl --x long.csv --out "+out); r.stderr != filled {
			t.Errorf("%+v", r)
		}
	}
	if P, Q := mustTable(t, "p.csv").Data, mustTable(t, "p.npy").Data; P.Rows != predictRows+7 ||
		!slices.Equal(P.Data, Q.Data) || P.Rows != Q.Rows {
		t.Errorf("%d×%d predictions as CSV and %d×%d as .npy differ", P.Rows, P.Cols, Q.Rows, Q.Cols)
	}
	command(t, dir, "predict --model m.iokl --x long.csv --missing error").
		ended(exitUsage).err(`row 8198, column 2 "b" is missing`)
}

// A full device ends every command that prints with status 1 and a message.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	defer full.Close()
	dir := folder(t)
	succeed(t, dir, "fit --x x.csv --y y.csv --kernel linear:all --lambda 1e-3 --out m.iokl")
	whole := mustRead(t, "m.iokl")
	for _, line := range []string{
		"fit --x x.csv --y y.csv --kernel linear:all --lambda 1",
		"fit --x x.csv --y y.csv --kernel linear:all --lambda 1 --json",
		"predict --model m.iokl --x xt.csv", "predict --model m.iokl --x xt.csv --y yt.csv",
		"predict --model m.iokl --x xt.csv --json",
		"cv --x x.csv --y y.csv --kernel linear:all --lambdas 1", "info m.iokl", "info m.iokl --json", "fit --help",
		"completion zsh",
	} {
		var msg bytes.Buffer
		if status := run(context.Background(), strings.Fields(line), strings.NewReader(""), full,
			&msg); status != exitFailed || !strings.Contains(msg.String(), "no space left") {
			t.Errorf("%s: status %d: %s", line, status, msg.String())
		}
	}
	for _, line := range []string{
		"fit --x x.csv --y y.csv --kernel linear:all --lambda 1 --out /dev/full",
		"predict --model m.iokl --x xt.csv --out /dev/full",
	} {
		fail(t, dir, line).err("no space left")
	}
	if mustRead(t, "m.iokl") != whole {
		t.Error("the model changed")
	}
}

// The separators, quotes and marks that spreadsheets write make no difference to a fit.
func TestSpellingsOfTables(t *testing.T) {
	dir := folder(t)
	rng := rand.New(rand.NewPCG(5, 6))
	x := mustRead(t, dir+"/x.csv")
	quoted := ""
	for _, line := range strings.Split(strings.TrimSpace(x), "\n") {
		cells := strings.Split(line, ",")
		for k := range cells {
			if rng.IntN(2) == 0 {
				cells[k] = `"` + cells[k] + `"`
			}
		}
		quoted += strings.Join(cells, ",") + "\r\n"
	}
	write(t, dir, "quoted.csv", "\xef\xbb\xbf"+quoted)
	write(t, dir, "semicolons.csv", strings.ReplaceAll(x, ",", ";"))
	write(t, dir, "tabs.tsv", strings.ReplaceAll(x, ",", "\t"))
	_, bare, _ := strings.Cut(x, "\n")
	write(t, dir, "bare.txt", bare)
	write(t, dir, "packed.csv.gz", packed(x))
	const rest = " --y y.csv --kernel gaussian:all --lambda 1e-3 --json"
	var want, got results.Fit
	command(t, dir, "fit --x x.csv"+rest).object(&want)
	for _, name := range []string{"quoted.csv", "semicolons.csv", "tabs.tsv", "bare.txt", "packed.csv.gz"} {
		if command(t, dir, "fit --x "+name+rest).object(&got); got.Objective != want.Objective {
			t.Errorf("%s: objective %v, of x.csv %v", name, got.Objective, want.Objective)
		}
	}
}

// A picture of classes, and of a model whose outputs are not coupled, has what there is to see.
func TestInfoPictures(t *testing.T) {
	dir := folder(t)
	write(t, dir, "kinds.csv", "kind\n"+strings.Repeat("red\nblue\nred\n", 5))
	write(t, dir, "swapped.csv", reversed(mustRead(t, dir+"/xt.csv")))
	for name, c := range map[string]struct {
		fit, info string
		pictures  int
		says      string
	}{
		"classes":     {"--x xt.csv --y kinds.csv --classes", "--x xt.csv --y kinds.csv", 8, "blue, red"},
		"not coupled": {"--x x.csv --y y.csv --learn none", "--x xt.csv --y yt.csv", 12, "not coupled"},
		"by name":     {"--x x.csv --y y.csv", "--x swapped.csv --y yt.csv", 14, "correlation in L"},
	} {
		t.Run(name, func(t *testing.T) {
			succeed(t, dir, "fit --kernel gaussian:all --lambda 1e-3 --out m.iokl "+c.fit)
			command(t, dir, "info m.iokl").out(c.says)
			info := object[results.Info](t, dir, "info m.iokl --json --plot pics "+c.info)
			if len(info.Pictures) != c.pictures {
				t.Errorf("pictures %v", info.Pictures)
			}
			if name == "by name" {
				svg := mustRead(t, "pics/predictions1.svg")
				command(t, dir, "info m.iokl --json --plot pics --x xt.csv --y yt.csv").object(&info)
				if svg != mustRead(t, "pics/predictions1.svg") {
					t.Error("columns in another order are drawn as others")
				}
			}
		})
	}
}

// The error curve of one λ, and of many kernels, is drawn with names that a legend holds.
func TestCVPictures(t *testing.T) {
	dir := folder(t)
	many := ""
	for i := range 30 {
		many += fmt.Sprintf(" --kernel gaussian:all:%d", i+1)
	}
	for name, line := range map[string]string{
		"one λ":        "--kernel gaussian:all --lambdas 1e-2",
		"many kernels": "--lambdas 1,1e-2" + many,
	} {
		succeed(t, dir, "cv --x x.csv --y y.csv --folds 3 --plot pics "+line)
		if svg := mustRead(t, "pics/cv.svg"); !strings.Contains(svg, "chosen") {
			t.Errorf("%s: no legend", name)
		}
	}
}

// A failed reading is moved in for the choice of settings and for the fit that follows it, which
// the command makes apart.
func TestFailedReading(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", rowsText("a,y", 600, func(i int) string {
		a := float64(i%50) / 25
		if i == 77 {
			return fmt.Sprintf("%g,1e9", a)
		}
		return fmt.Sprintf("%g,%g", a, a*a)
	}))
	succeed(t, dir, "fit --x t.csv --y-columns y --kernel gaussian:all:median --out m.iokl --json").
		out("moved 1 isolated value towards the others, in target column y")
	_, predicted := numbers(t, succeed(t, dir, "predict --model m.iokl --x t.csv").stdout)
	for _, row := range predicted {
		if math.Abs(row[0]) > 10 {
			t.Fatalf("predicted %g where targets are at most 4", row[0])
		}
	}
}

// Identifiers that the fit kept, or that predict is asked for, stand before the predictions, row by row.
func TestKeep(t *testing.T) {
	dir := folder(t)
	plain := strings.Split(mustRead(t, filepath.Join(dir, "x.csv")), "\n")[1:41]
	key := func(i int) string { return fmt.Sprintf("%d,\"n, %d\",", 7*i, i%3) }
	text := rowsText("id,name,a,b", len(plain), func(i int) string { return key(i) + plain[i] })
	write(t, dir, "ids.csv", text)
	const fit = " --y y.csv --kernel gaussian:all --lambda 1e-3 --out "
	succeed(t, dir, "fit --x x.csv"+fit+"plain.iokl").noErr("warning")
	succeed(t, dir, "fit --x ids.csv --keep id,name"+fit+"ids.iokl").noErr("warning")
	predicted := succeed(t, dir, "predict --model plain.iokl --x x.csv")
	want := predicted.lines()
	kept := rowsText("id,name,"+want[0], len(plain), func(i int) string { return key(i) + want[1+i] })
	succeed(t, dir, "predict --model ids.iokl --x ids.csv").prints(kept)
	succeed(t, dir, "predict --model plain.iokl --x ids.csv --keep id,name").prints(kept)
	head, rows, _ := strings.Cut(text, "\n")
	write(t, dir, "long.csv.gz", packed(head+"\n"+strings.Repeat(rows, 250)))
	all := succeed(t, dir, "predict --model ids.iokl --x long.csv.gz").lines()
	if len(all) != 1+250*len(plain) {
		t.Fatalf("%d lines", len(all))
	}
	for i := range plain {
		if got := all[len(all)-len(plain)+i]; !strings.HasPrefix(got, key(i)) {
			t.Errorf("in the last block: %q", got)
		}
	}
	succeed(t, dir, "predict --model ids.iokl --x x.csv").prints(predicted.stdout) // which has no identifiers
	refuseAll(t, dir, `
		predict --model ids.iokl --x ids.csv --keep nam => --keep: there is no column "nam": is it "name"
		predict --model ids.iokl --x ids.csv --keep id --out p.npy => identifiers are written to CSV
	`)
}

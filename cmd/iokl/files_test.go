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
	"strconv"
	"strings"
	"testing"

	"github.com/iokl/iokl/cmd/internal/results"
	"github.com/iokl/iokl/internal/files/table"
)

// besides pastes the lines of tables side by side.
func besides(tables ...string) string {
	var out strings.Builder
	first := strings.Split(strings.TrimSpace(tables[0]), "\n")
	for i := range first {
		for k, text := range tables {
			if k > 0 {
				out.WriteByte(',')
			}
			out.WriteString(strings.Split(text, "\n")[i])
		}
		out.WriteByte('\n')
	}
	return out.String()
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
	alone := command(t, dir, "predict --model m.iokl --x x.csv --y y.csv")
	if r := command(t, dir, "predict --model m.iokl --x numbers.csv --y-columns u,v"); r.status != exitOK ||
		r.stdout != alone.stdout || r.stdout == "" {
		t.Errorf("scored from one file %+v, from two %+v", r, alone)
	}
	predicted := command(t, dir, "predict --model m.iokl --x x.csv")
	if r := command(t, dir, "predict --model m.iokl --x all.csv"); r.status != exitOK || r.stdout != predicted.stdout ||
		r.stdout == "" {
		t.Errorf("inputs by name among other columns: %+v", r)
	}
	write(t, dir, "commas.csv", strings.Replace(all, "b,u,", `b,"u,dry",`, 1))
	command(t, dir, `fit --x commas.csv --x-columns a,b --y-columns "u,dry",v --out c.iokl`+rest).object(&got)
	if got.Objective != want.Objective {
		t.Errorf("a name with a comma: objective %v, want %v", got.Objective, want.Objective)
	}
	write(t, dir, "twice.csv", strings.Replace(all, "a,b,", "a,a,", 1))
	command(t, dir, "fit --x twice.csv --x-columns 1-2 --y y.csv --out d.iokl"+rest).object(&got)
	if r := command(t, dir, "predict --model d.iokl --x twice.csv"); got.Objective != want.Objective ||
		r.stdout != predicted.stdout {
		t.Errorf("two inputs of one name: objective %v, want %v, %+v", got.Objective, want.Objective, r)
	}
	const fit = "fit --classes --kernel gaussian:all --lambda 1e-3 --out k.iokl "
	if r := commandWith(t, context.Background(), dir, fit+"--x - --y-columns kind",
		mustRead(t, "kinds.csv")); r.status != exitOK {
		t.Errorf("labels on standard input: %+v", r)
	}
	if r := command(t, dir, "predict --model k.iokl --x kinds.csv --y-columns kind"); r.status != exitOK ||
		!strings.HasPrefix(r.stdout, "accuracy") {
		t.Errorf("labels beside inputs: %+v", r)
	}
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
	r := command(t, dir, "predict --model m.iokl --x long.csv --out p.csv")
	if r.status != exitOK || r.stderr != "iokl: warning: filled 3 missing cells of long.csv by the training mean of "+
		"their column\n" {
		t.Errorf("%+v", r)
	}
	if again := command(t, dir, "predict --model m.iokl --x long.csv --out p.npy --quiet"); again.stderr != r.stderr {
		t.Errorf("%+v", r)
	}
	var tables [2]*table.Table
	for k, name := range []string{"p.csv", "p.npy"} {
		var err error
		if tables[k], err = table.Read(name, table.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if P, Q := tables[0].Data, tables[1].Data; P.Rows != predictRows+7 || !slices.Equal(P.Data, Q.Data) ||
		P.Rows != Q.Rows {
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
	kinds := "kind\n" + strings.Repeat("red\nblue\nred\n", 5)
	write(t, dir, "kinds.csv", kinds)
	swapped := ""
	for _, line := range strings.Split(strings.TrimSpace(mustRead(t, dir+"/xt.csv")), "\n") {
		a, b, _ := strings.Cut(line, ",")
		swapped += b + "," + a + "\n"
	}
	write(t, dir, "swapped.csv", swapped)
	for name, c := range map[string]struct {
		fit, info string
		pictures  int
		says      string
	}{
		"classes":     {"--x xt.csv --y kinds.csv --classes", "--x xt.csv --y kinds.csv", 6, "blue, red"},
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
	var table strings.Builder
	table.WriteString("a,y\n")
	for i := range 600 {
		a := float64(i%50) / 25
		y := a * a
		if i == 77 {
			y = 1e9
		}
		fmt.Fprintf(&table, "%g,%g\n", a, y)
	}
	write(t, dir, "t.csv", table.String())
	report := object[results.Fit](t, dir, "fit --x t.csv --y-columns y --kernel gaussian:all:median --out m.iokl "+
		"--json")
	if said := strings.Join(report.Warnings, "; "); !strings.Contains(said,
		"moved 1 isolated value towards the others, in target column y") {
		t.Errorf("warnings %q", said)
	}
	for _, line := range strings.Fields(command(t, dir, "predict --model m.iokl --x t.csv").stdout)[1:] {
		if f, err := strconv.ParseFloat(line, 64); err != nil || math.Abs(f) > 10 {
			t.Fatalf("predicted %s where targets are at most 4", line)
		}
	}
}

// Identifiers that the fit kept, or that predict is asked for, stand before the predictions, row by row.
func TestKeep(t *testing.T) {
	dir := folder(t)
	text := "id,name,a,b\n"
	plain := strings.Split(strings.TrimSpace(mustRead(t, filepath.Join(dir, "x.csv"))), "\n")[1:]
	for i, row := range plain {
		text += fmt.Sprintf("%d,\"n, %d\",%s\n", 7*i, i%3, row)
	}
	write(t, dir, "ids.csv", text)
	const fit = " --y y.csv --kernel gaussian:all --lambda 1e-3 --out "
	for _, line := range []string{"fit --x x.csv" + fit + "plain.iokl", "fit --x ids.csv --keep id,name" + fit +
		"ids.iokl"} {
		succeed(t, dir, line).noErr("warning")
	}
	want := strings.Split(strings.TrimSpace(command(t, dir, "predict --model plain.iokl --x x.csv").stdout), "\n")
	for _, line := range []string{
		"predict --model ids.iokl --x ids.csv",
		"predict --model plain.iokl --x ids.csv --keep id,name",
	} {
		r := command(t, dir, line)
		got := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if r.status != exitOK || len(got) != len(want) || got[0] != "id,name,"+want[0] {
			t.Fatalf("%s: %+v", line, r)
		}
		for i := range plain {
			if got[1+i] != fmt.Sprintf("%d,\"n, %d\",%s", 7*i, i%3, want[1+i]) {
				t.Errorf("%s: row %d is %q, want the prediction %q", line, i+1, got[1+i], want[1+i])
			}
		}
	}
	head, rows, _ := strings.Cut(text, "\n")
	write(t, dir, "long.csv.gz", packed(head+"\n"+strings.Repeat(rows, 250)))
	all := strings.Split(strings.TrimSpace(command(t, dir, "predict --model ids.iokl --x long.csv.gz").stdout), "\n")
	if len(all) != 1+250*len(plain) {
		t.Fatalf("%d lines", len(all))
	}
	for i := range plain {
		if got := all[len(all)-len(plain)+i]; !strings.HasPrefix(got, fmt.Sprintf("%d,\"n, %d\",", 7*i, i%3)) {
			t.Errorf("in the last block: %q", got)
		}
	}
	if r := command(t, dir, "predict --model ids.iokl --x x.csv"); r.status != exitOK ||
		strings.TrimSpace(r.stdout) != strings.Join(want, "\n") {
		t.Errorf("a file without identifiers: %+v", r)
	}
	refuseAll(t, dir, `
		predict --model ids.iokl --x ids.csv --keep nam => --keep: there is no column "nam": is it "name"
		predict --model ids.iokl --x ids.csv --keep id --out p.npy => identifiers are written to CSV
	`)
}

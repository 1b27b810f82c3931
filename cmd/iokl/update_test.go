package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/iokl/iokl/internal/files/table"
)

// Rows that arrive in other columns' order give the model of a fit to all rows at the same setting, where weights and L
// are not learned; identical inputs give identical files; in-place updates are whole.
func TestUpdate(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(60, 0)
	half := func(text string, from, to int) string {
		lines := strings.SplitAfter(text, "\n")
		return lines[0] + strings.Join(lines[1+from:1+to], "")
	}
	write(t, dir, "all.csv", x)
	write(t, dir, "ally.csv", y)
	write(t, dir, "x1.csv", half(x, 0, 40))
	write(t, dir, "y1.csv", half(y, 0, 40))
	write(t, dir, "x2.csv", reversed(half(x, 40, 60)))
	write(t, dir, "y2.csv", reversed(half(y, 40, 60)))
	ok := func(line string) result {
		t.Helper()
		r := succeed(t, dir, line)
		return r
	}
	const how = " --kernel gaussian:all:1.5 --learn none --standardize none "
	ok("fit --x x1.csv --y y1.csv --lambda 3e-3 --out m1" + how)
	ok("fit --x all.csv --y ally.csv --lambda 2e-3 --out all" + how) // the same λ·rows
	var r updateReport
	ok("update --model m1 --x x2.csv --y y2.csv --out m2 --json").object(&r)
	if r.Rows != 60 || r.Added != 20 || !(math.Abs(r.Lambda-2e-3) < 1e-15) || !r.Converged || r.Model != "m2" ||
		!(r.Seconds > 0) {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"m2", "all"} {
		ok("predict --model " + name + " --x xt.csv --out " + name + ".npy")
	}
	a, b := mustTable(t, filepath.Join(dir, "m2.npy")), mustTable(t, filepath.Join(dir, "all.npy"))
	for i, v := range a.Data.Data {
		if !(math.Abs(v-b.Data.Data[i]) <= 1e-8) {
			t.Fatalf("prediction %d is %g after the update, %g by a fit", i, v, b.Data.Data[i])
		}
	}
	ok("update --model m1 --x x2.csv --y y2.csv --out m3")
	if !bytes.Equal(mustBytes(t, dir, "m2"), mustBytes(t, dir, "m3")) {
		t.Error("the same update makes another file")
	}
	ok("update --model m3 --out m3 --forget 0-4,9 --json").object(&r)
	if r.Rows != 54 {
		t.Errorf("%d rows", r.Rows)
	}
	ok("update --model m3 --x x2.csv --y y2.csv --window 30 --compact --out m4 --json").object(&r)
	if r.Rows != 30 {
		t.Errorf("%d rows", r.Rows)
	}
	if info := ok("info m2").stdout; !strings.Contains(info, "for updates  ") || strings.Contains(info, "nothing") {
		t.Error(info)
	}
	if info := ok("info m4").stdout; !strings.Contains(info, "nothing is kept") {
		t.Error(info)
	}
	refused := command(t, dir, "update --model m4 --x x2.csv --y y2.csv --out m5")
	if _, err := os.Stat(filepath.Join(dir, "m5")); refused.status != exitUsage ||
		!strings.Contains(refused.stderr, "compact") || err == nil {
		t.Errorf("%+v", refused)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := commandWith(t, ctx, dir, "update --model m1 --x x2.csv --y y2.csv --out m5", ""); r.status != exitFailed {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "m5")); err == nil {
		t.Error("an interrupted update wrote a file")
	}
}

// A row of weight 2 is one that arrives twice, whether weights are a file or a column.
func TestUpdateWeights(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(60, 0)
	xs, ys := strings.SplitAfter(x, "\n"), strings.SplitAfter(y, "\n")
	var heavy, twiceX, twiceY, w strings.Builder
	heavy.WriteString(strings.TrimSpace(xs[0]) + ",w\n")
	w.WriteString("w\n")
	twiceX.WriteString(xs[0])
	twiceY.WriteString(ys[0])
	for i := 41; i <= 60; i++ {
		count := 1 + i%2
		heavy.WriteString(strings.TrimSpace(xs[i]) + "," + strconv.Itoa(count) + "\n")
		w.WriteString(strconv.Itoa(count) + "\n")
		twiceX.WriteString(strings.Repeat(xs[i], count))
		twiceY.WriteString(strings.Repeat(ys[i], count))
	}
	write(t, dir, "x1.csv", strings.Join(xs[:41], ""))
	write(t, dir, "y1.csv", strings.Join(ys[:41], ""))
	write(t, dir, "x2.csv", xs[0]+strings.Join(xs[41:61], ""))
	write(t, dir, "y2.csv", ys[0]+strings.Join(ys[41:61], ""))
	write(t, dir, "heavy.csv", heavy.String())
	write(t, dir, "w.csv", w.String())
	write(t, dir, "twicex.csv", twiceX.String())
	write(t, dir, "twicey.csv", twiceY.String())
	var F []*table.Table
	for _, line := range []string{
		"fit --x x1.csv --y y1.csv --lambda 3e-3 --out m1 --kernel gaussian:all:1.5",
		"update --model m1 --x twicex.csv --y twicey.csv --out m2",
		"update --model m1 --x x2.csv --y y2.csv --weights w.csv --out m2",
		"update --model m1 --x heavy.csv --y y2.csv --weights w --out m2",
	} {
		succeed(t, dir, line)
		if !strings.HasPrefix(line, "fit") {
			succeed(t, dir, "predict --model m2 --x xt.csv --out p.npy")
			F = append(F, mustTable(t, filepath.Join(dir, "p.npy")))
		}
	}
	for i, want := range F[0].Data.Data {
		for k, f := range F[1:] {
			if !(math.Abs(f.Data.Data[i]-want) <= 1e-8) {
				t.Fatalf("weights %d: prediction %d is %g, %g of rows that arrive twice", k, i, f.Data.Data[i], want)
			}
		}
	}
	refuse(t, dir, "update --model m1 --forget 0 --weights w.csv --out m2").err("--x")
}

// reversed is the table with its columns in the other order.
func reversed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		for i := range cells[:len(cells)/2] {
			cells[i], cells[len(cells)-1-i] = cells[len(cells)-1-i], cells[i]
		}
		b.WriteString(strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

func mustBytes(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A model of classes takes labels, one row at a time too, and refuses those that it does not know.
func TestUpdateClasses(t *testing.T) {
	dir := t.TempDir()
	x, y := "a,b\n", "kind\n"
	for i := range 30 {
		x += strings.Repeat("0", 1) + "." + string(rune('0'+i%10)) + "," + string(rune('0'+i%7)) + "\n"
		y += []string{"low", "high"}[i%10/5] + "\n"
	}
	write(t, dir, "x.csv", x)
	write(t, dir, "y.csv", y)
	write(t, dir, "x1.csv", "a,b\n0.9,3\n")
	write(t, dir, "y1.csv", "kind\nhigh\n")
	write(t, dir, "y2.csv", "kind\nmiddle\n")
	for line, status := range map[string]int{
		"fit --x x.csv --y y.csv --classes --kernel gaussian:all:1 --lambda 1e-2 --out m": exitOK,
	} {
		if r := command(t, dir, line); r.status != status {
			t.Fatalf("%+v", r)
		}
	}
	succeed(t, dir, "update --model m --x x1.csv --y y1.csv --out m2").err("31 rows")
	refuse(t, dir, "update --model m --x x1.csv --y y2.csv --out m3").err("no class \"middle\"")
}

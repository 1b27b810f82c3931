package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Rows that arrive in other columns' order give the model of a fit to all rows at the same setting, where weights and L
// are not learned; identical inputs give identical files; in-place updates are whole.
func TestUpdate(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(60, 0)
	write(t, dir, "all.csv", x)
	write(t, dir, "ally.csv", y)
	write(t, dir, "x1.csv", rowsBetween(x, 0, 40))
	write(t, dir, "y1.csv", rowsBetween(y, 0, 40))
	write(t, dir, "x2.csv", reversed(rowsBetween(x, 40, 60)))
	write(t, dir, "y2.csv", reversed(rowsBetween(y, 40, 60)))
	ok := func(line string) result {
		t.Helper()
		return succeed(t, dir, line)
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
	near(t, "predictions after the update", mustTable(t, "m2.npy").Data.Data, mustTable(t, "all.npy").Data.Data, 1e-8)
	ok("update --model m1 --x x2.csv --y y2.csv --out m3")
	if mustRead(t, "m2") != mustRead(t, "m3") {
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
	ok("info m2").out("for updates  ").noOut("nothing")
	ok("info m4").out("nothing is kept")
	refuse(t, dir, "update --model m4 --x x2.csv --y y2.csv --out m5").err("compact")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	commandWith(t, ctx, dir, "update --model m1 --x x2.csv --y y2.csv --out m5", "").ended(exitFailed)
	if _, err := os.Stat(filepath.Join(dir, "m5")); err == nil {
		t.Error("an interrupted update wrote a file")
	}
}

// rowsBetween is a table with its rows from and up to these alone.
func rowsBetween(text string, from, to int) string {
	lines := strings.SplitAfter(text, "\n")
	return lines[0] + strings.Join(lines[1+from:1+to], "")
}

// A row of weight 2 is one that arrives twice, whether weights are a file or a column.
func TestUpdateWeights(t *testing.T) {
	dir := folder(t)
	x, y := csvRows(60, 0)
	x2, y2 := rowsBetween(x, 40, 60), rowsBetween(y, 40, 60)
	weight := func(i int) int { return 2 - i%2 }
	weights := rowsText("w", 20, func(i int) string { return strconv.Itoa(weight(i)) })
	repeated := func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		for i := range 20 {
			lines[1+i] = strings.Repeat(lines[1+i], weight(i))
		}
		return strings.Join(lines, "")
	}
	for name, text := range map[string]string{
		"x1.csv": rowsBetween(x, 0, 40), "y1.csv": rowsBetween(y, 0, 40), "x2.csv": x2, "y2.csv": y2, "w.csv": weights,
		"heavy.csv": besides(x2, weights), "twicex.csv": repeated(x2), "twicey.csv": repeated(y2),
	} {
		write(t, dir, name, text)
	}
	succeed(t, dir, "fit --x x1.csv --y y1.csv --lambda 3e-3 --out m1 --kernel gaussian:all:1.5")
	var want []float64
	for _, rows := range []string{
		"--x twicex.csv --y twicey.csv", "--x x2.csv --y y2.csv --weights w.csv",
		"--x heavy.csv --y y2.csv --weights w",
	} {
		succeed(t, dir, "update --model m1 --out m2 "+rows)
		succeed(t, dir, "predict --model m2 --x xt.csv --out p.npy")
		got := mustTable(t, "p.npy").Data.Data
		if want == nil {
			want = got
		}
		near(t, rows, got, want, 1e-8)
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

// A model of classes takes labels, one row at a time too, and refuses those that it does not know.
func TestUpdateClasses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "x.csv", rowsText("a,b", 30, func(i int) string { return fmt.Sprintf("0.%d,%d", i%10, i%7) }))
	write(t, dir, "y.csv", rowsText("kind", 30, func(i int) string { return []string{"low", "high"}[i%10/5] }))
	write(t, dir, "x1.csv", "a,b\n0.9,3\n")
	write(t, dir, "y1.csv", "kind\nhigh\n")
	write(t, dir, "y2.csv", "kind\nmiddle\n")
	succeed(t, dir, "fit --x x.csv --y y.csv --classes --kernel gaussian:all:1 --lambda 1e-2 --out m")
	succeed(t, dir, "update --model m --x x1.csv --y y1.csv --out m2").err("31 rows")
	refuse(t, dir, "update --model m --x x1.csv --y y2.csv --out m3").err("no class \"middle\"")
}

package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iokl/iokl/formula"
)

// wordsAndDates is a table of a date, a word and a number, and a target of them.
func wordsAndDates() string {
	var b strings.Builder
	b.WriteString("when,colour,size,price\n")
	for i := range 60 {
		colour := []string{"red", "green", "blue"}[i*i%7%3]
		size := float64(i*37%60) / 10
		fmt.Fprintf(&b, "2024-%02d-%02d,%s,%g,%g\n", 1+i%12, 1+i%28, colour, size, size*size+float64(len(colour)))
	}
	return b.String()
}

// The formula in an exported Go file predicts what predict does from cells as they stand in the table.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", wordsAndDates())
	for _, line := range []string{
		"fit --x t.csv --y-columns price --kernel gaussian:all --kernel gaussian:ranks --lambda 1e-3 --out m.iokl -q",
		"predict --model m.iokl --x t.csv --out p.npy -q",
	} {
		succeed(t, dir, line)
	}
	report := object[exportReport](t, dir, "export --model m.iokl --go m.go --package price --json")
	text := mustRead(t, filepath.Join(dir, "m.go"))
	if report.Bytes != len(text) || !slices.Equal(report.Inputs, []string{"when", "colour", "size"}) ||
		!slices.Equal(report.Outputs, []string{"price"}) || report.Go != "m.go" || report.ONNX != "" {
		t.Errorf("%+v, %d bytes", report, len(text))
	}
	if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
		t.Errorf("not formatted: %v", err)
	}
	if !strings.Contains(text, "\npackage price\n") || strings.Contains(text, "github.com") {
		t.Error("of another package, or needs this module")
	}
	_, data, _ := strings.Cut(text, "const data = `")
	f, err := formula.Parse(strings.TrimSuffix(data, "`\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := mustTable(t, filepath.Join(dir, "p.npy"))
	for i := range 60 {
		at := slices.Index(f.Columns[1].Levels, []string{"red", "green", "blue"}[i*i%7%3])
		day := daysTo(1+i%12, 1+i%28)
		y, err := f.Predict([]float64{day, float64(at), float64(i*37%60) / 10})
		if v := want.Data.Data[i]; err != nil || !(y[0]-v <= 1e-9*(1+v) && v-y[0] <= 1e-9*(1+v)) {
			t.Fatalf("row %d: %v, predicted %g, %v", i, y, v, err)
		}
	}
	if r := command(t, dir, "export --model m.iokl --onnx m.onnx"); r.status != exitOK || r.stdout != "" ||
		!strings.Contains(r.stderr, "wrote m.onnx") || !strings.Contains(r.stderr, "price from when, colour and size") {
		t.Errorf("%+v", r)
	}
}

// daysTo counts the days from 1970-01-01 to a day of 2024.
func daysTo(month, day int) float64 {
	days := 54*365 + 13 // 13 leap years
	for m := 1; m < month; m++ {
		days += []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
	}
	return float64(days + day - 1)
}

func TestExportRefuses(t *testing.T) {
	dir := folder(t)
	for _, line := range []string{
		"fit --x x.csv --y y.csv --kernel gaussian:all --lambda 1e-3 --out m.iokl",
		"fit --x x.csv --y y.csv --kernel cosine --lambda 1e-3 --out cosine.iokl",
		"fit --gram g.npz:Ks --y g.npz:Y --lambda 1e-3 --out gram.iokl",
	} {
		succeed(t, dir, line)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	refuseAll(t, dir, `
		export => --model
		export --model m.iokl => --go or by --onnx
		export --model m.iokl --go a --onnx b => --go or by --onnx
		export --model m.iokl --go a --package 1x => no name of a Go package
		export --model m.iokl --onnx a --package x => --package
		export --model m.iokl --go m.iokl => names the same file
		export --model m.iokl --go sub => folder
		export --model m.iokl --onnx no/a => no
		export --model x.csv --go a => not a usable model
		export --model none.iokl --go a => none.iokl
		export --model cosine.iokl --go a => gaussian, laplacian
		export --model gram.iokl --onnx a => Gram matrices
		export m.iokl --go a => --model m.iokl
		fit x.csv --y x.csv --out a => --x x.csv
		granger x.csv => --series x.csv
	`)
}

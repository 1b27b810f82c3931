package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iokl/iokl/formula"
)

// wordsAndDates is a table of a date, a word and a number, and a target of them.
func wordsAndDates() string {
	return rowsText("when,colour,size,price", 60, func(i int) string {
		colour, size := []string{"red", "green", "blue"}[i*i%7%3], float64(i*37%60)/10
		return fmt.Sprintf("2024-%02d-%02d,%s,%g,%g", 1+i%12, 1+i%28, colour, size, size*size+float64(len(colour)))
	})
}

// The formula in an exported Go file predicts what predict does from cells as they stand in the table.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "t.csv", wordsAndDates())
	succeed(t, dir, "fit --x t.csv --y-columns price --kernel gaussian:all --kernel gaussian:ranks --lambda 1e-3 "+
		"--out m.iokl -q")
	succeed(t, dir, "predict --model m.iokl --x t.csv --out p.npy -q")
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
		day := float64(time.Date(2024, time.Month(1+i%12), 1+i%28, 0, 0, 0, 0, time.UTC).Unix()) / 86400
		y, err := f.Predict([]float64{day, float64(at), float64(i*37%60) / 10})
		if v := want.Data.Data[i]; err != nil || !(y[0]-v <= 1e-9*(1+v) && v-y[0] <= 1e-9*(1+v)) {
			t.Fatalf("row %d: %v, predicted %g, %v", i, y, v, err)
		}
	}
	succeed(t, dir, "export --model m.iokl --onnx m.onnx").prints("").
		err("wrote m.onnx", "price from when, colour and size")
}

func TestExportRefuses(t *testing.T) {
	dir := folder(t)
	for model, data := range map[string]string{
		"m.iokl":      "--x x.csv --y y.csv --kernel gaussian:all",
		"cosine.iokl": "--x x.csv --y y.csv --kernel cosine",
		"gram.iokl":   "--gram g.npz:Ks --y g.npz:Y",
	} {
		succeed(t, dir, "fit --lambda 1e-3 --out "+model+" "+data)
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

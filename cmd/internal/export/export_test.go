package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/formula"
	"github.com/iokl/iokl/schema"
)

// columns are of a file with a date, a category of many levels, numbers, text and a month.
var columns = schema.Columns{
	{Name: "when", Kind: "date", First: 19000, Cycles: []string{"week", "year"}},
	{Name: "wo`rd\"", Kind: "category", Levels: []string{"a`\\", "b,1"}, Rest: []string{"c", "d", "e"}, Buckets: 2},
	{Name: "a"},
	{Name: "note", Kind: "text"},
	{Name: "month", Kind: "month"},
	{Name: "b"},
}

// draw makes codes of the columns without the text, and the inputs of a model that they become.
func draw(rng *rand.Rand, rows int) (codes, X *mat.Dense) {
	codes, X = mat.NewDense(rows, 5, nil), mat.NewDense(rows, schema.Columns(columns).Cols(), nil)
	for i := range rows {
		v := codes.RawRowView(i)
		copy(v, []float64{
			19000 + float64(rng.IntN(900)), float64(rng.IntN(6)) - 1, rng.NormFloat64(), float64(rng.IntN(12)),
			1e3 + 20*math.Round(math.Exp(1.5*rng.NormFloat64())), // ties among ranks, and a long tail
		})
		if rng.IntN(10) == 0 {
			v[rng.IntN(5)] = math.NaN()
		}
		schema.Columns(columns).Expand(X.RawRowView(i), []float64{v[0], v[1], v[2], 0, v[3], v[4]})
	}
	return codes, X
}

// models are fitted models of every form that is exported.
func models(t *testing.T) map[string]*iokl.Model {
	t.Helper()
	list := map[string]*iokl.Model{}
	for name, kernels := range map[string][]string{
		"samples": {
			"gaussian:all:median*0.5,1,2", "matern32+linear:ard", "laplacian:each", "matern12:all", "matern32:0-3",
			"matern52:all", "matern32:ranks", "gaussian:directions:median", "linear:all", "poly:2:all:1",
			"rational:0.7:all", "linear:all:center", "gaussian:all:center", "laplacian:relevant",
		},
		"features": {
			"rff:gaussian:all:40", "rff:laplacian:all:31:mc:phases", "nystrom:matern32:ranks:1:20", "linear:all",
		},
		"sum":   {"gaussian:all", "linear:0-2", "laplacian:all"},
		"plain": {"gaussian:all:40"},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		_, X := draw(rng, 80)
		Y := mat.NewDense(80, 3, nil)
		for i := range 80 {
			v := 0.0
			for j, x := range X.RawRowView(i) {
				if !math.IsNaN(x) {
					v += math.Sin(x + float64(j))
				}
			}
			Y.SetRow(i, []float64{1e3 * v, v*v + 0.1*rng.NormFloat64(), 7}) // the last is constant
		}
		opt := iokl.Options{Kernels: kernels, Lambda: 1e-3, InputSchema: columns}
		switch name {
		case "sum":
			opt.Model = "sum"
		case "plain":
			opt.Standardize = "none"
		}
		var err error
		if list[name], err = iokl.Fit(t.Context(), X, Y, opt); err != nil {
			t.Fatal(name, err)
		}
	}
	return list
}

// compare checks predictions against those of the model, relative to the largest of their output.
func compare(t *testing.T, got [][]float64, want *mat.Dense) {
	t.Helper()
	rows, n := want.Dims()
	if len(got) != rows {
		t.Fatalf("%d rows of %d", len(got), rows)
	}
	for i := range rows {
		for j := range n {
			if scale := mat.Norm(want.ColView(j), math.Inf(1)); !(math.Abs(got[i][j]-want.At(i, j)) <= 1e-8*scale) {
				t.Fatalf("row %d, output %d: %g, predicted %g", i, j, got[i][j], want.At(i, j))
			}
		}
	}
}

// A Go file is formatted, needs no module, compiles and predicts as the model does, and so does a graph, by the
// definitions of its operators.
func TestPrograms(t *testing.T) {
	codes, X := draw(rand.New(rand.NewPCG(3, 4)), 40)
	X.Set(3, 9, 1e6)
	codes.Set(3, 2, 1e6)
	for name, m := range models(t) {
		want, err := m.Predict(X)
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Formula()
		if err != nil {
			t.Fatal(err)
		}
		t.Run("go/"+name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			if err := Go(&text, f, "price"); err != nil {
				t.Fatal(err)
			}
			compare(t, runGo(t, text.Bytes(), codes), want)
		})
		t.Run("onnx/"+name, func(t *testing.T) {
			var file bytes.Buffer
			if err := ONNX(&file, f); err != nil {
				t.Fatal(err)
			}
			g := parse(t, file.Bytes())
			if err := json.Unmarshal([]byte(g.notes["inputs"]), new([]formula.Column)); err != nil {
				t.Error(err)
			}
			compare(t, g.run(t, codes).rows(), want)
			checkONNX(t, file.Bytes(), codes, want)
		})
	}
}

// runGo predicts by a program that imports the file.
func runGo(t *testing.T, file []byte, codes *mat.Dense) (rows [][]float64) {
	t.Helper()
	dir := t.TempDir()
	const main = `package main

import (
	"bufio"
	"fmt"
	"os"

	"example.org/p/price"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	for {
		x := make([]float64, len(price.Model.Columns))
		for j := range x {
			if _, err := fmt.Fscan(in, &x[j]); err != nil {
				return
			}
		}
		y, err := price.Predict(x)
		if err != nil {
			panic(err)
		}
		for _, v := range y {
			fmt.Print(v, " ")
		}
		fmt.Println()
	}
}
`
	for name, text := range map[string]string{
		"go.mod": "module example.org/p\n\ngo 1.22\n", "main.go": main, "price/price.go": string(file),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %s%v", out, err)
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	var in, stderr bytes.Buffer
	r, c := codes.Dims()
	for i := range r {
		for j := range c {
			fmt.Fprintln(&in, codes.At(i, j))
		}
	}
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		var row []float64
		for _, word := range strings.Fields(line) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestGoPackageName(t *testing.T) {
	for _, name := range []string{"", "_", "a-b", "func", "1a"} {
		if err := Go(new(bytes.Buffer), new(formula.Formula), name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// The class of a classifier is that of its largest output.
func TestClass(t *testing.T) {
	f := &formula.Formula{Classes: []string{"a", "b", "c"}}
	if c := f.Class([]float64{-3, -1, -2}); c != "b" {
		t.Error(c)
	}
	if c := new(formula.Formula).Class([]float64{1}); c != "" {
		t.Error(c)
	}
}

package model_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/formula"
	"github.com/iokl/iokl/schema"
)

// formulaSchema is of a file with a date, a category of many levels, numbers, text and a time of day.
var formulaSchema = schema.Columns{
	{Name: "when", Kind: "date", First: 19000, Cycles: []string{"week", "year"}},
	{Name: "word", Kind: "category", Levels: []string{"a", "b"}, Rest: []string{"c", "d", "e"}, Buckets: 2},
	{Name: "a"},
	{Name: "note", Kind: "text"},
	{Name: "at", Kind: "time"},
	{Name: "b"},
}

// formulaRows draws codes of formulaSchema's columns, text left out, and the columns of numbers they become.
func formulaRows(rng *rand.Rand, rows int) (codes *mat.Dense, X *mat.Dense) {
	codes, X = mat.NewDense(rows, 5, nil), mat.NewDense(rows, 5+4+1+2+1, nil)
	for i := range rows {
		date, word := 19000+float64(rng.IntN(900)), float64(rng.IntN(6))-1
		a, at, b := rng.NormFloat64(), rng.Float64(), 1e3+20*math.Round(2*rng.NormFloat64()) // ranks of b are tied
		row := codes.RawRowView(i)
		copy(row, []float64{date, word, a, at, b})
		if rng.IntN(10) == 0 {
			row[rng.IntN(5)] = math.NaN()
		}
		all := []float64{row[0], row[1], row[2], 0, row[3], row[4]}
		formulaSchema.Expand(X.RawRowView(i), all)
	}
	return codes, X
}

func formulaTargets(X *mat.Dense, rng *rand.Rand) *mat.Dense {
	l, d := X.Dims()
	Y := mat.NewDense(l, 3, nil)
	for i := range l {
		v := 0.0
		for j := range d {
			if x := X.At(i, j); !math.IsNaN(x) {
				v += math.Sin(x + float64(j))
			}
		}
		Y.SetRow(i, []float64{1e3 * v, v*v + 0.1*rng.NormFloat64(), 7}) // the last is constant
	}
	return Y
}

// The formula of a model computes what Predict does, for every kernel that it serves, on inputs beyond their limits
// and with missing cells, and as JSON.
func TestFormula(t *testing.T) {
	for _, c := range []struct {
		name    string
		kernels []string
		opt     iokl.Options
	}{
		{name: "default"},
		{name: "one of each", kernels: []string{
			"gaussian:all:median*0.5,1,2", "gaussian:ard:median", "laplacian:all", "matern12:all", "matern32:each",
			"matern52:0-3", "linear:all", "laplacian:ard:median", "matern52:ard:median",
			"poly:2:all:1", "poly:3:0-2:0.5:0.2", "poly:1:all:0", "rational:0.7:all",
		}},
		{name: "ranks", kernels: []string{"gaussian:ranks:median", "linear:ranks", "laplacian:ranks"}},
		{name: "relevant", kernels: []string{"matern32:relevant", "gaussian:directions:median"}},
		{name: "centred", kernels: []string{"gaussian:all:1,2:center", "linear:all:center", "matern32:all"}},
		{
			name: "sum", kernels: []string{"gaussian:all", "linear:0-2", "laplacian:each"},
			opt: iokl.Options{Model: "sum"},
		},
		{name: "as it is", kernels: []string{"gaussian:all:20", "linear:all"}, opt: iokl.Options{Standardize: "none"}},
		{name: "features", kernels: []string{
			"rff:gaussian:all:60", "rff:laplacian:all:61:mc:phases", "rff:matern32:all:64:hadamard",
			"nystrom:matern52:all:30", "nystrom:gaussian:ranks:1:20", "linear:all", "linear:0-3:center",
			"poly:1:all:0:3", "nystrom:poly:2:all:1:9",
		}},
		{
			name: "features, sum", kernels: []string{"rff:gaussian:all:40", "linear:all"},
			opt: iokl.Options{Model: "sum"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			_, X := formulaRows(rng, 80)
			Y := formulaTargets(X, rng)
			opt := c.opt
			opt.Kernels, opt.InputSchema = c.kernels, formulaSchema
			if c.kernels != nil {
				opt.Lambda = 1e-3
			}
			m, err := iokl.Fit(t.Context(), X, Y, opt)
			if err != nil {
				t.Fatal(err)
			}
			codes, X := formulaRows(rng, 50)
			codes.Set(3, 2, 1e6)
			X.Set(3, 9, 1e6)
			agrees(t, m, codes, X)
		})
	}
}

func agrees(t *testing.T, m *iokl.Model, codes, X *mat.Dense) {
	t.Helper()
	want, err := m.Predict(X)
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Formula()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	read, err := formula.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	rows, n := want.Dims()
	for i := range rows {
		y, err := read.Predict(codes.RawRowView(i))
		if err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if scale := mat.Norm(want.ColView(j), math.Inf(1)); !(math.Abs(y[j]-want.At(i, j)) <= 1e-9*scale) {
				t.Fatalf("row %d, output %d: %g, predicted %g", i, j, y[j], want.At(i, j))
			}
		}
	}
}

// What has no formula is an error of the input that says what has one.
func TestFormulaRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	X := mat.NewDense(30, 2, nil)
	for i := range 30 {
		X.SetRow(i, []float64{rng.Float64(), rng.Float64()})
	}
	Y := formulaTargets(X, rng)
	for _, spec := range []string{
		"poly:2:all:unit", "cosine", "linear:all:unit", "cauchy", "chi2:all:1", "matern:1", "nystrom:cauchy:all:1:9",
	} {
		m, err := iokl.Fit(t.Context(), X, Y, iokl.Options{Kernels: []string{spec}, Lambda: 1e-3, Standardize: "y"})
		if err != nil {
			t.Fatal(spec, err)
		}
		if _, err := m.Formula(); !errors.Is(err, iokl.ErrInput) || !strings.Contains(err.Error(),
			"gaussian, laplacian") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	K := mat.NewDense(30, 30, nil)
	K.Mul(X, X.T())
	m, err := iokl.FitGram(t.Context(), []mat.Matrix{K}, Y, iokl.Options{Lambda: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Formula(); !errors.Is(err, iokl.ErrInput) {
		t.Error(err)
	}
}

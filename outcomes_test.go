package iokl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
	"github.com/iokl/iokl/internal/fittest"
	"github.com/iokl/iokl/stream"
)

// The recorded outcomes in testdata/outcomes are what some forty settings gave: the
// choices made, the certificate, predictions on rows apart, and the points of
// cross-validations. TestOutcomes compares with them; to write them anew:
//
//	go test -run TestOutcomes . -update
//
// Numbers that a fit determines only to its tolerance are compared to that; with
// -exactly all are compared to 1e-9, which holds for the same solvers on the same machine.
var (
	update  = flag.Bool("update", false, "write testdata/outcomes anew")
	exactly = flag.Bool("exactly", false, "compare every number of the outcomes to 1e-9")
)

// outcome is what one setting gave.
type outcome struct {
	Kernels     []string          `json:"kernels,omitempty"`
	Eta         []float64         `json:"eta,omitempty"`
	Classes     []string          `json:"classes,omitempty"`
	Outputs     []string          `json:"outputs,omitempty"`
	Certificate *iokl.Certificate `json:"certificate,omitempty"`
	Predictions [][]float64       `json:"predictions,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`
	CV          *iokl.CVResult    `json:"cv,omitempty"`
	Graph       [][]float64       `json:"graph,omitempty"`
	Refused     string            `json:"refused,omitempty"`
}

// within says how far numbers may be from the recorded ones, relative to the largest of their kind.
type within struct {
	objective, predictions, errors float64
}

// settled is a fit to a relative gap of 1e-9, and loose one to the default 1e-4.
var (
	settled  = within{objective: 2e-9, predictions: 2e-5, errors: 1e-4}
	closed   = within{objective: 1e-9, predictions: 1e-9, errors: 1e-9}
	loose    = within{objective: 2e-4, predictions: 2e-2, errors: 2e-2}
	halfSize = within{objective: 1e-5, predictions: 1e-3, errors: 1e-3}
)

// ripple is smooth functions of two of four inputs in other units, and one output of noise.
func ripple(l int, seed uint64) (X, Y *mat.Dense) {
	rng := rand.New(rand.NewPCG(seed, 1))
	X, Y = mat.NewDense(l, 4, nil), mat.NewDense(l, 3, nil)
	for i := range l {
		for j := range 4 {
			X.Set(i, j, 3*rng.NormFloat64()+10)
		}
		f := math.Sin(X.At(i, 0)/2) + X.At(i, 1)/5
		Y.SetRow(i, []float64{100 + 20*f + rng.NormFloat64(), -3*f + 0.3*rng.NormFloat64(), rng.NormFloat64()})
	}
	return X, Y
}

// numbers reads a CSV file of testdata/outcomes, after its header if it has one.
func numbers(t *testing.T, name string, header bool) *mat.Dense {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "outcomes", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if header {
		lines = lines[1:]
	}
	var data []float64
	for _, line := range lines {
		for _, cell := range strings.Split(strings.TrimSpace(line), ",") {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, v)
		}
	}
	return mat.NewDense(len(lines), len(data)/len(lines), data)
}

// series is macroeconomic growth rates and their next values.
func series(t *testing.T) (X, Y *mat.Dense) {
	t.Helper()
	levels := numbers(t, "macro.csv", true)
	r, c := levels.Dims()
	growth := mat.NewDense(r-1, c, nil)
	for i := range r - 1 {
		for j := range c {
			growth.Set(i, j, levels.At(i+1, j)-levels.At(i, j))
		}
	}
	X = mat.DenseCopyOf(growth.Slice(0, r-2, 0, c))
	Y = mat.DenseCopyOf(growth.Slice(1, r-1, 2, 6))
	return X, Y
}

// handwriting is images of four digits and their labels.
func handwriting(t *testing.T) (X *mat.Dense, labels []string) {
	t.Helper()
	all := numbers(t, "digits.csv", false)
	var data []float64
	for i := range all.RawMatrix().Rows {
		row := all.RawRowView(i)
		if d := row[64]; d < 4 {
			data = append(data, row[:64]...)
			labels = append(labels, "digit "+strconv.Itoa(int(d)))
		}
	}
	return mat.NewDense(len(labels), 64, data), labels
}

// describe records a model and what it predicts.
func describe(t *testing.T, m *iokl.Model, err error, predict func(m *iokl.Model) (*mat.Dense, error)) outcome {
	t.Helper()
	if m == nil {
		return outcome{Refused: err.Error()}
	}
	P, failed := predict(m)
	if failed != nil {
		t.Fatal(failed)
	}
	c := m.Certificate()
	o := outcome{
		Kernels: m.KernelNames(), Eta: m.Eta(), Classes: m.Classes(), Outputs: m.LearnedOutputs(),
		Certificate: &c, Warnings: m.Warnings(),
	}
	for i := range P.RawMatrix().Rows {
		o.Predictions = append(o.Predictions, slices.Clone(P.RawRowView(i)))
	}
	if err != nil {
		o.Refused = err.Error()
	}
	return o
}

func at(X mat.Matrix) func(m *iokl.Model) (*mat.Dense, error) {
	return func(m *iokl.Model) (*mat.Dense, error) { return m.Predict(X) }
}

// fitted is the outcome of Fit on ripple.
func fitted(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(70, 1)
		Xt, _ := ripple(5, 2)
		m, err := iokl.Fit(bg, X, Y, opt)
		return describe(t, m, err, at(Xt))
	}
}

// validated is the outcome of CrossValidate on ripple.
func validated(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(70, 1)
		r, err := iokl.CrossValidate(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		return outcome{CV: r}
	}
}

// grams are Gram matrices of three groups of columns and those across to other rows.
func grams(X, Xt *mat.Dense) (K, cross []mat.Matrix) {
	r, c := X.Dims()
	t, _ := Xt.Dims()
	for j := range c - 1 {
		A, B := X.Slice(0, r, j, j+2), Xt.Slice(0, t, j, j+2)
		k, kx := new(mat.Dense), new(mat.Dense)
		k.Mul(A, A.T())
		kx.Mul(B, A.T())
		k.Apply(func(_, _ int, v float64) float64 { return (1 + v/100) * (1 + v/100) }, k)
		kx.Apply(func(_, _ int, v float64) float64 { return (1 + v/100) * (1 + v/100) }, kx)
		K, cross = append(K, k), append(cross, kx)
	}
	return K, cross
}

var bg = context.Background()

func given(opt iokl.Options) iokl.Options {
	if opt.Kernels == nil {
		opt.Kernels = []string{"gaussian:each:median*0.5,1", "poly:1:all:0"}
	}
	if opt.Lambda == 0 {
		opt.Lambda = 1e-3
	}
	if opt.Tol == 0 {
		opt.Tol = 1e-9
	}
	return opt
}

// streamed are settings for streams.
func streamed(opt iokl.Options) iokl.Options {
	if opt.Kernels == nil {
		opt.Kernels = []string{"rff:gaussian:all:median*0.5,1:40", "linear:all"}
	}
	opt.Tol, opt.Seed = 1e-9, 3
	return opt
}

func streamFit(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(900, 3)
		Xt, _ := ripple(5, 4)
		m, err := iokl.FitStream(bg, fittest.Stream(X, Y), opt)
		return describe(t, m, err, at(Xt))
	}
}

// streamCV is the outcome of Compare, and of the fit after it, by so many ranks.
func streamCV(opt iokl.Options, ranks int) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(900, 3)
		Xt, _ := ripple(5, 4)
		outcomes := make([]outcome, ranks)
		links := fittest.NewLinks()
		run := func(k int) {
			rows := fittest.Stream(X, Y)
			if ranks > 1 {
				rows.Ranks = fittest.Crew{Number: k, Links: links}
			}
			r, err := iokl.Compare(bg, iokl.Data{Rows: &rows}, opt).Result()
			if err != nil {
				t.Error(err)
				return
			}
			m, err := r.Fit(bg)
			outcomes[k] = describe(t, m, err, at(Xt))
			outcomes[k].CV = r
		}
		var wg sync.WaitGroup
		for k := range ranks {
			wg.Go(func() { run(k) })
		}
		wg.Wait()
		return outcomes[0]
	}
}

// resumed is the outcome of a fit that was ended after two iterations and taken up again.
func resumed(t *testing.T) outcome {
	X, Y := ripple(70, 1)
	Xt, _ := ripple(5, 2)
	opt := given(iokl.Options{Checkpoint: filepath.Join(t.TempDir(), "state")})
	stop := errors.New("stop")
	opt.Trace = func(s bcd.Step) error {
		if s.Iter == 2 {
			return stop
		}
		return nil
	}
	if _, err := iokl.Fit(bg, X, Y, opt); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	opt.Trace = nil
	m, err := iokl.Fit(bg, X, Y, opt)
	return describe(t, m, err, at(Xt))
}

// streamResumed is the outcome of a pass that was ended in the middle and taken up again.
func streamResumed(t *testing.T) outcome {
	X, Y := ripple(900, 3)
	Xt, _ := ripple(5, 4)
	opt := streamed(iokl.Options{Lambda: 1e-3, Checkpoint: filepath.Join(t.TempDir(), "sums")})
	rows := fittest.Stream(X, Y)
	rows.SurveyRows, rows.CheckpointRows = 400, 100
	stop := errors.New("stop")
	rows.Progress = func(survey bool, p stream.Progress) error {
		if !survey && p.Rows > 500 {
			return stop
		}
		return nil
	}
	if _, err := iokl.FitStream(bg, rows, opt); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	rows.Progress = nil
	m, err := iokl.FitStream(bg, rows, opt)
	return describe(t, m, err, at(Xt))
}

// patchy has missing inputs, a constant input, a constant target and names.
func patchy(t *testing.T) outcome {
	X, Y := ripple(70, 1)
	for i := range 70 {
		X.Set(i, 3, 0.1)
		Y.Set(i, 2, 0.7)
	}
	X.Set(4, 1, math.NaN())
	X.Set(9, 0, math.NaN())
	opt := given(iokl.Options{InputNames: []string{"a", "b", "c", "d"}, OutputNames: []string{"u", "v", "w"}})
	m, err := iokl.Fit(bg, X, Y, opt)
	return describe(t, m, err, at(fittest.Rows(X, 0, 10)))
}

func gramFit(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(60, 5)
		Xt, _ := ripple(5, 6)
		K, cross := grams(X, Xt)
		m, err := iokl.FitGram(bg, K, Y, opt)
		return describe(t, m, err, func(m *iokl.Model) (*mat.Dense, error) { return m.PredictGram(cross) })
	}
}

func gramCV(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := ripple(60, 5)
		K, _ := grams(X, X)
		r, err := iokl.Compare(bg, iokl.Data{Grams: K, Y: Y}, opt).Result()
		if err != nil {
			t.Fatal(err)
		}
		return outcome{CV: r}
	}
}

func classified(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, labels := handwriting(t)
		m, err := iokl.FitClasses(bg, fittest.Rows(X, 5, len(labels)), labels[5:], opt)
		return describe(t, m, err, at(fittest.Rows(X, 0, 5)))
	}
}

func causes(opt granger.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, _ := series(t)
		r, c := X.Dims()
		d := granger.Data{X: fittest.Rows(X, 0, r).RawMatrix()}
		for j := range c {
			d.Names = append(d.Names, "s"+strconv.Itoa(j+1))
		}
		res, err := granger.Infer(bg, &d, opt)
		if err != nil {
			t.Fatal(err)
		}
		var o outcome
		for i := range res.Graph.Rows {
			o.Graph = append(o.Graph, slices.Clone(blas.Row(res.Graph, i)))
		}
		return o
	}
}

func forward(opt iokl.Options) func(t *testing.T) outcome {
	return func(t *testing.T) outcome {
		X, Y := series(t)
		r, err := iokl.CrossValidate(bg, X, Y, opt)
		if err != nil {
			t.Fatal(err)
		}
		return outcome{CV: r}
	}
}

// groups of rows that folds must not divide.
func groups(l int) []int {
	g := make([]int, l)
	for i := range g {
		g[i] = i * i % 17 % 7
	}
	return g
}

var few = []float64{1e-2, 1e-3}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T) outcome
		within
	}{
		{"zero options", fitted(iokl.Options{CV: iokl.CVOptions{Repeats: 1}}), loose},
		{
			"zero options in little memory",
			fitted(iokl.Options{MaxBytes: 302_000, CV: iokl.CVOptions{Repeats: 2, Folds: 3}}), loose,
		},
		{"default kernels", fitted(iokl.Options{Lambda: 1e-2, Tol: 1e-8}), settled},
		{"given kernels, sparse", fitted(given(iokl.Options{})), settled},
		{"given kernels, p = 1.5, tau", fitted(given(iokl.Options{Norm: "lp:1.5", Tau: 2})), settled},
		{"weights alone, p = 2", fitted(given(iokl.Options{Norm: "lp:2", Learn: "eta"})), settled},
		{"block norm", fitted(given(iokl.Options{Norm: "block1"})), settled},
		{"elastic net", fitted(given(iokl.Options{Norm: "elastic:0.5"})), settled},
		{"L alone", fitted(given(iokl.Options{Learn: "l"})), settled},
		{"nothing but C", fitted(given(iokl.Options{Learn: "none"})), closed},
		{
			"closed solver, eigen", fitted(given(iokl.Options{Solver: "closed", Sylvester: "eigen", Tol: 1e-6})),
			within{2e-6, 2e-3, 0},
		},
		{
			"as given, linear features",
			fitted(given(iokl.Options{
				Standardize: "none", Kernels: []string{"linear:0-1", "linear:2-3"},
				Norm: "lp:1.5",
			})), settled,
		},
		{"single precision", fitted(given(iokl.Options{Precision: blas.Float32, Tol: 1e-6})), halfSize},
		{"explicit features", fitted(given(iokl.Options{Kernels: []string{
			"rff:gaussian:all:median:20",
			"nystrom:laplacian:all:median:15", "linear:all",
		}, Seed: 2})), settled},
		{"relevant columns", fitted(given(iokl.Options{Kernels: []string{
			"gaussian:relevant:median",
			"laplacian:directions:median",
		}})), settled},
		{"missing cells, constants, names", patchy, settled},
		{"resumed", resumed, settled},
		{"refused for memory", fitted(given(iokl.Options{MaxBytes: 1000})), closed},
		{"choosing a norm", fitted(iokl.Options{
			Kernels: []string{"gaussian:all:median*0.5,1", "linear:all"}, Tol: 1e-6,
			CV: iokl.CVOptions{Folds: 3, Repeats: 1, Tol: 1e-6},
		}), within{2e-6, 2e-3, 1e-2}},

		{"Gram matrices", gramFit(iokl.Options{Lambda: 1e-3, Norm: "lp:1.5", Tol: 1e-9}), settled},
		{"Gram matrices, scaled targets", gramFit(iokl.Options{Lambda: 1e-3, Standardize: "y", Tol: 1e-9}), settled},
		{
			"Gram matrices, open",
			gramCV(iokl.Options{Standardize: "y", Norm: "lp:1", CV: iokl.CVOptions{Folds: 3, Tol: 1e-6}}), settled,
		},
		{"classes", classified(iokl.Options{
			Lambda: 1e-2, Kernels: []string{"gaussian:all:median*0.5,1", "linear:all"},
			Tol: 1e-9,
		}), settled},

		{"folds by group", validated(iokl.Options{Kernels: []string{"gaussian:all"}, CV: iokl.CVOptions{
			Folds:  3,
			Groups: groups(70), Lambdas: few, Norms: []iokl.Norm{"lp:1", "lp:2"}, Tol: 1e-7,
		}}), settled},
		{"folds by time", forward(iokl.Options{
			Kernels: []string{"gaussian:all", "linear:all"}, Norm: "lp:1",
			CV: iokl.CVOptions{Folds: 3, TimeOrdered: true, Lambdas: few, Metric: "rmse", Tol: 1e-7},
		}), settled},
		{"accuracy, several tau, one standard error", validated(iokl.Options{
			Kernels: []string{"gaussian:all"},
			CV: iokl.CVOptions{
				Folds: 3, Repeats: 2, Lambdas: few, Taus: []float64{1, 3}, Metric: "accuracy",
				OneSE: true, Tol: 1e-7,
			},
		}), settled},
		{"fixed weights by factorisation", validated(iokl.Options{
			Kernels: []string{"gaussian:all", "linear:all"},
			Learn:   "none", CV: iokl.CVOptions{Folds: 4, Repeats: 2, Metric: "mse"},
		}), closed},
		{
			"several dictionaries",
			validated(iokl.Options{CV: iokl.CVOptions{Folds: 3, Kernels: [][]string{
				{"gaussian:all"},
				{"laplacian:relevant", "linear:all"},
			}, Norms: []iokl.Norm{"lp:1"}, Tol: 1e-7}}), settled,
		},
		{"features, open", validated(iokl.Options{
			Kernels: []string{"rff:gaussian:all:median:20", "linear:all"},
			Norm:    "lp:1", CV: iokl.CVOptions{Folds: 3, Tol: 1e-7},
		}), settled},

		{"stream", streamFit(streamed(iokl.Options{Lambda: 1e-3})), settled},
		{"stream, fixed weights", streamFit(streamed(iokl.Options{Lambda: 1e-3, Learn: "none"})), closed},
		{"stream, as given", streamFit(streamed(iokl.Options{Lambda: 1e-3, Standardize: "none"})), settled},
		{"stream, resumed", streamResumed, settled},
		{
			"stream without memory for sums",
			streamFit(streamed(iokl.Options{
				Lambda: 1e-2, MaxBytes: 1,
				Kernels: []string{"rff:gaussian:all:median:20"},
			})),
			within{2e-9, 1e-4, 0},
		},
		{"stream, open", streamCV(streamed(iokl.Options{CV: iokl.CVOptions{Folds: 3, Tol: 1e-7}}), 1), settled},
		{
			"stream, fixed weights, open",
			streamCV(streamed(iokl.Options{Learn: "none", CV: iokl.CVOptions{Folds: 3, Tol: 1e-7}}), 1), settled,
		},
		{
			"stream, groups and grid",
			streamCV(streamed(iokl.Options{CV: iokl.CVOptions{
				Folds: 3, Groups: groups(900), Lambdas: few,
				Taus: []float64{1, 3}, Norms: []iokl.Norm{"lp:1.5"}, Metric: "rmse", Tol: 1e-7,
			}}), 1), settled,
		},
		{
			"stream by two ranks",
			streamCV(streamed(iokl.Options{CV: iokl.CVOptions{
				Folds: 4, Lambdas: few, Norms: []iokl.Norm{"lp:1"},
				Metric: "mse", Tol: 1e-7,
			}}), 2), settled,
		},

		{"causes of series", causes(granger.Options{Lag: 2}), loose},
		{"causes of series, open", causes(granger.Options{Lag: 1, Lambdas: []float64{1, 0.1, 0.01}}), loose},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.run(t)
			path := filepath.Join("testdata", "outcomes", strings.NewReplacer(" ", "-", ",", "", "=",
				"").Replace(c.name)+".json")
			if *update {
				text, err := json.MarshalIndent(got, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want outcome
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&want); err != nil {
				t.Fatal(err)
			}
			w := c.within
			if *exactly {
				w = closed
			}
			compare(t, &got, &want, w)
		})
	}
}

// compare tells where an outcome is not the recorded one.
func compare(t *testing.T, got, want *outcome, w within) {
	t.Helper()
	same := func(what string, a, b []string) {
		t.Helper()
		if !slices.Equal(a, b) {
			t.Errorf("%s %q, recorded %q", what, a, b)
		}
	}
	near := func(what string, tol float64, a, b []float64) {
		t.Helper()
		var size float64
		for _, v := range b {
			size = math.Max(size, math.Abs(v))
		}
		if len(a) != len(b) {
			t.Errorf("%d %s, recorded %d", len(a), what, len(b))
			return
		}
		for i, v := range a {
			if !(math.Abs(v-b[i]) <= tol*size) {
				t.Errorf("%s %d: %.17g, recorded %.17g", what, i, v, b[i])
				return
			}
		}
	}
	same("kernels", got.Kernels, want.Kernels)
	same("classes", got.Classes, want.Classes)
	same("outputs", got.Outputs, want.Outputs)
	same("warnings", got.Warnings, want.Warnings)
	if (got.Refused == "") != (want.Refused == "") {
		t.Errorf("error %q, recorded %q", got.Refused, want.Refused)
	}
	near("weights", w.predictions, got.Eta, want.Eta)
	near("predictions", w.predictions, slices.Concat(got.Predictions...), slices.Concat(want.Predictions...))
	near("graph", w.predictions, slices.Concat(got.Graph...), slices.Concat(want.Graph...))
	if (got.Certificate == nil) != (want.Certificate == nil) || (got.CV == nil) != (want.CV == nil) {
		t.Fatal("another kind of outcome")
	}
	if a, b := got.Certificate, want.Certificate; a != nil {
		near("objective, λ and τ", w.objective, []float64{a.Objective, a.Lambda, a.Tau},
			[]float64{b.Objective, b.Lambda, b.Tau})
		near("gaps", math.Max(w.objective, 1e-9), []float64{
			1, a.RelativeGap, a.GapEta / b.Objective,
			a.GapL / b.Objective,
		}, []float64{1, b.RelativeGap, b.GapEta / b.Objective, b.GapL / b.Objective})
		same("settings", []string{string(a.Norm), string(a.Learn), a.Solver},
			[]string{string(b.Norm), string(b.Learn), b.Solver})
		if a.Converged != b.Converged || a.Tol != b.Tol || a.Samples != b.Samples || a.Seed != b.Seed {
			t.Errorf("certificate %+v, recorded %+v", a, b)
		}
	}
	if got.CV != nil {
		compareCV(t, got.CV, want.CV, w.errors, near)
	}
}

func compareCV(t *testing.T, a, b *iokl.CVResult, tol float64, near func(what string, tol float64, a, b []float64)) {
	t.Helper()
	if a.Metric != b.Metric || a.Folds != b.Folds || a.Best != b.Best || len(a.Points) != len(b.Points) {
		t.Fatalf("%s: best %d of %d points on %d folds, recorded %s: %d of %d on %d", a.Metric, a.Best, len(a.Points),
			a.Folds, b.Metric, b.Best, len(b.Points), b.Folds)
	}
	for i, p := range a.Points {
		q := b.Points[i]
		if !slices.Equal(p.Kernels, q.Kernels) || p.Norm != q.Norm || p.Learn != q.Learn {
			t.Errorf("point %d is %v %s %s, recorded %v %s %s", i, p.Kernels, p.Norm, p.Learn, q.Kernels, q.Norm,
				q.Learn)
		}
		near("λ", 1e-9, []float64{p.Lambda}, []float64{q.Lambda})
		near("τ", 1e-9, []float64{p.Tau}, []float64{q.Tau})
		near("errors", tol, p.Folds, q.Folds)
		near("mean errors", tol, []float64{p.Mean}, []float64{q.Mean})
	}
}

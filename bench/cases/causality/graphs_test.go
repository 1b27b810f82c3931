package causality

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/benchtest"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// TestGraphMethods finds a linear system by every method.
func TestGraphMethods(t *testing.T) {
	g := granger.LinearVAR(5, 400, 1, 1, 1, 3)
	results, err := runNetworks(context.Background(), benchtest.Quick(), []network{{"linear", g.Data, g.Truth}})
	if err != nil || len(results) != len(graphMethods) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if v := r.Metrics["auroc"]; r.Name != "lagged correlation" && !(v >= 0.95) {
			t.Errorf("%s: AUROC %g", r.Name, v)
		}
	}
}

// TestPairsStayInReplicates checks which rows meet.
func TestPairsStayInReplicates(t *testing.T) {
	d := &granger.Data{X: blas.NewGeneral(5, 1), Replicate: []int{4, 4, 7, 7, 7}}
	copy(d.X.Data, []float64{1, 2, 3, 4, 5})
	X, Y := pastAndPresent(d, 1)
	if want := [][2]float64{{1, 2}, {3, 4}, {4, 5}}; len(X.Data) != len(want) {
		t.Errorf("%d pairs, want %d", len(X.Data), len(want))
	} else {
		for i, w := range want {
			if X.Data[i] != w[0] || Y.Data[i] != w[1] {
				t.Errorf("pair %d: %g and %g, want %v", i, X.Data[i], Y.Data[i], w)
			}
		}
	}
}

// TestPairGraph checks F against residuals of regressions on the own past.
func TestPairGraph(t *testing.T) {
	env := benchtest.Quick()
	g := granger.LinearVAR(3, 50, 1, 1, 1, 2)
	G, err := pairGraph(context.Background(), env, &g.Data)
	if err != nil {
		t.Fatal(err)
	}
	X, Y := pastAndPresent(&g.Data, 1)
	data.Standardise(X, Y)
	column := func(a blas.General, j int) []float64 {
		x := make([]float64, a.Rows)
		var mean float64
		for i := range x {
			x[i] = blas.Row(a, i)[j]
			mean += x[i] / float64(a.Rows)
		}
		for i := range x {
			x[i] -= mean
		}
		return x
	}
	y, own, other := column(Y, 0), column(X, 0), column(X, 2)
	off := func(x, from []float64) { blas.Axpy(-blas.Dot(x, from)/blas.Dot(from, from), from, x) }
	off(y, own)
	off(other, own)
	before := blas.Dot(y, y)
	off(y, other)
	after := blas.Dot(y, y)
	want := (before - after) / after * float64(len(y)-3)
	if v := G.Data[2]; !(math.Abs(v-want) <= 1e-9*want) {
		t.Errorf("F = %g, from residuals %g", v, want)
	}
}

// TestRecordGroups checks who counts as central, and the picture.
func TestRecordGroups(t *testing.T) {
	G := blas.General{Rows: 3, Cols: 3, Stride: 3, Data: []float64{9, 1, 2, 0, 9, 5, 1, 1, 9}}
	res := &granger.Result{Graph: G, Fits: []granger.Fit{
		{Node: "a", RMSE: 3, RMSEOwn: 4},
		{Node: "b", RMSE: 1, RMSEOwn: 4},
		{Node: "c", RMSE: 2, RMSEOwn: 4},
	}}
	r := bench.Result{Name: "setting"}
	recordGroups(&r, res)
	if r.Metrics["mean_rmse"] != 2 || r.Metrics["mean_rmse_constant"] != 4 {
		t.Errorf("%v", r.Metrics)
	}
	if got := mostCentral(&r, 2); len(got) != 2 || got[0] != "c" || got[1] != "b" {
		t.Errorf("central: %v, out-strengths 1, 2 and 7", got)
	}
	other := r
	other.Name = "other"
	fig := groupChart([]bench.Result{r, other})
	if len(fig.Curves) != 2 || fig.Curves[1].XY[2].Y != 3 {
		t.Errorf("figure: %+v", fig)
	}
}

// TestNullRates counts by hand.
func TestNullRates(t *testing.T) {
	truth := []float64{1, 1, 0, 1} // an edge to the first node
	p := []float64{0, 0.01, 0.05, 0}
	linear, nonlinear := nullSystem{}, nullSystem{nonlinear: true}
	if o := linear.judge(truth, p, 2, 0.05); o != (nullOutcome{none: 1, wrong: 1, edges: 1, found: 1}) {
		t.Errorf("%+v", o)
	}
	if o := nonlinear.judge(truth, p, 2, 0.05); o != (nullOutcome{none: 2, wrong: 2}) {
		t.Errorf("%+v", o)
	}
	var r bench.Result
	recordNull(&r, []nullOutcome{
		{none: 10, wrong: 1},
		{none: 10, wrong: 3},
		{none: 10, wrong: 2},
		{none: 10, wrong: 2},
	})
	// The mean of .1, .3, .2, .2, and its error √(2·.1²)/4.
	if !(math.Abs(r.Metrics["false_positive_rate"]-.2) < 1e-15 &&
		math.Abs(r.Metrics["standard_error"]-math.Sqrt(0.02)/4) < 1e-15) {
		t.Errorf("%v", r.Metrics)
	}
	if _, has := r.Metrics["true_positive_rate"]; has {
		t.Error("a rate of no edges")
	}
}

// TestGeneFindings checks what is said of the settings, and that the pictures are drawn.
func TestGeneFindings(t *testing.T) {
	var group []bench.Result
	for k, s := range geneSettings([]float64{paperLambda, 0.1}) {
		r := bench.Result{Case: "drosophila", Name: s.name, Params: map[string]any{"lambda": s.lambda}}
		G := blas.General{Rows: 2, Cols: 2, Stride: 2, Data: []float64{1, .5, .25, 1}}
		recordGroups(&r, &granger.Result{Graph: G, Fits: []granger.Fit{
			{Node: "a", RMSE: 1 + float64(k)/8, RMSEOwn: 2},
			{Node: "b", RMSE: 3 - float64(k)/8, RMSEOwn: 2},
		}})
		r.Metric("mean_rmse", []float64{1, 1.5, 2, 2.5, 4, 3, 2, 1}[k])
		r.Graph = &bench.Graph{Nodes: []string{"a", "b"}, Strength: [][]float64{{1, .5}, {.25, 1}}}
		r.Outputs = []bench.OutputKernel{{Node: "a", Series: []string{"x", "y"}, Correlation: [][]float64{
			{1, .5},
			{.5, 1},
		}}}
		group = append(group, r)
	}
	text := strings.Join(concludeHoldOut(group), "\n")
	for _, want := range []string{
		`"linear, L = I" has the smallest mean error`,
		`The paper finds "nonlinear, L learned" best; its mean error here is 2.500`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var files []string
	for _, e := range paperGenes(group) {
		for _, f := range e.Figures {
			more, err := f.Save(t.TempDir())
			if err != nil {
				t.Error(err)
			}
			files = append(files, more...)
		}
	}
	if len(files) != 12 {
		t.Errorf("files %v", files)
	}
}

// TestRidgeVAR finds the drivers of a linear system.
func TestRidgeVAR(t *testing.T) {
	g := granger.LinearVAR(6, 400, 1, 1, 1, 3)
	graph, err := ridgeVAR(benchtest.Quick(), &g.Data, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s := granger.Score(graph, g.Truth); !(s.AUROC > 0.95) {
		t.Errorf("AUROC %g", s.AUROC)
	}
}

// TestReplicates checks that no window crosses from one replicate to the next.
func TestReplicates(t *testing.T) {
	d := granger.Data{
		X:         blas.General{Rows: 5, Cols: 1, Stride: 1, Data: []float64{1, 2, 3, 10, 11}},
		Replicate: []int{0, 0, 0, 1, 1},
	}
	X, Y := pastAndPresent(&d, 1)
	if !slices.Equal(X.Data, []float64{1, 2, 10}) || !slices.Equal(Y.Data, []float64{2, 3, 11}) {
		t.Errorf("past %v, present %v", X.Data, Y.Data)
	}
}

// TestPartialCorrelation checks it against residuals of regressions.
func TestPartialCorrelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const l = 40
	X := data.Normal(rng, l, 4)
	for i := range l {
		row := blas.Row(X, i)
		row[0] += row[2] + 0.5*row[1]
		row[1] += row[2] - row[3]
	}
	data.Standardise(X, blas.General{})
	C := blas.NewGeneral(4, 4)
	blas.Gemm(blas.Active(), true, false, 1.0/l, X, X, 0, C)
	B, residual := blas.NewGeneral(l, 2), blas.NewGeneral(l, 2)
	blas.Copy(B, blas.View(X, 0, 2, l, 2))
	for c := range 2 {
		var beta mat.Dense
		column := mat.NewDense(l, 1, nil)
		for i := range l {
			column.Set(i, 0, blas.Row(X, i)[c])
		}
		if err := beta.Solve(blas.Dense(B), column); err != nil {
			t.Fatal(err)
		}
		for i := range l {
			residual.Data[2*i+c] = column.At(i, 0) - beta.At(0, 0)*blas.Row(B, i)[0] - beta.At(1, 0)*blas.Row(B, i)[1]
		}
	}
	var ab, aa, bb float64
	for i := range l {
		a, b := residual.Data[2*i], residual.Data[2*i+1]
		ab, aa, bb = ab+a*b, aa+a*a, bb+b*b
	}
	want := ab / math.Sqrt(aa*bb)
	if got := (conditioning{C, l}).partial(0, 1, []int{2, 3}); !(math.Abs(got-want) <= 1e-10) {
		t.Errorf("%g, from residuals %g", got, want)
	}
}

// TestForecastCase compares forecasts of a linear system with what is known of it.
func TestForecastCase(t *testing.T) {
	g := granger.LinearVAR(3, 500, 1, 1, 1, 2)
	results, err := forecastSet(context.Background(), benchtest.Quick(), "linear", g.Data, granger.Options{Lag: 1}, 400,
		2, 3, 1)
	if err != nil || len(results) != 3 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	kernels, linear, last := results[0].Metrics, results[1].Metrics, results[2].Metrics
	if !(linear["nmse_1"] < last["nmse_1"] && kernels["nmse_1"] < 1.2*linear["nmse_1"] &&
		kernels["nmse_2"] < 1.2*linear["nmse_2"]) {
		t.Errorf("kernels %v, VAR %v, last value %v", kernels, linear, last)
	}
	if c := kernels["coverage"]; !(c > 0.8 && c < 0.97) {
		t.Errorf("intervals of level .9 hold %g", c)
	}
}

// TestSimulated checks that the generated systems are finite, repeat with their seed and have edges.
func TestSimulated(t *testing.T) {
	for _, s := range shortSystems {
		a, b, other := s.make(3), s.make(3), s.make(4)
		if !slices.Equal(a.Data.X.Data, b.Data.X.Data) || slices.Equal(a.Data.X.Data, other.Data.X.Data) {
			t.Errorf("%s: a seed does not decide", s.name)
		}
		edges := 0
		for k, v := range a.Truth.Data {
			if k%(a.Truth.Rows+1) != 0 && v != 0 {
				edges++
			}
		}
		if n := a.Truth.Rows; edges < n/2 || edges > 4*n {
			t.Errorf("%s: %d edges among %d nodes", s.name, edges, n)
		}
		for _, v := range a.Data.X.Data {
			if math.IsNaN(v) || math.Abs(v) > 1e3 {
				t.Fatalf("%s: a value %g", s.name, v)
			}
		}
	}
}

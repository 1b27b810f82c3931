package cases

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/granger"
)

// ring is a linear system of which every series is driven by itself and by the one before it.
func ring(series, rows int) granger.Generated {
	rng := rand.New(rand.NewPCG(3, 3))
	X, truth := data.Normal(rng, rows, series), blas.NewGeneral(series, series)
	g := granger.Generated{Data: granger.Data{X: X}, Truth: truth}
	for i := range series {
		g.Data.Names = append(g.Data.Names, fmt.Sprintf("x%d", i+1))
		g.Truth.Data[i*series+i], g.Truth.Data[i*series+(i+series-1)%series] = 1, 1
	}
	for t := 1; t < rows; t++ {
		past := blas.Row(g.Data.X, t-1)
		for i := range series {
			blas.Row(g.Data.X, t)[i] += 0.4*past[i] + 0.4*past[(i+series-1)%series]
		}
	}
	return g
}

// TestGraphMethods finds a linear system by every method.
func TestGraphMethods(t *testing.T) {
	g := ring(5, 400)
	c := bench.Case{Run: func(ctx context.Context, env *bench.Env) error {
		return runNetworks(ctx, env, []network{{"linear", g.Data, g.Truth}}, graphMethods...)
	}}
	results, err := c.Measure(context.Background(), quickEnv())
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
	env := quickEnv()
	g := ring(3, 50)
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

// TestGenes checks the table beside the paper.
func TestGenes(t *testing.T) {
	table := Table([]bench.Result{
		{Case: "drosophila", Name: "linear, L = I", Metrics: map[string]float64{"mean_rmse": 2}},
		{
			Name: "nonlinear, L learned", Metrics: map[string]float64{"mean_rmse": 1},
			Params: map[string]any{"central": "c, b"},
		},
	})
	if len(table.Rows) != 2 || table.Rows[0].Cells[2] != "linear, L = I 2.000; nonlinear, L learned 1.000" ||
		!slices.Equal(table.Rows[1].Cells[1:], []string{"helicase activity", "c, b"}) {
		t.Errorf("table %q", table.Rows)
	}
}

// TestRidgeVAR finds the drivers of a linear system.
func TestRidgeVAR(t *testing.T) {
	g := ring(6, 400)
	graph, err := ridgeVAR(t.Context(), quickEnv(), &g.Data)
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
	if got := (conditioning{C, 4, l}).partial(0, 1, []int{2, 3}); !(math.Abs(got-want) <= 1e-10) {
		t.Errorf("%g, from residuals %g", got, want)
	}
}

// TestForecastCase compares forecasts of a linear system with what is known of it.
func TestForecastCase(t *testing.T) {
	g := ring(3, 500)
	c := bench.Case{Run: func(ctx context.Context, env *bench.Env) error {
		return forecastSet(ctx, env, "linear", g.Data, granger.Options{Lag: 1}, 400, 2, 3, 1)
	}}
	results, err := c.Measure(context.Background(), quickEnv())
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

// Package regression has the cases about returns, multi-target regression and intervals.
package regression

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bench"
	"github.com/iokl/iokl/bench/data"
	"github.com/iokl/iokl/blas"
)

func init() {
	bench.Register(bench.Case{
		Name:      "stock04",
		Topic:     bench.Learning,
		Does:      "next week's returns of nine companies: the paper's Table 1",
		Run:       runStock04,
		Conclude:  concludeStock,
		Published: stockTable,
	})
}

// predictor learns from X and Y and predicts at the rows of Xt.
type predictor func(ctx context.Context, X, Y, Xt blas.General) (blas.General, error)

// stockKernels are the paper's 117 kernels: for each company Gaussians of 13 widths, in
// steps of ratio about the median distance, on standardised inputs.
func stockKernels(ratio float64) []string {
	widths := make([]string, 13)
	for i := range widths {
		widths[i] = strconv.FormatFloat(math.Pow(ratio, float64(i-len(widths)/2)), 'g', 4, 64)
	}
	return []string{"gaussian:each:median*" + strings.Join(widths, ",")}
}

// stockRepeats is how often the ten folds are drawn: of 25 samples, a single
// division chooses λ by its luck.
const stockRepeats = 5

// runStock04 is the paper's financial table: next week's log-returns of nine
// companies from this week's, 25 pairs to learn from and 26 to test on; the
// figure is the mean squared error times 1000. As there, p = 1 and λ is chosen by
// 10-fold cross-validation on the training pairs, by the squared error that the table
// shows: of 13 values, four to a decade. The widths are not in the paper; the same
// cross-validation chooses their spacing of two. The test pairs are looked at once, for
// the figure; they are few and noisy, so differences of a few per cent mean little.
func runStock04(ctx context.Context, env *bench.Env) error {
	t, err := data.Read(env, "stock04", "stock04.csv")
	if err != nil {
		return err
	}
	const train = 25
	rows := t.Data.Rows - 1
	part := func(from, count int) blas.General {
		return blas.Clone(blas.View(t.Data, from, 0, count, t.Data.Cols))
	}
	X, Y := part(0, train), part(1, train)
	Xt, Yt := part(train, rows-train), part(train+1, rows-train)
	lambdas := make([]float64, 13)
	for i := range lambdas {
		lambdas[i] = math.Pow(10, 1-float64(i)/4)
	}
	repeats := bench.Pick(env, 1, stockRepeats)
	ours := func(learn iokl.Learned) predictor {
		return func(ctx context.Context, X, Y, Xt blas.General) (blas.General, error) {
			opt := iokl.Options{Norm: "lp:1", Learn: learn, Seed: env.Seed, Backend: env.Backend}
			opt.CV = iokl.CVOptions{
				Kernels: [][]string{stockKernels(2), stockKernels(math.Sqrt2)},
				Lambdas: lambdas, Folds: 10, Repeats: repeats, Metric: "mse",
			}
			return data.FitPredict(ctx, X, Y, Xt, opt)
		}
	}
	for _, m := range []struct {
		name string
		f    predictor
	}{
		{"OLS", leastSquares},
		{"training mean", meanOf},
		{"IKL", ours("eta")},
		{"OKL", ours("l")},
		{"IOKL", ours("eta,l")},
	} {
		start := time.Now()
		P, err := m.f(ctx, X, Y, Xt)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r := bench.Result{Name: m.name, Params: map[string]any{"train": train, "test": Yt.Rows}}
		r.Time([]float64{time.Since(start).Seconds()})
		scores := iokl.NewScores(blas.Dense(P), blas.Dense(Yt), nil)
		for j, name := range t.Names {
			r.Metric("mse1000 of "+name, 1000*scores.MSE[j])
		}
		r.Metric("mse1000", 1000*scores.MeanMSE)
		env.Add(r)
	}
	return nil
}

func meanOf(_ context.Context, _, Y, Xt blas.General) (blas.General, error) {
	P, mean := blas.NewGeneral(Xt.Rows, Y.Cols), data.Means(Y)
	for i := range P.Rows {
		copy(blas.Row(P, i), mean)
	}
	return P, nil
}

// leastSquares predicts by least squares with an intercept.
func leastSquares(_ context.Context, X, Y, Xt blas.General) (blas.General, error) {
	var W, P mat.Dense
	if err := W.Solve(withOnes(X), blas.Dense(Y)); err != nil {
		return blas.General{}, err
	}
	P.Mul(withOnes(Xt), &W)
	return P.RawMatrix(), nil
}

// withOnes is X with a column of ones.
func withOnes(X blas.General) *mat.Dense {
	A := mat.NewDense(X.Rows, X.Cols+1, nil)
	A.Apply(func(_, _ int, _ float64) float64 { return 1 }, A)
	A.Slice(0, X.Rows, 0, X.Cols).(*mat.Dense).Copy(blas.Dense(X))
	return A
}

var concludeStock = bench.Say(`
Mean squared error × 1000 of next week's returns:
{{range $i, $r := .}}{{if $i}}, {{end}}{{$r.Name}} {{value "mse1000" $r | printf "%.3f"}}{{end}}.`)

// table1 is Table 1 of the paper: mean squared error × 1000 of OLS, lasso, MRCE, FES, IKL, OKL and IOKL.
var table1 = []struct {
	company string
	errors  [7]float64
}{
	{"Walmart", [7]float64{0.98, 0.42, 0.41, 0.40, 0.43, 0.43, 0.44}},
	{"Exxon", [7]float64{0.39, 0.31, 0.31, 0.29, 0.32, 0.31, 0.29}},
	{"GM", [7]float64{1.68, 0.71, 0.71, 0.62, 0.62, 0.59, 0.47}},
	{"Ford", [7]float64{2.15, 0.77, 0.77, 0.69, 0.56, 0.48, 0.36}},
	{"GE", [7]float64{0.58, 0.45, 0.45, 0.41, 0.41, 0.40, 0.37}},
	{"ConocoPhillips", [7]float64{0.98, 0.79, 0.79, 0.79, 0.81, 0.80, 0.76}},
	{"Citigroup", [7]float64{0.65, 0.66, 0.62, 0.59, 0.66, 0.62, 0.58}},
	{"IBM", [7]float64{0.62, 0.49, 0.49, 0.51, 0.47, 0.50, 0.42}},
	{"AIG", [7]float64{1.93, 1.88, 1.88, 1.74, 1.94, 1.87, 1.79}},
	{"average", [7]float64{1.11, 0.72, 0.71, 0.67, 0.69, 0.67, 0.61}},
}

// stockTable is Table 1 of the paper, company by company, published / ours.
func stockTable(group []bench.Result) *bench.Table {
	p := &bench.Table{
		Title: "Mean squared test error × 1000 (the paper's table calls it RMSE), published / measured here:",
		Head:  []string{"company", "OLS", "lasso", "MRCE", "FES", "IKL", "OKL", "IOKL", "training mean"},
		Source: "V. Sindhwani, H. Q. Minh, A. C. Lozano: Scalable Matrix-valued Kernel Learning for " +
			"High-dimensional Nonlinear Multivariate Regression and Granger Causality, UAI 2013, Table 1; OLS, " +
			"lasso, FES and MRCE as it quotes them from A. J. Rothman, E. Levina, J. Zhu (2010) and " +
			"M. Yuan et al. (2007).",
	}
	for _, line := range table1 {
		metric := "mse1000 of " + line.company
		if line.company == "average" {
			metric = "mse1000"
		}
		row := []string{line.company}
		for k, name := range p.Head[1:8] {
			row = append(row, fmt.Sprintf("%.2f / %s", line.errors[k], bench.MetricOf(group, name, metric, "%.2f")))
		}
		p.Rows = append(p.Rows, append(row, "– / "+bench.MetricOf(group, "training mean", metric, "%.2f")))
	}
	return p
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/bcd"
	"github.com/iokl/iokl/blas"
)

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
func runStock04(ctx context.Context, env *Env) ([]Result, error) {
	t, err := env.readData("stock04", "stock04.csv")
	if err != nil {
		return nil, err
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
	repeats := stockRepeats
	if env.Quick {
		repeats = 1
	}
	ours := func(learn string) predictor {
		return func(ctx context.Context, X, Y, Xt blas.General) (blas.General, error) {
			opt := iokl.Options{Norm: "lp:1", Learn: learn, Seed: env.Seed, Backend: env.Backend}
			opt.CV = iokl.CVOptions{
				Kernels: [][]string{stockKernels(2), stockKernels(math.Sqrt2)},
				Lambdas: lambdas, Folds: 10, Repeats: repeats, Metric: "mse",
			}
			return fitPredict(ctx, X, Y, Xt, opt)
		}
	}
	var results []Result
	for _, m := range []struct {
		name string
		f    predictor
	}{
		{"OLS", func(_ context.Context, X, Y, Xt blas.General) (blas.General, error) { return affine(env, X, Y, Xt, 0) }},
		{"training mean", meanOf},
		{"lasso", func(_ context.Context, X, Y, Xt blas.General) (blas.General, error) { return lassoCV(X, Y, Xt, 10) }},
		{"IKL", ours("eta")},
		{"OKL", ours("l")},
		{"IOKL", ours("eta,l")},
	} {
		start := time.Now()
		P, err := m.f(ctx, X, Y, Xt)
		if err != nil {
			return results, fmt.Errorf("%s: %w", m.name, err)
		}
		r := Result{Name: m.name, Params: map[string]any{"train": train, "test": Yt.Rows}}
		r.time([]float64{time.Since(start).Seconds()})
		var mse []float64
		for j, name := range t.Names {
			var s float64
			for i := range Yt.Rows {
				d := blas.Row(Yt, i)[j] - blas.Row(P, i)[j]
				s += d * d
			}
			mse = append(mse, 1000*s/float64(Yt.Rows))
			r.metric("mse1000 of "+name, mse[j])
		}
		r.metric("mse1000", stat.Mean(mse, nil))
		results = append(results, r)
	}
	return results, nil
}

// fitPredict is the estimator of the module's root package.
func fitPredict(ctx context.Context, X, Y, Xt blas.General, opt iokl.Options) (blas.General, error) {
	m, err := iokl.Fit(ctx, blas.Dense(X), blas.Dense(Y), opt)
	if err != nil && !(m != nil && errors.Is(err, bcd.ErrNotConverged)) {
		return blas.General{}, err
	}
	var P *mat.Dense
	if P, err = m.Predict(blas.Dense(Xt)); err != nil {
		return blas.General{}, err
	}
	return P.RawMatrix(), nil
}

func meanOf(_ context.Context, _, Y, Xt blas.General) (blas.General, error) {
	P, mean := blas.NewGeneral(Xt.Rows, Y.Cols), columnMeans(Y)
	for i := range P.Rows {
		copy(blas.Row(P, i), mean)
	}
	return P, nil
}

func columnMeans(Y blas.General) []float64 {
	mean := make([]float64, Y.Cols)
	for i := range Y.Rows {
		blas.Axpy(1/float64(Y.Rows), blas.Row(Y, i), mean)
	}
	return mean
}

// affine is ridge regression with an intercept; λ = 0 is least squares.
func affine(env *Env, X, Y, Xt blas.General, lambda float64) (blas.General, error) {
	Xc, Xtc, Yc := blas.Clone(X), blas.Clone(Xt), blas.Clone(Y)
	mx, my := columnMeans(X), columnMeans(Y)
	for _, a := range []blas.General{Xc, Xtc} {
		for i := range a.Rows {
			blas.Axpy(-1, mx, blas.Row(a, i))
		}
	}
	for i := range Yc.Rows {
		blas.Axpy(-1, my, blas.Row(Yc, i))
	}
	P, err := ridge(env.Backend, Xc, Yc, Xtc, lambda)
	for i := range P.Rows {
		blas.Axpy(1, my, blas.Row(P, i))
	}
	return P, err
}

// lassoCV fits (1/2l)‖y − Xw‖² + λ‖w‖₁ for each output on standardised columns, λ
// by cross-validation over folds of every k-th sample.
func lassoCV(X, Y, Xt blas.General, folds int) (blas.General, error) {
	P := blas.NewGeneral(Xt.Rows, Y.Cols)
	path := []float64{1, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015}
	for j := range Y.Cols {
		best, lambda := math.Inf(1), path[0]
		for _, c := range path {
			var miss float64
			for f := range folds {
				var in, out []int
				for i := range X.Rows {
					if i%folds == f {
						out = append(out, i)
					} else {
						in = append(in, i)
					}
				}
				p := lasso(takeRows(X, in), columnOf(Y, j, in), takeRows(X, out), c)
				for k, i := range out {
					d := blas.Row(Y, i)[j] - p[k]
					miss += d * d
				}
			}
			if miss < best {
				best, lambda = miss, c
			}
		}
		for i, v := range lasso(X, columnOf(Y, j, nil), Xt, lambda) {
			blas.Row(P, i)[j] = v
		}
	}
	return P, nil
}

// columnOf is column j of the given rows, of all when nil.
func columnOf(Y blas.General, j int, rows []int) []float64 {
	var out []float64
	for i := range Y.Rows {
		if rows == nil || slices.Contains(rows, i) {
			out = append(out, blas.Row(Y, i)[j])
		}
	}
	return out
}

// lasso predicts at Xt by coordinate descent on standardised data; λ is relative
// to the smallest that makes all coefficients 0.
func lasso(X0 blas.General, y0 []float64, Xt0 blas.General, c float64) []float64 {
	X, Xt := blas.Clone(X0), blas.Clone(Xt0)
	standardise(X, Xt)
	l := float64(X.Rows)
	mean := stat.Mean(y0, nil)
	r, w := make([]float64, len(y0)), make([]float64, X.Cols)
	for i, v := range y0 {
		r[i] = v - mean
	}
	inner := func(k int) float64 {
		var s float64
		for i := range r {
			s += X.Data[i*X.Stride+k] * r[i]
		}
		return s / l
	}
	var top float64
	for k := range w {
		top = max(top, math.Abs(inner(k)))
	}
	for range 1000 {
		var moved float64
		for k := range w {
			z := inner(k) + w[k]
			next := math.Copysign(max(0, math.Abs(z)-c*top), z)
			if d := next - w[k]; d != 0 {
				for i := range r {
					r[i] -= d * X.Data[i*X.Stride+k]
				}
				w[k], moved = next, max(moved, math.Abs(d))
			}
		}
		if moved <= 1e-9*top {
			break
		}
	}
	out := make([]float64, Xt.Rows)
	for i := range out {
		out[i] = mean + blas.Dot(blas.Row(Xt, i), w)
	}
	return out
}
